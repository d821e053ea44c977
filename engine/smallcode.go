package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// wazero trusts what lies in its cache: a damaged file of native code fails
// every run, or ends the process with an allocation of any size it names. The
// guests' files have notes of their own, see bones. The small ones, Extism's
// kernel above all, are held against their digests each time a cache is
// opened, and made again where they do not fit.

// smallCode bounds the files that are hashed at each start, in bytes.
const smallCode = 1 << 20

// sumPath is where the digest of a file of native code is noted. Every version
// of wazero has a folder, in which the file of one module has the same name.
func (c *Cache) sumPath(file string) string {
	return filepath.Join(c.dir, "code", filepath.Base(filepath.Dir(file))+"-"+filepath.Base(file)+".sum")
}

// smallFiles lists the small files of native code.
func (c *Cache) smallFiles() []string {
	all, err := filepath.Glob(filepath.Join(c.dir, "code", "wazero-*", "*"))
	if err != nil {
		return nil
	}
	var small []string
	for _, file := range all {
		if info, err := os.Lstat(file); err == nil && (!info.Mode().IsRegular() || info.Size() <= smallCode) {
			small = append(small, file)
		}
	}
	return small
}

// digestOf is the digest of a small file in hex; "" where it cannot be read.
func digestOf(file string) string {
	data, err := readBounded(file, smallCode)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// dropDamaged removes small files of native code that are not what was noted
// of them, and those of which nothing was noted.
func (c *Cache) dropDamaged() {
	for _, file := range c.smallFiles() {
		noted, err := readBounded(c.sumPath(file), 64)
		if err != nil || digestOf(file) != string(noted) {
			_ = os.Remove(file)
			_ = os.Remove(c.sumPath(file))
		}
	}
}

// noteSmall notes the digests of small files that this process has made.
func (c *Cache) noteSmall() {
	for _, file := range c.smallFiles() {
		if _, err := os.Lstat(c.sumPath(file)); err == nil {
			continue
		}
		if sum := digestOf(file); sum != "" {
			_ = writeFile(c.sumPath(file), []byte(sum))
		}
	}
}
