package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// testCache is a cache folder that outlives the test, so that the guests are
// compiled once a day and not once a test.
func testCache(t testing.TB) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "wexec-test")
}

// newReal makes an engine with the real guests.
func newReal(t testing.TB, c Config) *Engine {
	t.Helper()
	c.Cache = testCache(t)
	e, err := New(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func TestOneAndOneIsTwoInEveryLanguage(t *testing.T) {
	e := newReal(t, Config{})
	for _, language := range []string{JavaScript, TypeScript, Python} {
		res, err := e.Run(context.Background(), Request{Language: language, Code: "1+1"})
		wantValue(t, res, err, "2")
	}
}
