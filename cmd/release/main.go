// Release builds the release files: for each platform an archive with
// the command, its manual page and its completions, for Debian a package with the
// same, a software bill of materials
// (SBOM), and a file with checksums. The same sources and version give the same
// bytes in every folder and on every machine with the same Go.
//
//	go run ./cmd/release -version v1.2.3 -out dist
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/cmd/wexec/cli"
	"github.com/wexec/wexec/config"
)

// maxBinary bounds the size of the command.
const maxBinary = 60_000_000

// allPlatforms are the platforms of a release.
const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// release is the configuration of a build.
type release struct {
	source  string    // the top of the module
	out     string    // the folder that is written
	version string    // printed by the command
	time    time.Time // modification time in the archives
	say     func(format string, args ...any)
}

func main() {
	var r release
	var platforms string
	flag.StringVar(&r.source, "source", ".", "source folder")
	flag.StringVar(&r.out, "out", "dist", "output folder")
	flag.StringVar(&r.version, "version", "", "version (default from git describe)")
	flag.StringVar(&platforms, "platforms", allPlatforms, "platforms to build for, as OS/ARCH,…")
	flag.Parse()
	r.say = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	if err := r.make(context.Background(), strings.Split(platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// make builds the release.
func (r *release) make(ctx context.Context, platforms []string) error {
	if r.version == "" {
		out, err := r.command(ctx, nil, "git", "describe", "--tags", "--always", "--dirty")
		if err != nil {
			return fmt.Errorf("read the version from git (or set -version): %w", err)
		}
		r.version = strings.TrimSpace(string(out))
	}
	if r.time.IsZero() {
		if err := r.setTime(ctx); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	shared, err := r.shared(ctx)
	if err != nil {
		return err
	}
	var made []string
	for _, platform := range platforms {
		names, err := r.platform(ctx, strings.TrimSpace(platform), shared)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		made = append(made, names...)
	}
	return r.sums(made)
}

// setTime sets the time of the release from SOURCE_DATE_EPOCH or from the
// last commit, so that builds are reproducible.
func (r *release) setTime(ctx context.Context) error {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := r.command(ctx, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return fmt.Errorf("read the time of the last commit (or set SOURCE_DATE_EPOCH): %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("parse SOURCE_DATE_EPOCH: %w", err)
	}
	r.time = time.Unix(seconds, 0).UTC()
	return nil
}

// shared returns the files that every archive has in addition to the command.
func (r *release) shared(ctx context.Context) ([]file, error) {
	var all []file
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: name, data: data})
	}
	for name, args := range map[string][]string{
		"man/wexec.1":            {"man"},
		"completions/wexec":      {"completion", "bash"},
		"completions/_wexec":     {"completion", "zsh"},
		"completions/wexec.fish": {"completion", "fish"},
		"completions/wexec.ps1":  {"completion", "powershell"},
	} {
		var out, wrong bytes.Buffer
		inv := &cli.Invocation{Args: append([]string{"wexec"}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &wrong,
			Env: &config.Environment{}, Version: r.version}
		if status := inv.Run(ctx); status != 0 {
			return nil, fmt.Errorf("wexec %s: %s", strings.Join(args, " "), wrong.String())
		}
		all = append(all, file{name: name, data: out.Bytes()})
	}
	return all, nil
}

// platform builds for one platform and returns the names of the written files.
func (r *release) platform(ctx context.Context, platform string, shared []file) ([]string, error) {
	system, machine, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, errors.New("platform must be OS/ARCH")
	}
	work, err := os.MkdirTemp("", "wexec-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	command := filepath.Join(work, "wexec")
	_, err = r.command(ctx, []string{"GOOS=" + system, "GOARCH=" + machine, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0"},
		"go", "build", "-trimpath", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", command, "./cmd/wexec")
	if err != nil {
		return nil, err
	}
	binary, err := os.ReadFile(command)
	if err != nil {
		return nil, err
	}
	if len(binary) > maxBinary {
		return nil, fmt.Errorf("the command has %d bytes, more than %d", len(binary), maxBinary)
	}
	bill, others, err := r.bill(ctx, command, system, machine)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("wexec_%s_%s_%s", strings.TrimPrefix(r.version, "v"), system, machine)
	files := slices.Concat(shared, []file{{name: "wexec" + extension(system), data: binary, run: true}, {name: "THIRD-PARTY", data: others}})
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	pack, ending := tarball, ".tar.gz"
	if system == "windows" {
		pack, ending = zipped, ".zip"
	}
	archive, err := pack(name, files, r.time)
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{name + ending: archive, name + ".cdx.json": bill}
	if system == "linux" {
		if made[name+".deb"], err = debian(r.version, machine, files, r.time); err != nil {
			return nil, err
		}
	}
	var names []string
	for name, data := range made {
		names = append(names, name)
		if err := os.WriteFile(filepath.Join(r.out, name), data, 0o644); err != nil {
			return nil, err
		}
	}
	r.say("%-14s %s: command %.1f MiB, archive %.1f MiB", platform, name+ending, mib(binary), mib(archive))
	return names, nil
}

// sums writes SHA256SUMS in the format of sha256sum.
func (r *release) sums(names []string) error {
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&b, "%s  %s\n", hex.EncodeToString(sum[:]), name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// command runs a program in the source folder.
func (r *release) command(ctx context.Context, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), env...)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(wrong.Bytes()))
	}
	return out, nil
}

func extension(system string) string {
	if system == "windows" {
		return ".exe"
	}
	return ""
}

func mib(data []byte) float64 { return float64(len(data)) / (1 << 20) }
