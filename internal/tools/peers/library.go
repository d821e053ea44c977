package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/peers/drive"
	"github.com/wexec/wexec/policy"
)

// library is wexec as a Go library, with a policy that allows the tools, an audit
// file, and no detection of personal data.
type library struct {
	engine   *engine.Engine
	table    *hostfns.Table
	log      *audit.Log
	work     string
	language string
	kept     int
}

func openLibrary(spec drive.Spec, language string) (*library, error) {
	work, err := os.MkdirTemp("", "wexec-peers-")
	if err != nil {
		return nil, err
	}
	l := &library{work: work, language: language}
	if l.log, err = audit.Open(filepath.Join(work, "audit"), audit.Options{}); err != nil {
		return nil, err
	}
	rules, err := policy.FromFlags(policy.Flags{AllowTool: []string{"peer.*"}, NoPII: true})
	if err != nil {
		return nil, err
	}
	var tools []hostfns.Provider
	for name, file := range spec.Answers {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		tools = append(tools, hostfns.Func("peer."+name, func(context.Context, map[string]any) (any, error) {
			return json.RawMessage(data), nil
		}, hostfns.ReadOnly()))
	}
	if l.table, err = hostfns.NewTable(rules, l.log, tools...); err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	l.engine, err = engine.New(context.Background(), engine.Config{Cache: filepath.Join(cache, "wexec-tests"), Table: l.table, Sessions: 1000})
	return l, err
}

func (l *library) Fresh(kept bool) (drive.Sandbox, error) {
	if !kept {
		return inLibrary{l, ""}, nil
	}
	l.kept++
	return inLibrary{l, fmt.Sprint("kept-", l.kept)}, nil
}

func (l *library) Close() error {
	defer os.RemoveAll(l.work)
	if err := l.engine.Close(); err != nil {
		return err
	}
	if err := l.table.Close(); err != nil {
		return err
	}
	return l.log.Close()
}

// inLibrary is a sandbox: one run, or a session if it is kept.
type inLibrary struct {
	of      *library
	session string
}

func (b inLibrary) Run(program string) (string, time.Duration, error) {
	res, err := b.of.engine.Run(context.Background(), engine.Request{Language: b.of.language, Code: program, Session: b.session,
		Limits: engine.Limits{ToolCalls: 5000}})
	if err != nil {
		return "", 0, err
	}
	return plain(res.Value), 0, nil
}

func (b inLibrary) Close() error {
	if b.session == "" {
		return nil
	}
	return b.of.engine.EndSession(nil, "", b.session)
}

// plain returns the value in the form of the other peers, with strings unquoted.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
