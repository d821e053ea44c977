package hostfns

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
)

// Learned keeps what the answers of tools look like that declare no type of
// their own, by server and version of the server: names of fields and types,
// never a value. Several tables may share one. It is safe for concurrent use.
type Learned struct {
	dir string

	mu      sync.Mutex
	servers map[serverVersion]*learnedServer
	saved   time.Time
	changed bool
}

type serverVersion struct{ server, version string }

// learnedServer is what is known of one version of a server. It is read from
// its file when it is first needed.
type learnedServer struct {
	mu    sync.Mutex
	read  bool
	dirty bool
	tools map[string]*learnedTool
}

type learnedTool struct {
	observed catalogue.Observed
	schema   json.RawMessage // of observed
}

// Bounds of what is kept.
const (
	maxLearnedServers = 1000
	maxLearnedTools   = 2000 // of a server
	maxLearnedFile    = 8 << 20
	maxLearnedAnswer  = 8 << 20 // a larger answer is not looked at
	learnedSpan       = 10 * time.Second
	learnedAge        = 90 * 24 * time.Hour // of files that nobody wrote to any more
)

// NewLearned makes one that keeps its files in a folder; "" keeps everything in
// memory.
func NewLearned(dir string) *Learned {
	return &Learned{dir: dir, servers: map[serverVersion]*learnedServer{}, saved: time.Now()}
}

// Of is the type of a tool's answers as a JSON Schema; nil where nothing was
// observed, or where l is nil.
func (l *Learned) Of(tool catalogue.Tool) json.RawMessage {
	s := l.server(tool, false)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tools[tool.Name]; t != nil {
		return t.schema
	}
	return nil
}

// Observe takes an answer into account, as the program got it. An answer that
// is no JSON and no text says nothing.
func (l *Learned) Observe(tool catalogue.Tool, a Answer) {
	if l == nil || len(tool.OutputSchema) > 0 || a.Kind != JSON && a.Kind != Text || len(a.Data) > maxLearnedAnswer {
		return
	}
	s := l.server(tool, true)
	if s == nil {
		return
	}
	fresh := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		t := s.tools[tool.Name]
		if t == nil {
			if len(s.tools) >= maxLearnedTools {
				return false
			}
			t = &learnedTool{}
			s.tools[tool.Name] = t
		}
		if a.Kind == Text && !t.observed.AddText() || a.Kind == JSON && !t.observed.Add(a.Data) {
			return false
		}
		t.schema, s.dirty = t.observed.Schema(), true
		return true
	}()
	if !fresh {
		return
	}
	l.mu.Lock()
	l.changed = true
	due := time.Since(l.saved) > learnedSpan
	l.mu.Unlock()
	if due {
		_ = l.Save() // the next one tries again
	}
}

// server is what is known of a tool's server, read where it is on disk.
func (l *Learned) server(tool catalogue.Tool, make bool) *learnedServer {
	if l == nil {
		return nil
	}
	key := serverVersion{tool.Server, tool.Version}
	l.mu.Lock()
	s := l.servers[key]
	if s == nil {
		if len(l.servers) >= maxLearnedServers {
			l.mu.Unlock()
			return nil
		}
		s = &learnedServer{tools: map[string]*learnedTool{}}
		l.servers[key] = s
	}
	l.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read {
		s.read = true
		s.take(l.load(key))
	}
	if !make && len(s.tools) == 0 {
		return nil
	}
	return s
}

// take merges what was read into what is known.
func (s *learnedServer) take(read map[string]*catalogue.Observed) {
	for name, o := range read {
		t := s.tools[name]
		if t == nil {
			if len(s.tools) >= maxLearnedTools {
				continue
			}
			t = &learnedTool{}
			s.tools[name] = t
		}
		if o != nil {
			t.observed.Merge(o)
			t.schema = t.observed.Schema()
		}
	}
}

// learnedFile is what stands on disk.
type learnedFile struct {
	Server  string                         `json:"server"`
	Version string                         `json:"version,omitempty"`
	Tools   map[string]*catalogue.Observed `json:"tools"`
}

func (l *Learned) file(key serverVersion) string {
	sum := sha256.Sum256([]byte(key.server + "\x00" + key.version))
	name := catalogue.Identifier(key.server)
	return filepath.Join(l.dir, name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:8])+".json")
}

// load reads a server's file. One that cannot be read says nothing.
func (l *Learned) load(key serverVersion) map[string]*catalogue.Observed {
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

// Save writes what is new to the folder. What another process wrote in the
// meantime is merged. Without a folder it does nothing.
func (l *Learned) Save() error {
	if l == nil || l.dir == "" {
		return nil
	}
	l.mu.Lock()
	changed, servers := l.changed, make(map[serverVersion]*learnedServer, len(l.servers))
	for k, s := range l.servers {
		servers[k] = s
	}
	l.saved, l.changed = time.Now(), false
	l.mu.Unlock()
	if !changed {
		return nil
	}
	var errs []error
	for key, s := range servers {
		errs = append(errs, l.saveServer(key, s))
	}
	l.forget()
	return errors.Join(errs...)
}

func (l *Learned) saveServer(key serverVersion, s *learnedServer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty {
		return nil
	}
	s.take(l.load(key))
	out := learnedFile{Server: key.server, Version: key.version, Tools: map[string]*catalogue.Observed{}}
	for name, t := range s.tools {
		out.Tools[name] = &t.observed
	}
	data, err := json.Marshal(out)
	if err != nil || len(data) > maxLearnedFile {
		return err
	}
	if err := writeWhole(l.file(key), data); err != nil {
		return err
	}
	s.dirty = false
	return nil
}

// forget removes the files of versions that are long gone.
func (l *Learned) forget() {
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

// writeWhole writes a file that nobody sees half of.
func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if removed := os.Remove(f.Name()); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// observing is what declarations ask for types that no server declares.
func (t *Table) observing() func(catalogue.Tool) json.RawMessage {
	if t.options.Learned == nil {
		return nil
	}
	return t.options.Learned.Of
}
