package hostfns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/atomicfile"
)

// Learned keeps the types of answers of tools that declare no output schema, by
// server and version of the server: names of fields and types, never a value.
// Several tables may share one. The nil Learned learns nothing. A Learned is safe
// for concurrent use.
type Learned struct {
	dir string

	mu      sync.Mutex
	servers map[serverVersion]*learnedServer
	saved   time.Time

	saving sync.Mutex // held by Save
}

type serverVersion struct{ server, version string }

// learnedServer is what is known of one version of a server.
type learnedServer struct {
	tools map[string]*learnedTool
	dirty bool // not saved
}

type learnedTool struct {
	typ    catalogue.LearnedType
	schema json.RawMessage // of typ
}

const (
	maxLearnedServers = 1000
	maxLearnedTools   = 2000 // of a server
	maxLearnedFile    = 8 << 20
	maxLearnedAnswer  = 8 << 20             // larger answers are ignored
	learnedInterval   = 10 * time.Second    // between writes
	learnedAge        = 90 * 24 * time.Hour // of files that are deleted
)

// NewLearned returns a Learned that keeps its files in a directory, or only in
// memory if dir is empty.
func NewLearned(dir string) *Learned {
	return &Learned{dir: dir, servers: map[serverVersion]*learnedServer{}, saved: time.Now()}
}

// Of returns the type of a tool's answers as a JSON Schema, or nil if it is not
// known.
func (l *Learned) Of(tool catalogue.Tool) json.RawMessage {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.server(tool); s != nil && s.tools[tool.Name] != nil {
		return s.tools[tool.Name].schema
	}
	return nil
}

// Observe learns from an answer, as the program received it. It ignores answers
// that are neither JSON nor text.
func (l *Learned) Observe(tool catalogue.Tool, a Answer) {
	if l == nil || len(tool.OutputSchema) > 0 || a.Kind != JSON && a.Kind != Text || len(a.Data) > maxLearnedAnswer {
		return
	}
	if l.observe(tool, a) {
		_ = l.Save() // if it fails, the next one retries
	}
}

// observe reports whether it is time to save.
func (l *Learned) observe(tool catalogue.Tool, a Answer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.server(tool)
	if s == nil {
		return false
	}
	t := s.tool(tool.Name)
	if t == nil || a.Kind == Text && !t.typ.AddText() || a.Kind == JSON && !t.typ.Add(a.Data) {
		return false
	}
	t.schema, s.dirty = t.typ.Schema(), true
	return time.Since(l.saved) > learnedInterval
}

// server returns what is known of a tool's server. It reads the file of the
// server on first use, and returns nil if there are too many servers.
func (l *Learned) server(tool catalogue.Tool) *learnedServer {
	key := serverVersion{tool.Server, tool.Version}
	s := l.servers[key]
	if s == nil && len(l.servers) < maxLearnedServers {
		s = &learnedServer{tools: map[string]*learnedTool{}}
		s.merge(l.load(key))
		l.servers[key] = s
	}
	return s
}

// tool returns what is known of a tool, or nil if there are too many tools.
func (s *learnedServer) tool(name string) *learnedTool {
	t := s.tools[name]
	if t == nil && len(s.tools) < maxLearnedTools {
		t = &learnedTool{}
		s.tools[name] = t
	}
	return t
}

func (s *learnedServer) merge(read map[string]*catalogue.LearnedType) {
	for name, typ := range read {
		if t := s.tool(name); t != nil && typ != nil {
			t.typ.Merge(typ)
			t.schema = t.typ.Schema()
		}
	}
}

// learnedFile is the file of a server.
type learnedFile struct {
	Server  string                            `json:"server"`
	Version string                            `json:"version,omitempty"`
	Tools   map[string]*catalogue.LearnedType `json:"tools"`
}

func (l *Learned) file(key serverVersion) string {
	sum := sha256.Sum256([]byte(key.server + "\x00" + key.version))
	name := catalogue.Identifier(key.server)
	return filepath.Join(l.dir, name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:8])+".json")
}

// load reads the file of a server. It ignores a file that cannot be read.
func (l *Learned) load(key serverVersion) map[string]*catalogue.LearnedType {
	if l.dir == "" {
		return nil
	}
	f, err := os.Open(l.file(key))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLearnedFile+1))
	var read learnedFile
	if err != nil || len(data) > maxLearnedFile || json.Unmarshal(data, &read) != nil || read.Server != key.server || read.Version != key.version {
		return nil
	}
	return read.Tools
}

// Save writes what is new to the directory, merged with what other processes
// wrote. Without a directory it does nothing.
func (l *Learned) Save() error {
	if l == nil || l.dir == "" {
		return nil
	}
	l.saving.Lock()
	defer l.saving.Unlock()
	var dirty []serverVersion
	l.mu.Lock()
	l.saved = time.Now()
	for key, s := range l.servers {
		if s.dirty {
			dirty = append(dirty, key)
		}
	}
	l.mu.Unlock()
	if len(dirty) == 0 {
		return nil
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	var errs []error
	for _, key := range dirty {
		errs = append(errs, l.save(key))
	}
	l.deleteOld()
	return errors.Join(errs...)
}

func (l *Learned) save(key serverVersion) error {
	read := l.load(key)
	l.mu.Lock()
	s := l.servers[key]
	s.merge(read)
	out := learnedFile{Server: key.server, Version: key.version, Tools: map[string]*catalogue.LearnedType{}}
	for name, t := range s.tools {
		out.Tools[name] = &t.typ
	}
	data, err := json.Marshal(out)
	s.dirty = false
	l.mu.Unlock()
	if err != nil || len(data) > maxLearnedFile {
		return err
	}
	if err = atomicfile.Write(l.file(key), data, 0o600); err != nil {
		l.mu.Lock()
		s.dirty = true
		l.mu.Unlock()
	}
	return err
}

// deleteOld deletes files that have not been written for a long time.
func (l *Learned) deleteOld() {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && filepath.Ext(e.Name()) == ".json" && info.Mode().IsRegular() && time.Since(info.ModTime()) > learnedAge {
			_ = os.Remove(filepath.Join(l.dir, e.Name()))
		}
	}
}
