package config

import (
	"log/slog"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/hostfns/upstream"
)

// seenTools remembers since when servers define their tools as they do now. Its file is
// in the state folder; without one it remembers for the process.
type seenTools struct {
	path string
	log  *slog.Logger

	mu    sync.Mutex
	last  *catalogue.Catalogue
	files map[string]map[string]seenTool // by the file that configures the server, and tool
	since map[string]time.Time           // of the last catalogue
}

// seenTool is a definition. Since is zero for those that a server had when it was first
// listed: a person has just configured it.
type seenTool struct {
	SHA256 string    `json:"sha256"`
	Since  time.Time `json:"since,omitzero"`
}

// at returns since when the tools of servers are defined as they are, by server.tool.
// A tool that was there when its server was first listed is missing.
func (s *seenTools) at(c *catalogue.Catalogue, servers []upstream.Server, now time.Time) map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == c {
		return s.since
	}
	if s.path != "" || s.files == nil { // another process may have seen more
		files := map[string]map[string]seenTool{}
		if err := readJSON(s.path, &files, "when tools were first seen", "remove the file"); err != nil && s.log != nil {
			s.log.Warn("cannot tell which tools are new", "error", err)
		}
		s.files = files
	}
	since, changed := map[string]time.Time{}, false
	for _, server := range servers {
		tools := c.ServerTools(server.Name)
		if len(tools) == 0 {
			continue // it may be down
		}
		file := configFile(server)
		known := s.files[file]
		if known == nil {
			known = map[string]seenTool{}
			s.files[file] = known
		}
		first := true
		for id := range known {
			first = first && !isToolOf(id, server.Name)
		}
		listed := map[string]bool{}
		for _, t := range tools {
			id, one := t.ID(), seenTool{SHA256: t.DefinitionSHA256()}
			listed[id] = true
			before, ok := known[id]
			switch {
			case ok && before.SHA256 == one.SHA256:
				one = before
			case !first:
				one.Since = now
			}
			changed = changed || !ok || before != one
			known[id] = one
			if !one.Since.IsZero() {
				since[id] = one.Since
			}
		}
		for id := range known {
			if isToolOf(id, server.Name) && !listed[id] {
				delete(known, id)
				changed = true
			}
		}
	}
	s.last, s.since = c, since
	if changed && s.path != "" {
		if err := writeJSON(s.path, s.files, 0o600); err != nil && s.log != nil {
			s.log.Warn("cannot keep which tools are new", "error", err)
		}
	}
	return since
}
