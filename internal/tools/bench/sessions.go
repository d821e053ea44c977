package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
)

// images keeps the images of sessions in memory.
type images struct {
	mu  sync.Mutex
	all map[engine.SessionID]*engine.SessionImage
}

func (m *images) Get(_ context.Context, id engine.SessionID) (*engine.SessionImage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[id], nil
}

func (m *images) Put(_ context.Context, id engine.SessionID, image engine.SessionImage) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[id] = &image
	return nil
}

func (m *images) Claim(context.Context, engine.SessionID, string, int64) error { return nil }

func (m *images) List(context.Context, string, string) ([]engine.SessionInfo, error) {
	return nil, nil
}

func (m *images) Delete(_ context.Context, id engine.SessionID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, id)
	return nil
}

// size returns the bytes of the image of a session.
func (m *images) size(id engine.SessionID) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.all[id].Data)
}

// Programs whose sessions are measured: one that leaves 5 MB of objects, and one that
// imports 16 modules.
var (
	largeState = map[string]string{
		engine.JavaScript: "globalThis.rows = Array.from({length: 20000}, (_, i) => ({id: i, name: 'n' + i, tags: ['x', 'y']})); 1",
		engine.Python:     "rows = [{'id': i, 'name': f'n{i}', 'tags': ['x', 'y']} for i in range(20000)]\n1",
	}
	modules = "import sqlite3, csv, decimal, fractions, statistics, difflib, html.parser, xml.etree.ElementTree, zipfile, tarfile, email, http.client, configparser, tomllib, unittest, pprint\n1"
)

// sleeper measures sessions of an engine that keeps their images in memory.
type sleeper struct {
	b    *bench
	e    *engine.Engine
	kept *images
}

func sessionOf(name string, n int) engine.SessionID {
	return engine.SessionID{Tenant: "bench", Actor: "agent", Name: fmt.Sprint(name, n)}
}

func (s *sleeper) run(id engine.SessionID, language, code string) error {
	_, err := s.e.Run(s.b.ctx, engine.Request{Language: language, Code: code, Session: id.Name, Tenant: id.Tenant, Actor: engine.Actor{ID: id.Actor, Type: "agent"}})
	return err
}

// end ends n sessions with a name.
func (s *sleeper) end(name string, n int) (err error) {
	for i := range n {
		err = errors.Join(err, s.e.End(s.b.ctx, sessionOf(name, i)))
	}
	return err
}

// against returns the time of an operation in terms of another's: the median of both,
// in turns.
func against(n int, what, other func(i int) error) (float64, error) {
	times := [2][]time.Duration{}
	for i := range n {
		for k, f := range []func(int) error{what, other} {
			begun := time.Now()
			if err := f(i); err != nil {
				return 0, err
			}
			times[k] = append(times[k], time.Since(begun))
		}
	}
	for _, t := range times {
		slices.Sort(t)
	}
	return float64(times[0][n/2]) / float64(times[1][n/2]), nil
}

// woken returns how long sessions take to wake after a program, in terms of new ones
// that run it, and the size of their images.
func (s *sleeper) woken(n int, language, code string) (ratio float64, size int, err error) {
	for i := range n {
		id := sessionOf("asleep", i)
		if err := s.run(id, language, code); err != nil {
			return 0, 0, err
		}
		if err := s.e.Sleep(s.b.ctx, id); err != nil {
			return 0, 0, err
		}
		size = max(size, s.kept.size(id))
	}
	ratio, err = against(n, func(i int) error { return s.run(sessionOf("asleep", i), language, "1+1") },
		func(i int) error { return s.run(sessionOf("new", i), language, code) })
	return ratio, size, errors.Join(err, s.end("asleep", n), s.end("new", n))
}

// forked returns how long a fork and its first run take, in terms of a new session, and
// the memory that is private to a fork, in KiB.
func (s *sleeper) forked(n int, language string) (ratio, memory float64, err error) {
	if err := s.run(sessionOf("parent", 0), language, largeState[language]); err != nil {
		return 0, 0, err
	}
	fork := func(i int) error { return s.e.Fork(s.b.ctx, sessionOf("parent", 0), sessionOf("fork", i).Name) }
	if err := fork(n); err != nil { // the first one makes what the others share
		return 0, 0, err
	}
	time.Sleep(2 * time.Second) // until what was used before is released
	before, err := private()
	if err != nil {
		return 0, 0, err
	}
	for i := range n {
		if err := fork(i); err != nil {
			return 0, 0, err
		}
	}
	after, err := private()
	if err := errors.Join(err, s.end("fork", n)); err != nil {
		return 0, 0, err
	}
	ratio, err = against(n, func(i int) error {
		if err := fork(i); err != nil {
			return err
		}
		return s.run(sessionOf("fork", i), language, "1+1")
	}, func(i int) error { return s.run(sessionOf("new", i), language, "1+1") })
	return ratio, max(0, float64(after-before)) / float64(n), err
}

// sleeper returns an engine for n sessions of each kind, in which a language is warm.
func (b *bench) sleeper(n int, language string) (*sleeper, error) {
	kept := &images{all: map[engine.SessionID]*engine.SessionImage{}}
	e, err := b.open(engine.Config{Images: kept, Sessions: 2*n + 2})
	if err != nil {
		return nil, err
	}
	return &sleeper{b, e, kept}, e.Warm(b.ctx, nil, language)
}

// sessions measures sessions that sleep, wake and fork.
func sessions(b *bench) ([]figure, error) {
	n := min(b.runs, 200)
	var all []figure
	for _, language := range []string{engine.JavaScript, engine.Python} {
		s, err := b.sleeper(n, language)
		if err != nil {
			return all, err
		}
		forked, memory, err := s.forked(n, language)
		s.e.Close()
		if err != nil {
			return all, err
		}
		if s, err = b.sleeper(n, language); err != nil {
			return all, err
		}
		defer s.e.Close()
		woken, size, err := s.woken(n, language, "1+1")
		if err != nil {
			return all, err
		}
		all = append(all,
			figure{Name: "empty session asleep, " + language, Unit: "KiB", Measured: float64(size) / 1024},
			figure{Name: "a session wakes and runs 1+1, " + language, Unit: "x", Measured: woken, Note: "to a new session"},
			figure{Name: "a fork of 5 MB runs 1+1, " + language, Unit: "x", Measured: forked, Note: "to a new session"},
			figure{Name: "private memory of a fork of 5 MB, " + language, Unit: "KiB", Measured: memory})
		if language != engine.Python {
			continue
		}
		if woken, size, err = s.woken(max(5, n/10), language, modules); err != nil {
			return all, err
		}
		all = append(all,
			figure{Name: "session with 16 modules asleep", Unit: "KiB", Measured: float64(size) / 1024},
			figure{Name: "a session with 16 modules wakes", Unit: "x", Measured: woken, Note: "to importing them again"})
	}
	return all, nil
}

// asleep measures wexec serve with 10,000 sessions that sleep: its private memory, and
// its data folder with the runs that were in them.
func asleep(b *bench) ([]figure, error) {
	if err := b.build(); err != nil {
		return nil, err
	}
	const count = 10000
	folder := filepath.Join(b.work, "asleep")
	server, err := b.serve(true, "--data", folder)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	ask := func(path, body, want string) error {
		req, err := http.NewRequestWithContext(b.ctx, http.MethodPost, server.url+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+server.token)
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		got, err := io.ReadAll(res.Body)
		if err == nil && !bytes.Contains(got, []byte(want)) {
			err = fmt.Errorf("%s was answered with %d: %.300s", path, res.StatusCode, got)
		}
		return err
	}
	var next atomic.Int64
	var clients sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		clients.Go(func() {
			for n := next.Add(1); n <= count && failed[i] == nil; n = next.Add(1) {
				language := []string{engine.JavaScript, engine.Python}[n%2]
				failed[i] = ask("/v1/runs", fmt.Sprintf(`{"language":%q,"code":"1+1","session":"s%d"}`, language, n), `"value":2`)
			}
		})
	}
	clients.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	for n := count - 200; n <= count; n++ { // the server keeps some awake
		if err := ask(fmt.Sprintf("/v1/sessions/s%d/sleep", n), "{}", `"asleep"`); err != nil {
			return nil, err
		}
	}
	time.Sleep(150 * time.Second) // until the collector of an idle server has run
	memory, err := privateOf(fmt.Sprint(server.cmd.Process.Pid))
	if err != nil {
		return nil, err
	}
	server.stop()
	var disk int64
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			disk += (info.Size() + 4095) &^ 4095
		}
		return err
	})
	return []figure{
		{Name: "wexec serve with 10,000 sessions asleep", Unit: "MiB", Measured: float64(memory) / 1024, Note: "private memory; half of the sessions are of Python"},
		{Name: "its data folder, each session", Unit: "KiB", Measured: float64(disk) / 1024 / count},
	}, err
}

// journal keeps the records of a run in memory.
type journal struct{ records [][]byte }

func (j *journal) Append(_ context.Context, record []byte) error {
	j.records = append(j.records, slices.Clone(record))
	return nil
}

// resume measures a run that goes on after it got its answers: the time for each.
func resume(b *bench) ([]figure, error) {
	const n = 190
	t, closeAll, err := b.table(hostfns.Func("bench.put", func(context.Context, struct{}) (any, error) {
		return map[string]string{"text": strings.Repeat("x", 85)}, nil
	}))
	if err != nil {
		return nil, err
	}
	defer closeAll()
	e, err := b.open(engine.Config{Table: t})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var all []figure
	for language, code := range map[string]string{
		engine.JavaScript: "for (let i = 0; i < %d; i++) await tools.bench.put({}); return 0",
		engine.Python:     "from tools import bench\nfor i in range(%d): bench.put()\n0",
	} {
		replayed := func(calls int) (took, error) {
			whole := &journal{}
			req := engine.Request{ID: "bench", Language: language, Code: fmt.Sprintf(code, calls), Journal: whole}
			want, err := e.Run(b.ctx, req)
			if err != nil {
				return took{}, err
			}
			req.Records = whole.records
			return median(11, func() error {
				req.Journal = &journal{}
				got, err := e.Run(b.ctx, req)
				if err == nil && got.Usage.Fuel != want.Usage.Fuel {
					err = fmt.Errorf("a run that went on used %d fuel, and %d before", got.Usage.Fuel, want.Usage.Fuel)
				}
				return err
			})
		}
		many, err := replayed(n)
		if err != nil {
			return all, err
		}
		none, err := replayed(0)
		if err != nil {
			return all, err
		}
		all = append(all, many.less(none).of("an answer of a run that goes on, "+language, "µs", time.Microsecond, n))
	}
	return all, nil
}
