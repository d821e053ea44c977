package config

import (
	"os"
	"path/filepath"
	"testing"
)

// What was begun ahead is used where the settings name the same folder, and
// left to whoever began it where they do not.
func TestWhatWasBegunAheadIsUsedForItsFolderOnly(t *testing.T) {
	home := t.TempDir()
	env := &Environment{Home: home, Dir: home}
	if env.Ahead("javascript") != nil {
		t.Error("there was nothing to load")
	}
	if _, err := os.Stat(env.cacheDir()); !os.IsNotExist(err) {
		t.Error("a folder was made before anybody said that it is the one")
	}
	if err := os.MkdirAll(filepath.Join(env.cacheDir(), "code"), 0o700); err != nil {
		t.Fatal(err)
	}
	ahead := env.Ahead("javascript")
	if ahead == nil {
		t.Fatal("nothing was begun")
	}
	defer ahead.Close()
	same := &Settings{Cache: env.cacheDir()}
	if same.cache(Options{Env: env, Language: "javascript", Ahead: ahead}) != ahead {
		t.Error("it was not used")
	}
	other := &Settings{Cache: filepath.Join(home, "other")}
	got := other.cache(Options{Env: env, Language: "javascript", Ahead: ahead})
	if got == nil || got == ahead {
		t.Fatal("the wrong folder is used")
	}
	if err := got.Close(); err != nil {
		t.Error(err)
	}
	if (&Settings{}).cache(Options{Language: "javascript"}) != nil || env.Ahead("") != nil {
		t.Error("something was begun without a folder or a language")
	}
}
