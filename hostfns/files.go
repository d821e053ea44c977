package hostfns

import (
	"io"
	"io/fs"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/fault"
)

// Filer is a provider that gives programs files. A table has at most one; the
// first is asked.
type Filer interface {
	// Mount makes the file system of one run, with "/" as its root.
	Mount(m Mount) (sys.FS, io.Closer, error)
}

// maxScratch bounds what /tmp of a run holds in the host's memory.
const maxScratch = 128 << 20

// Mount is what the file system of a run is made of.
type Mount struct {
	Gate Gate
	Root string // folder of the host seen as /app; empty: none
	Dir  string // folder that relative paths start from; empty: none
	// Packages is the folder of the host seen as /packages; empty: none.
	Packages string
	Read     []string
	Write    []string // literal starts of what the policy grants: absolute, of the host
	// Catalogue gives the tree seen as /mcp-servers, as it is at this moment. It
	// may start servers, and is called on each look.
	Catalogue func() fs.FS
	// Memory bounds what /tmp holds, in bytes.
	Memory int64
	// Now is the time that files of /tmp get; nil is the real one.
	Now func() time.Time
}

// FS is the file system of the run, for a mount at "/": /tmp, /mcp-servers,
// /app and what the policy grants. It is nil where the table has no provider
// of files. Every call gives the same one.
func (r *Run) FS() (sys.FS, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fs != nil || r.closed {
		return r.fs, nil
	}
	if f := r.table.filer(); f != nil {
		m := Mount{
			Gate: &gate{run: r, tool: "wexec:files"}, Root: r.info.Root, Dir: r.info.Dir, Packages: r.info.Packages,
			Catalogue: r.toolFiles,
			Memory:    min(r.limits.Memory, r.limits.HostBytes, maxScratch),
		}
		if r.facts.Deterministic || r.table.recording != nil {
			start := r.info.Start.Clock
			if start.IsZero() {
				start = time.Unix(0, 0)
			}
			m.Now = func() time.Time { return start }
		}
		granted := r.table.policy.Files()
		for _, root := range granted.Read {
			m.Read = append(m.Read, root.Path)
		}
		for _, root := range granted.Write {
			m.Write = append(m.Write, root.Path)
		}
		made, closer, err := f.Mount(m)
		if err != nil {
			return nil, fault.New(fault.UsageFile, "the files of the policy cannot be opened: %w", err)
		}
		r.fs, r.files = made, closer
		return made, nil
	}
	return nil, nil
}

// toolFiles is the catalogue as files. It is made anew when a server has said
// that its tools changed; a run that is to be the same every time keeps the
// first.
func (r *Run) toolFiles() fs.FS {
	said := r.table.changes.Load()
	r.mu.Lock()
	made, of := r.tree, r.treeOf
	r.mu.Unlock()
	if made != nil && (of == said || r.facts.Deterministic) {
		return made
	}
	made = r.visible(r.ctx).Tree()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tree, r.treeOf = made, said
	return made
}

// filer is the table's provider of files, or nil.
func (t *Table) filer() Filer {
	for _, p := range t.all {
		if f, ok := p.(Filer); ok {
			return f
		}
	}
	return nil
}
