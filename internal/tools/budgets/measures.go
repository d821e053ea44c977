package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// bench has the state that all measures share.
type bench struct {
	fresh, tools *engine.Engine
	self         string
}

// A measure is an operation. A slice repeats it n times, which takes about 20 ms.
type measure struct {
	name string
	n    int
	do   func(*bench) error
}

var measures = []measure{
	{"start, javascript", 60, func(b *bench) error { return b.run(b.fresh, engine.JavaScript, "1+1", "2") }},
	{"start, python", 30, func(b *bench) error { return b.run(b.fresh, engine.Python, "1+1", "2") }},
	{"a process's start, javascript", 1, func(b *bench) error { return exec.Command(b.self, "-one", engine.JavaScript).Run() }},
	{"a process's start, python", 1, func(b *bench) error { return exec.Command(b.self, "-one", engine.Python).Run() }},
	{"overhead of 100 calls, javascript", 7, func(b *bench) error {
		return b.run(b.tools, engine.JavaScript, "let n = 0; for (let i = 0; i < 100; i++) n += (await tools.shop.one({id: i})).n; return n", "100")
	}},
	{"overhead of 100 calls, python", 7, func(b *bench) error {
		return b.run(b.tools, engine.Python, "from tools import shop\nsum(shop.one(id=i)['n'] for i in range(100))", "100")
	}},
	{"a loop, javascript", 4, func(b *bench) error {
		return b.run(b.fresh, engine.JavaScript, "let s = 0; for (let i = 0; i < 100000; i++) s = (s + i) | 0; return s", "704982704")
	}},
	{"a loop, python", 2, func(b *bench) error {
		return b.run(b.fresh, engine.Python, "s = 0\nfor i in range(50000):\n    s += i\ns", "1249975000")
	}},
	{"cache hit", 500, func(b *bench) error {
		res, err := b.fresh.Run(context.Background(), engine.Request{Language: engine.JavaScript, Code: "6 * 7", Deterministic: true})
		if err == nil && string(res.Value) != "42" {
			err = fmt.Errorf("value %.80s", res.Value)
		}
		return err
	}},
	{"1,000 items, javascript", 7, func(b *bench) error {
		return b.run(b.tools, engine.JavaScript, "const by = {}; for (const i of await tools.shop.items({})) by[i.kind] = (by[i.kind] ?? 0) + i.price; return by.b", "166167")
	}},
	{"1,000 items, python", 4, func(b *bench) error {
		return b.run(b.tools, engine.Python, "from tools import shop\nby = {}\nfor i in shop.items():\n    by[i['kind']] = by.get(i['kind'], 0) + i['price']\nby['b']", "166167")
	}},
}

func (b *bench) run(e *engine.Engine, language, code, want string) error {
	res, err := e.Run(context.Background(), engine.Request{Language: language, Code: code})
	if err == nil && string(res.Value) != want {
		err = fmt.Errorf("%.60s: value %.80s, want %s", code, res.Value, want)
	}
	return err
}

// slice measures one line n times, and slows it down by the factor.
func (b *bench) slice(m measure, slowed float64) ([]time.Duration, error) {
	var took []time.Duration
	for range m.n {
		begun := time.Now()
		if err := m.do(b); err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		once := time.Since(begun)
		for slowed > 1 && time.Since(begun) < time.Duration(float64(once)*slowed) {
		}
		took = append(took, time.Since(begun))
	}
	return took, nil
}

// serve measures a slice of each line that in names, one per line, and writes its
// times to out as JSON.
func serve(in io.Reader, out io.Writer, slowed float64) error {
	b, done, err := open()
	if err != nil {
		return err
	}
	defer done()
	names, encoder := bufio.NewScanner(in), json.NewEncoder(out)
	for names.Scan() {
		i := slices.IndexFunc(measures, func(m measure) bool { return m.name == names.Text() })
		if i < 0 {
			return fmt.Errorf("unknown line %q", names.Text())
		}
		took, err := b.slice(measures[i], slowed)
		if err != nil {
			return err
		}
		if err := encoder.Encode(took); err != nil {
			return err
		}
	}
	return names.Err()
}

// cacheFolder is the cache that tests share. It can hold guests of several commits.
func cacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	return filepath.Join(base, "wexec-tests"), err
}

// oneLiner runs 1+1 in a new engine, to measure a whole process.
func oneLiner(language string) error {
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	e, err := engine.New(context.Background(), engine.Config{Cache: cache, Ready: -1})
	if err != nil {
		return err
	}
	b := &bench{}
	return errors.Join(b.run(e, language, "1+1", "2"), e.Close())
}

// numbered is the argument of shop.one.
type numbered struct {
	ID int `json:"id"`
}

func open() (*bench, func(), error) {
	cache, err := cacheFolder()
	if err != nil {
		return nil, nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "wexec-budgets-")
	if err != nil {
		return nil, nil, err
	}
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		return nil, nil, err
	}
	rules, err := policy.FromFlags(policy.Flags{AllowTool: []string{"shop.*"}, NoPII: true})
	if err != nil {
		return nil, nil, err
	}
	type item struct {
		ID    int    `json:"id"`
		Kind  string `json:"kind"`
		Price int    `json:"price"`
		Name  string `json:"name"`
	}
	var items []item
	for i := range 1000 {
		items = append(items, item{i, string("abc"[i%3]), i, fmt.Sprintf("item %d %s", i, strings.Repeat("x", 200))})
	}
	table, err := hostfns.NewTable(rules, log,
		hostfns.Func("shop.one", func(context.Context, numbered) (map[string]int, error) { return map[string]int{"n": 1}, nil }, hostfns.ReadOnly()),
		hostfns.Func("shop.items", func(context.Context, struct{}) (any, error) { return items, nil }, hostfns.ReadOnly()))
	if err != nil {
		return nil, nil, err
	}
	fresh, err := engine.New(context.Background(), engine.Config{Cache: cache, Ready: -1})
	if err != nil {
		return nil, nil, err
	}
	tools, err := engine.New(context.Background(), engine.Config{Cache: cache, Table: table})
	if err != nil {
		return nil, nil, errors.Join(err, fresh.Close())
	}
	return &bench{fresh, tools, self}, func() {
		// Errors on close do not affect the figures.
		_ = errors.Join(fresh.Close(), tools.Close(), table.Close(), log.Close(), os.RemoveAll(dir))
	}, nil
}
