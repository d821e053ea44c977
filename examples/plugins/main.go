// Plugins runs user-defined filters: every file of a folder is a program that
// receives a message and returns one. A filter that fails, hangs or exhausts its
// memory is skipped.
//
//	go run ./examples/plugins examples/plugins/filters "hello world"
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/guests"
)

// message is the argument and the result of a filter.
type message struct {
	Text string   `json:"text"`
	Tags []string `json:"tags"`
}

// filters returns the programs of a folder, sorted by name.
func filters(dir string) ([]engine.Request, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []engine.Request
	for _, e := range entries {
		language, ok := guests.LanguageOfFile(e.Name())
		if !ok {
			continue
		}
		code, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, engine.Request{Language: language, Code: string(code), File: e.Name(),
			Limits: engine.Limits{Time: time.Second, Memory: 64 << 20, Fuel: 2_000_000_000}})
	}
	slices.SortFunc(out, func(a, b engine.Request) int { return strings.Compare(a.File, b.File) })
	return out, nil
}

// apply passes a message through all filters. It skips a filter that fails and
// reports the error.
func apply(ctx context.Context, eng *engine.Engine, all []engine.Request, m message, said func(file string, err error)) (message, error) {
	for _, f := range all {
		args, err := json.Marshal(m)
		if err != nil {
			return m, err
		}
		f.Args = args
		res, err := eng.Run(ctx, f)
		if err == nil {
			var next message
			if err = res.Decode(&next); err == nil {
				m = next
			}
		}
		if err != nil {
			said(f.File, err)
		}
	}
	return m, nil
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: plugins FOLDER TEXT")
	}
	ctx := context.Background()
	eng, err := engine.New(ctx, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	all, err := filters(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	m, err := apply(ctx, eng, all, message{Text: os.Args[2]}, func(file string, err error) { log.Printf("%s: %v", file, err) })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %q\n", m.Text, m.Tags)
}
