package config

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
)

// PinFiles are the two files with pinned definitions of tools. Pins can only
// forbid, so both apply regardless of who wrote them.
type PinFiles struct {
	// User is in the state folder; empty if there is none. Its pins are grouped
	// by the file that configures the server.
	User string
	// Lock is the project's wexec.lock, to be committed; empty if there is no
	// project. Its pins are by the names of servers.
	Lock string
}

// PinFiles returns where pins are kept.
func (s *Settings) PinFiles(env *Environment) PinFiles {
	return PinFiles{User: below(env.stateDir(), "pins.json"), Lock: below(s.Project.Dir, "wexec.lock")}
}

// pin is one pin as files have it.
type pin struct {
	SHA256     string          `json:"sha256"`
	Definition json.RawMessage `json:"definition,omitempty"`
}

// pinsByTool are pins by server.tool.
type pinsByTool map[string]pin

// userPins are a user's pins, by the file that configures the server.
type userPins map[string]pinsByTool

// lockFile is a project's wexec.lock.
type lockFile struct {
	Tools pinsByTool `json:"tools"`
}

// configFile returns the file that configures a server: its origin without the
// line.
func configFile(s upstream.Server) string {
	file, line := s.Origin, strings.TrimRight(s.Origin, "0123456789")
	if len(line) < len(file) && strings.HasSuffix(line, ":") {
		return strings.TrimSuffix(line, ":")
	}
	return file
}

// readPins reads the pins of servers.
func readPins(files PinFiles, servers []upstream.Server) ([]hostfns.Pin, error) {
	var user userPins
	if err := readPinFile(files.User, &user); err != nil {
		return nil, err
	}
	var lock lockFile
	if err := readPinFile(files.Lock, &lock); err != nil {
		return nil, err
	}
	var out []hostfns.Pin
	for _, s := range servers {
		for _, from := range []struct {
			pins pinsByTool
			file string
		}{{user[configFile(s)], files.User}, {lock.Tools, files.Lock}} {
			for _, tool := range slices.Sorted(maps.Keys(from.pins)) {
				if isToolOf(tool, s.Name) {
					out = append(out, hostfns.Pin{Tool: tool, SHA256: from.pins[tool].SHA256, Definition: from.pins[tool].Definition, Origin: from.file})
				}
			}
		}
	}
	return out, nil
}

// isToolOf reports whether server.tool names a tool of a server.
func isToolOf(tool, server string) bool {
	name, ok := strings.CutPrefix(tool, server+".")
	return ok && name != ""
}

// readPinFile reads a file. A missing file has no pins. A damaged file is an
// error: what it pinned is unknown.
func readPinFile(path string, into any) error {
	return readJSON(path, into, "the pins", "repair the file, or remove it and run: wexec tools pin")
}

// Pins returns the pins of the configured servers.
func (s *Settings) Pins(env *Environment) ([]hostfns.Pin, error) {
	return readPins(s.PinFiles(env), s.Servers)
}

// Pin adds pins to the project's lock file, or else to the user's file.
func (s *Settings) Pin(env *Environment, lock bool, pins ...hostfns.Pin) error {
	return s.changePins(env, lock, func(list pinsByTool, in func(tool string) bool) {
		for _, p := range pins {
			if in(p.Tool) {
				list[p.Tool] = pin{p.SHA256, p.Definition}
			}
		}
	})
}

// Unpin removes pins from the project's lock file, or else from the user's file.
func (s *Settings) Unpin(env *Environment, lock bool, tools ...string) error {
	return s.changePins(env, lock, func(list pinsByTool, in func(tool string) bool) {
		for _, tool := range tools {
			if in(tool) {
				delete(list, tool)
			}
		}
	})
}

// changePins changes the lists of a file. in reports whether a tool belongs in a
// list.
func (s *Settings) changePins(env *Environment, lock bool, change func(list pinsByTool, in func(tool string) bool)) error {
	files := s.PinFiles(env)
	if lock {
		if files.Lock == "" {
			return fault.New(fault.UsageConfig, "there is no project to lock: no wexec.yaml or .mcp.json up to the root of the repository").
				WithHint("write one, or pin for yourself")
		}
		var f lockFile
		if err := readPinFile(files.Lock, &f); err != nil {
			return err
		}
		if f.Tools == nil {
			f.Tools = pinsByTool{}
		}
		change(f.Tools, func(string) bool { return true })
		return writeJSON(files.Lock, f, 0o644) // it is shared with others
	}
	if files.User == "" {
		return fault.New(fault.UsageConfig, "there is no home folder for pins").WithHint("set XDG_STATE_HOME")
	}
	user := userPins{}
	if err := readPinFile(files.User, &user); err != nil {
		return err
	}
	for _, server := range s.Servers {
		file := configFile(server)
		pins := user[file]
		if pins == nil {
			pins = pinsByTool{}
		}
		change(pins, func(tool string) bool { return isToolOf(tool, server.Name) })
		if user[file] = pins; len(pins) == 0 {
			delete(user, file)
		}
	}
	return writeJSON(files.User, user, 0o600)
}

// pinWatcher reads pins again when their files change, so that a running server
// respects pins that are made in another terminal.
type pinWatcher struct {
	files   PinFiles
	servers []upstream.Server
	log     *slog.Logger

	mu      sync.Mutex
	checked time.Time
	stamps  [2]fileStamp
	pins    *hostfns.Pins
}

// fileStamp is the size and the time of a file. A missing file has the zero
// stamp.
type fileStamp struct {
	size int64
	time time.Time
}

func (w *pinWatcher) newStamps() (out [2]fileStamp) {
	for i, path := range []string{w.files.User, w.files.Lock} {
		if info, err := os.Stat(path); err == nil {
			out[i] = fileStamp{info.Size(), info.ModTime()}
		}
	}
	return out
}

// pinInterval is how often the files are checked.
const pinInterval = time.Second

// read reads the files.
func (w *pinWatcher) read() error {
	w.stamps = w.newStamps()
	w.checked = time.Now()
	list, err := readPins(w.files, w.servers)
	if err != nil {
		return err
	}
	w.pins = hostfns.NewPins(list)
	return nil
}

// current returns the pins. If the files cannot be read any more the last pins
// stay.
func (w *pinWatcher) current() *hostfns.Pins {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.checked) < pinInterval {
		return w.pins
	}
	w.checked = time.Now()
	if w.stamps == w.newStamps() {
		return w.pins
	}
	if err := w.read(); err != nil && w.log != nil {
		w.log.Error("cannot read the pins again", "error", err)
	}
	return w.pins
}
