package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5" // the format of dpkg
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// installed is where a package for Debian puts the files of the archive.
var installed = [][2]string{
	{"wexec", "usr/bin/wexec"},
	{"man/wexec.1", "usr/share/man/man1/wexec.1.gz"},
	{"completions/wexec", "usr/share/bash-completion/completions/wexec"},
	{"completions/_wexec", "usr/share/zsh/vendor-completions/_wexec"},
	{"completions/wexec.fish", "usr/share/fish/vendor_completions.d/wexec.fish"},
	{"LICENSE", "usr/share/doc/wexec/copyright"},
	{"NOTICE", "usr/share/doc/wexec/NOTICE"},
	{"THIRD-PARTY", "usr/share/doc/wexec/THIRD-PARTY"},
	{"README.md", "usr/share/doc/wexec/README.md"},
	{"CHANGELOG.md", "usr/share/doc/wexec/CHANGELOG.md"},
}

// debVersion is a version in Debian's form. A hyphen becomes a tilde, so that
// v1.2.3-rc1 sorts before v1.2.3.
func debVersion(version string) string {
	v := strings.ReplaceAll(strings.TrimPrefix(version, "v"), "-", "~")
	if v == "" || v[0] < '0' || v[0] > '9' {
		return "0~" + v
	}
	return v
}

// debian packs files for dpkg. It is written here, since dpkg-deb is not on
// every machine and puts the time of the build into the package.
func debian(version, machine string, files []file, at time.Time) ([]byte, error) {
	content := map[string]file{}
	for _, f := range files {
		content[f.name] = f
	}
	var placed []file
	var sums strings.Builder
	size := 0
	folders := map[string]bool{}
	for _, pair := range installed {
		f, ok := content[pair[0]]
		if !ok {
			return nil, fmt.Errorf("the package needs %s", pair[0])
		}
		f.name = pair[1]
		if strings.HasSuffix(f.name, ".gz") {
			var err error
			if f.data, err = compressed(f.data); err != nil {
				return nil, err
			}
		}
		for dir := path.Dir(f.name); dir != "." && !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
			placed = append(placed, file{name: dir + "/"})
		}
		placed = append(placed, f)
		size += len(f.data)
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
	}
	slices.SortFunc(placed, func(a, b file) int { return strings.Compare(a.name, b.name) }) // folders before what is in them
	control := fmt.Sprintf("Package: wexec\nVersion: %s\nArchitecture: %s\nMaintainer: wexec <wexec@localhost>\nInstalled-Size: %d\nSection: utils\nPriority: optional\n"+
		"Homepage: https://github.com/wexec/wexec\nDescription: run code from agents in a sandbox\n"+
		" wexec runs programs that AI agents write in a WebAssembly sandbox, with the\n tools that a policy allows, and records every call.\n",
		debVersion(version), machine, (size+1023)/1024)
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	member := func(name string, data []byte) {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", name, at.Unix(), 0, 0, "100644", len(data))
		b.Write(data)
		if len(data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	member("debian-binary", []byte("2.0\n"))
	for _, part := range []struct {
		name  string
		files []file
	}{{"control.tar.gz", []file{{name: "control", data: []byte(control)}, {name: "md5sums", data: []byte(sums.String())}}}, {"data.tar.gz", placed}} {
		data, err := tarball(".", part.files, at)
		if err != nil {
			return nil, err
		}
		member(part.name, data)
	}
	return b.Bytes(), nil
}

func compressed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
