package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// installedWithDpkg installs a package into an empty root and returns the root.
func installedWithDpkg(t *testing.T, deb []byte) string {
	t.Helper()
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		t.Skip("needs dpkg")
	}
	root, name := t.TempDir(), filepath.Join(t.TempDir(), "wexec.deb")
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{name: deb, filepath.Join(root, "var/lib/dpkg/status"): nil} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		cmd := exec.Command(dpkg, append([]string{"--root=" + root, "--force-not-root", "--force-bad-path", "--log=" + filepath.Join(root, "log")}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("--install", name)
	if out := run("--status", "wexec"); !strings.Contains(out, "Status: install ok installed") || !strings.Contains(out, "Description: run code") {
		t.Errorf("dpkg says %s", out)
	}
	if out := run("--verify", "wexec"); out != "" {
		t.Errorf("checksums differ: %s", out)
	}
	return root
}

func TestThePackageInstallsIntoAnEmptyRoot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs dpkg")
	}
	var files []file
	for _, pair := range installed {
		files = append(files, file{name: pair[0], data: []byte("data of " + pair[0]), run: pair[0] == "wexec"})
	}
	at := time.Unix(1800000000, 0).UTC()
	deb, err := debian("v1.2.3-rc1", runtime.GOARCH, files, at)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := debian("v1.2.3-rc1", runtime.GOARCH, files, at); err != nil || !bytes.Equal(deb, again) {
		t.Errorf("the same files give another package: %v", err)
	}
	if _, err := debian("v1.2.3", runtime.GOARCH, files[1:], at); err == nil {
		t.Error("a package without the command is made")
	}
	root := installedWithDpkg(t, deb)
	for _, pair := range installed {
		info, err := os.Stat(filepath.Join(root, pair[1]))
		if err != nil || !info.ModTime().Equal(at) || (info.Mode()&0o111 != 0) != (pair[0] == "wexec") {
			t.Errorf("%s: %v, %v", pair[1], info, err)
		}
	}
}

func TestDebianVersionsSort(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "v1.2.3-rc1": "1.2.3~rc1", "abc1234-dirty": "0~abc1234~dirty", "": "0~"} {
		if got := debVersion(version); got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}

// TestTheLinesOfTheREADMEInstall checks the names of files in the README, and
// runs the line for archives.
func TestTheLinesOfTheREADMEInstall(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	endings := map[string]bool{}
	for _, m := range regexp.MustCompile(`wexec_VERSION_([a-z]+)_([a-z0-9]+)(\.deb|\.tar\.gz|\.zip)`).FindAllStringSubmatch(string(readme), -1) {
		endings[m[3]] = true
		if !strings.Contains(allPlatforms, m[1]+"/"+m[2]) || (m[1] == "windows") != (m[3] == ".zip") {
			t.Errorf("no release has %s", m[0])
		}
	}
	if len(endings) != 3 {
		t.Errorf("the README installs only %v", endings)
	}
	line := regexp.MustCompile("`(tar [^`]+)`").FindSubmatch(readme)
	if line == nil {
		t.Fatal("the README has no line with tar")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	dir := t.TempDir()
	archive, err := tarball("wexec_1.2.3_linux_amd64", []file{{name: "wexec", data: []byte("#!/bin/sh\necho installed\n"), run: true}}, time.Unix(1800000000, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wexec_1.2.3_linux_amd64.tar.gz"), archive, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", strings.NewReplacer("VERSION", "1.2.3", "sudo ", "", "/usr/local/bin/", "./here").Replace(string(line[1])))
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd.Args[2], err, out)
	}
	if out, err := exec.Command(filepath.Join(dir, "here")).Output(); err != nil || string(out) != "installed\n" {
		t.Errorf("%q, %v", out, err)
	}
}
