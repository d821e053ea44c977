package config

import (
	"os"
	"path/filepath"
	"testing"
)

// A prefetched cache is used if the settings name the same folder, and is left to
// the caller if they do not.
func TestAPrefetchedCacheIsUsedForItsFolderOnly(t *testing.T) {
	home := t.TempDir()
	env := &Environment{Home: home, Dir: home}
	if env.Prefetch("javascript") != nil {
		t.Error("prefetched without a cache")
	}
	if _, err := os.Stat(env.cacheDir()); !os.IsNotExist(err) {
		t.Error("created a cache folder")
	}
	if err := os.MkdirAll(filepath.Join(env.cacheDir(), "code"), 0o700); err != nil {
		t.Fatal(err)
	}
	prefetched := env.Prefetch("javascript")
	if prefetched == nil {
		t.Fatal("not prefetched")
	}
	defer prefetched.Close()
	same := &Settings{Cache: env.cacheDir()}
	if same.openCache(Options{Env: env, Language: "javascript", Prefetched: prefetched}) != prefetched {
		t.Error("it was not used")
	}
	other := &Settings{Cache: filepath.Join(home, "other")}
	got := other.openCache(Options{Env: env, Language: "javascript", Prefetched: prefetched})
	if got == nil || got == prefetched {
		t.Fatal("the wrong folder is used")
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
	if (&Settings{}).openCache(Options{Language: "javascript"}) != nil || env.Prefetch("") != nil {
		t.Error("prefetched without a folder or a language")
	}
}
