package config

import (
	"os"
	"path/filepath"

	"github.com/wexec/wexec/engine"
)

// Ahead begins to load the guest of a language from the cache folder that
// holds where no file says otherwise, for a door that can tell what is going
// to be run before it has read its settings. It is given to [Settings.Open],
// and is the caller's to close. Nil where nothing was ever laid there.
func (e *Environment) Ahead(language string) *engine.Cache {
	dir := e.cacheDir()
	if v, ok := e.Lookup("WEXEC_CACHE"); ok && v != "" {
		dir = absolute(e.Dir, v)
	}
	if dir == "" || language == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "code")); err != nil {
		return nil
	}
	return begin(dir, language)
}

// cache opens the cache and begins to load the guest of what is going to be
// run, so that this goes on beside the rest. Nil leaves the cache to the
// engine, which says what is wrong with its folder.
func (s *Settings) cache(o Options) *engine.Cache {
	if o.Ahead != nil && o.Ahead.Dir() == filepath.Clean(s.Cache) {
		return o.Ahead
	}
	if o.Language == "" || s.Cache == "" {
		return nil
	}
	return begin(s.Cache, o.Language)
}

func begin(dir, language string) *engine.Cache {
	cache, err := engine.OpenCache(dir)
	if err != nil {
		return nil
	}
	cache.Prefetch(language)
	return cache
}
