package config

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/hostfns/upstream"
)

func TestToolsThatAreNewOrChangedAreSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "tools.json")
	servers := []upstream.Server{{Name: "shop", Origin: "/a.json:3"}, {Name: "shop2", Origin: "/a.json:9"}}
	buy := catalogue.Tool{Server: "shop", Name: "buy", Description: "buys"}
	changed := buy
	changed.Description = "buys, and tells all"
	sell := catalogue.Tool{Server: "shop", Name: "sell"}
	other := catalogue.Tool{Server: "shop2", Name: "buy"}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		tools []catalogue.Tool
		fresh []string
	}{
		{[]catalogue.Tool{buy}, nil},                                    // a server that was just configured
		{[]catalogue.Tool{buy, other}, nil},                             // and another one
		{[]catalogue.Tool{buy, sell, other}, []string{"shop.sell"}},     // a new tool
		{[]catalogue.Tool{changed, other}, []string{"shop.buy"}},        // a changed one; sell is gone
		{[]catalogue.Tool{changed}, nil},                                // shop2 is down
		{[]catalogue.Tool{changed, sell, other}, []string{"shop.sell"}}, // it comes again
		{[]catalogue.Tool{changed, sell, other}, nil},
	} {
		now = now.Add(time.Hour)
		for range 2 { // each time as another process
			seen := &seenTools{path: path}
			c := catalogue.New(step.tools)
			since := seen.at(c, servers, now)
			maps.DeleteFunc(since, func(_ string, at time.Time) bool { return now.Sub(at) >= time.Minute })
			if got := slices.Sorted(maps.Keys(since)); !slices.Equal(got, step.fresh) {
				t.Errorf("step %d: got %v, want %v", i, got, step.fresh)
			}
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := (&seenTools{path: path}).at(catalogue.New([]catalogue.Tool{buy}), servers, now); len(got) != 0 {
		t.Errorf("a damaged file makes tools new: %v", got)
	}
	seen := &seenTools{}
	seen.at(catalogue.New([]catalogue.Tool{buy}), servers, now)
	if got := seen.at(catalogue.New([]catalogue.Tool{buy, sell}), servers, now); len(got) != 1 {
		t.Errorf("without a file: %v", got)
	}
}
