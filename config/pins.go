package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
)

// PinFiles are the two files that definitions of tools are pinned in. Pins
// only forbid, so both hold whoever wrote them.
type PinFiles struct {
	// Own is the person's, in the state folder. A pin stands there under the
	// file in which the tool's server is configured. Empty: there is no folder.
	Own string
	// Lock is the project's wexec.lock, to be committed. Its pins are by the
	// names of servers. Empty: there is no project.
	Lock string
}

// lockName is the file of a project that holds pins.
const lockName = "wexec.lock"

// PinFiles says where pins are kept.
func (s *Settings) PinFiles(env *Environment) PinFiles {
	var f PinFiles
	if dir := env.stateDir(); dir != "" {
		f.Own = filepath.Join(dir, "pins.json")
	}
	if s.Project.Dir != "" {
		f.Lock = filepath.Join(s.Project.Dir, lockName)
	}
	return f
}

// pinned is one pin as files have it.
type pinned struct {
	SHA256     string          `json:"sha256"`
	Definition json.RawMessage `json:"definition,omitempty"`
}

// pinsByTool is the pins of one place, by server.tool.
type pinsByTool map[string]pinned

// ownPins are a person's pins, by the file that configures the server.
type ownPins map[string]pinsByTool

// lockFile is a project's wexec.lock.
type lockFile struct {
	Tools pinsByTool `json:"tools"`
}

// placeOf is the file in which a server is configured: its origin without the
// line.
func placeOf(s upstream.Server) string { return lineEnd().ReplaceAllString(s.Origin, "") }

var lineEnd = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`:\d+$`)
})

// readPins reads what holds for a set of servers.
func readPins(files PinFiles, servers []upstream.Server) ([]hostfns.Pin, error) {
	var out []hostfns.Pin
	var own ownPins
	if err := readPinFile(files.Own, &own); err != nil {
		return nil, err
	}
	var lock lockFile
	if err := readPinFile(files.Lock, &lock); err != nil {
		return nil, err
	}
	of := func(list pinsByTool, server, origin string) {
		for _, tool := range slices.Sorted(maps.Keys(list)) {
			if name, ok := cutServer(tool, server); ok && name != "" {
				out = append(out, hostfns.Pin{Tool: tool, SHA256: list[tool].SHA256, Definition: list[tool].Definition, Origin: origin})
			}
		}
	}
	for _, s := range servers {
		of(own[placeOf(s)], s.Name, files.Own)
		of(lock.Tools, s.Name, files.Lock)
	}
	return out, nil
}

// cutServer takes a server's name and the dot off a tool's.
func cutServer(tool, server string) (string, bool) {
	if len(tool) <= len(server) || tool[:len(server)] != server || tool[len(server)] != '.' {
		return "", false
	}
	return tool[len(server)+1:], true
}

// readPinFile reads one file; a missing one holds nothing. One that is damaged
// is a fault: without it nobody knows what was pinned.
func readPinFile(path string, into any) error {
	if path == "" {
		return nil
	}
	data, err := readUntrusted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "the pins in %s cannot be read: %w", path, err).
			WithHint("mend the file, or remove it and pin your tools again: wexec tools pin")
	}
	return nil
}

// Pins lists the pins that hold for the configured servers.
func (s *Settings) Pins(env *Environment) ([]hostfns.Pin, error) {
	return readPins(s.PinFiles(env), s.Servers)
}

// Pin notes the definitions of tools, in the project's lock file or else in the
// person's own.
func (s *Settings) Pin(env *Environment, lock bool, pins ...hostfns.Pin) error {
	return s.changePins(env, lock, func(list pinsByTool, tool string) {
		for _, p := range pins {
			if p.Tool == tool {
				list[tool] = pinned{p.SHA256, p.Definition}
			}
		}
	}, toolsOf(pins))
}

// Unpin takes pins out of the file.
func (s *Settings) Unpin(env *Environment, lock bool, tools ...string) error {
	return s.changePins(env, lock, func(list pinsByTool, tool string) { delete(list, tool) }, tools)
}

func toolsOf(pins []hostfns.Pin) []string {
	var out []string
	for _, p := range pins {
		out = append(out, p.Tool)
	}
	return out
}

func (s *Settings) changePins(env *Environment, lock bool, change func(list pinsByTool, tool string), tools []string) error {
	files := s.PinFiles(env)
	path := files.Own
	var what any
	if lock {
		path = files.Lock
	}
	switch {
	case path == "" && lock:
		return fault.New(fault.UsageConfig, "there is no project here to lock: no wexec.yaml and no .mcp.json up to the root of the repository").
			WithHint("pin for yourself, without --lock")
	case path == "":
		return fault.New(fault.UsageConfig, "there is no home folder to keep pins in").WithHint("set XDG_STATE_HOME")
	case lock:
		var f lockFile
		if err := readPinFile(path, &f); err != nil {
			return err
		}
		if f.Tools == nil {
			f.Tools = pinsByTool{}
		}
		for _, tool := range tools {
			change(f.Tools, tool)
		}
		what = f
	default:
		var own ownPins
		if err := readPinFile(path, &own); err != nil {
			return err
		}
		if own == nil {
			own = ownPins{}
		}
		for _, tool := range tools {
			for _, server := range s.Servers {
				if _, ok := cutServer(tool, server.Name); !ok {
					continue
				}
				place := placeOf(server)
				if own[place] == nil {
					own[place] = pinsByTool{}
				}
				change(own[place], tool)
				if len(own[place]) == 0 {
					delete(own, place)
				}
			}
		}
		what = own
	}
	data, err := json.MarshalIndent(what, "", "  ")
	if err == nil {
		err = writePrivate(path, append(data, '\n'))
	}
	if err == nil && lock {
		err = os.Chmod(path, 0o644) // it is meant to be shared
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "write %s: %w", path, pathCause(err))
	}
	return nil
}

// pinWatch gives the pins as the files have them now: a person who pins in
// another terminal is heard by servers that run.
type pinWatch struct {
	files   PinFiles
	servers []upstream.Server
	log     *slog.Logger

	mu     sync.Mutex
	looked time.Time
	stamp  [2]fileStamp
	pins   *hostfns.Pins
}

type fileStamp struct {
	size int64
	time time.Time
}

func stampOf(path string) fileStamp {
	if info, err := os.Stat(path); err == nil {
		return fileStamp{info.Size(), info.ModTime()}
	}
	return fileStamp{size: -1}
}

// pinInterval is how long pins are taken for what they were.
const pinInterval = time.Second

// read reads the files.
func (w *pinWatch) read() error {
	w.stamp = [2]fileStamp{stampOf(w.files.Own), stampOf(w.files.Lock)}
	w.looked = time.Now()
	list, err := readPins(w.files, w.servers)
	if err != nil {
		return err
	}
	w.pins = hostfns.NewPins(list)
	return nil
}

// current gives the pins. Files that cannot be read any more change nothing.
func (w *pinWatch) current() *hostfns.Pins {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) < pinInterval {
		return w.pins
	}
	w.looked = time.Now()
	if w.stamp == [2]fileStamp{stampOf(w.files.Own), stampOf(w.files.Lock)} {
		return w.pins
	}
	if err := w.read(); err != nil && w.log != nil {
		w.log.Error("the pins were not read again", "error", err)
	}
	return w.pins
}
