package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/internal/tools/testpg"
)

// service measures requests for runs of 1+1 to wexec serve, which records them: one
// client after another, and 32 at a time.
func service(b *bench) ([]figure, error) {
	if err := b.build(); err != nil {
		return nil, err
	}
	folder := filepath.Join(b.work, "serve")
	all, err := b.requests([]string{"sqlite:" + folder + "/wexec.db"}, folder, "POST /v1/runs of 1+1, SQLite", "the same from 32 clients, each run")
	if err != nil {
		return all, err
	}
	pg, err := testpg.Start()
	if err != nil || pg == nil {
		return all, cmp.Or(err, errors.New("PostgreSQL is not installed"))
	}
	defer pg.Stop()
	more, err := b.requests([]string{pg.Address(), pg.Address()}, folder+"-pg", "", "32 clients of two servers on PostgreSQL, each run")
	return append(all, more...), err
}

// requests measures servers with one store.
func (b *bench) requests(stores []string, folder, one, many string) (all []figure, err error) {
	var urls []string
	var token string
	for i, store := range stores {
		args := []string{"--data", fmt.Sprintf("%s-%d", folder, i), "--store", store}
		if i > 0 {
			args = append(args, "--key", folder+"-0/seal.key")
		}
		s, err := b.serve(i == 0, args...)
		if err != nil {
			return nil, err
		}
		defer s.stop()
		urls = append(urls, s.url)
		token = cmp.Or(token, s.token)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer client.CloseIdleConnections()
	run := func(n int) error {
		req, err := http.NewRequestWithContext(b.ctx, http.MethodPost, urls[n%len(urls)]+"/v1/runs", bytes.NewReader([]byte(`{"language":"javascript","code":"1+1"}`)))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && !bytes.Contains(body, []byte(`"value":2`)) {
			err = fmt.Errorf("the server answered %d: %.300s", res.StatusCode, body)
		}
		return err
	}
	for n := range 100 { // the guests and the connections are warm afterwards
		if err := run(n); err != nil {
			return nil, err
		}
	}
	if one != "" {
		n := 0
		d, err := median(10*b.runs, func() error { n++; return run(n) })
		if err != nil {
			return nil, err
		}
		f := d.of(one, "ms", time.Millisecond, 1)
		f.CPU = 0 // it is the client's
		all = append(all, f)
	}
	count := 20 * b.runs
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var clients sync.WaitGroup
	begun := time.Now()
	for i := range 32 {
		clients.Go(func() {
			for next.Add(1) <= int64(count) {
				if err := run(i); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	clients.Wait()
	if err := failed.Load(); err != nil {
		return all, *err
	}
	return append(all, took{wall: time.Since(begun)}.of(many, "ms", time.Millisecond, float64(count))), nil
}

// server is a process of wexec serve.
type server struct {
	cmd        *exec.Cmd
	url, token string
}

var (
	serverURL   = regexp.MustCompile(`API is at (https?://\S+)/v1`)
	serverToken = regexp.MustCompile(`wx_\S+`)
)

// serve starts a server and waits until it answers. The first of a store has the token
// of its administrator.
func (b *bench) serve(first bool, args ...string) (*server, error) {
	cmd := exec.CommandContext(b.ctx, b.wexec, slices.Concat([]string{"serve", "--listen", "127.0.0.1:0"}, args)...)
	cmd.Env = b.environment()
	cmd.Dir = b.work
	out, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	lines := bufio.NewScanner(out)
	for (s.url == "" || first && s.token == "") && lines.Scan() {
		s.token = cmp.Or(s.token, serverToken.FindString(lines.Text()))
		if m := serverURL.FindStringSubmatch(lines.Text()); m != nil {
			s.url = m[1]
		}
	}
	if s.url == "" {
		s.stop()
		return nil, errors.New("wexec serve ended before it was ready")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return s, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}
