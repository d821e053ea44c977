package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"
)

// Each version of wexec lays native code and memory images of its own, some
// 60 MB. What no process has used for a month was left by an older version,
// and goes when something new is laid.

const unusedAfter = 30 * 24 * time.Hour

// markUsed notes that a file is used, to the day.
func markUsed(path string) {
	now := time.Now()
	if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(path, now, now)
	}
}

// dropUnused removes native code and images that nobody has used for long. A
// process that has one of them mapped keeps it.
func (c *Cache) dropUnused() {
	for _, pattern := range []string{"images/*", "code/wazero-*/*"} {
		files, err := filepath.Glob(filepath.Join(c.dir, pattern))
		if err != nil {
			continue
		}
		for _, file := range files {
			if info, err := os.Lstat(file); err == nil && time.Since(info.ModTime()) > unusedAfter {
				_ = os.Remove(file)
			}
		}
	}
	notes, err := filepath.Glob(filepath.Join(c.dir, "code", "*.json"))
	if err != nil {
		return
	}
	for _, note := range notes {
		var b bones
		data, err := readBounded(note, 4096)
		if err != nil || json.Unmarshal(data, &b) != nil || !filepath.IsLocal(b.File) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(c.dir, "code", b.File)); os.IsNotExist(err) {
			_ = os.Remove(note)
		}
	}
}
