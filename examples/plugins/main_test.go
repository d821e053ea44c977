package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

func TestABrokenFilterCostsItselfAndNothingElse(t *testing.T) {
	ctx := context.Background()
	eng, err := engine.New(ctx, engine.Config{Cache: cache(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	all, err := filters("filters")
	if err != nil || len(all) != 3 {
		t.Fatalf("%d filters, %v", len(all), err)
	}
	failed := map[string]error{}
	m, err := apply(ctx, eng, all, message{Text: "hello big world"}, func(file string, err error) { failed[file] = err })
	if err != nil {
		t.Fatal(err)
	}
	if m.Text != "HELLO BIG WORLD" || len(m.Tags) != 1 || m.Tags[0] != "3 words" {
		t.Errorf("the message is %+v", m)
	}
	if err := failed["30-broken.ts"]; len(failed) != 1 || !(errors.Is(err, fault.LimitTime) || errors.Is(err, fault.LimitFuel)) {
		t.Errorf("failures: %v", failed)
	}
}

// cache returns the cache folder that tests share, to compile each guest once.
func cache(t *testing.T) string {
	base, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(base, "wexec-tests")
}
