package guestcache

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// wazero trusts its cache: a damaged file of native code fails every run, or
// ends the process with an allocation of any size. The code of the guests has
// notes, see codeNote. Small files, above all Extism's kernel, are compared with
// their digests each time a store is opened, and compiled again if they differ.

// maxSmallCode bounds the files whose digest is computed at each start.
const maxSmallCode = 1 << 20

// digestPath returns where the digest of a file of native code is noted. Every
// version of wazero has its own folder, with the same file names.
func (s *Store) digestPath(file string) string {
	return filepath.Join(s.dir, "code", filepath.Base(filepath.Dir(file))+"-"+filepath.Base(file)+".sum")
}

// smallFiles lists the small files of native code.
func (s *Store) smallFiles() []string {
	all, _ := filepath.Glob(filepath.Join(s.dir, "code", "wazero-*", "*"))
	var small []string
	for _, file := range all {
		if info, err := os.Lstat(file); err == nil && (!info.Mode().IsRegular() || info.Size() <= maxSmallCode) {
			small = append(small, file)
		}
	}
	return small
}

// fileDigest returns the digest of a small file in hex, or "".
func fileDigest(file string) string {
	data, err := ownfile.Read(file, maxSmallCode)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// removeDamagedCode removes small files of native code whose digest is not the
// noted one, or not noted.
func (s *Store) removeDamagedCode() {
	for _, file := range s.smallFiles() {
		noted, err := ownfile.Read(s.digestPath(file), 64)
		if err != nil || fileDigest(file) != string(noted) {
			_ = os.Remove(file)
			_ = os.Remove(s.digestPath(file))
		}
	}
}

// recordDigests notes the digests of small files that this process has made.
func (s *Store) recordDigests() {
	for _, file := range s.smallFiles() {
		if _, err := os.Lstat(s.digestPath(file)); err == nil {
			continue
		}
		if sum := fileDigest(file); sum != "" {
			_ = atomicfile.Write(s.digestPath(file), []byte(sum), 0o600)
		}
	}
}
