package hostfns

import (
	"io"
	"io/fs"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/fault"
)

// Filer is a [Provider] that also gives programs files. A table uses the first.
type Filer interface {
	// Mount makes the file system of one run, with "/" as its root.
	Mount(m Mount) (sys.FS, io.Closer, error)
}

// Mount describes the file system of a run.
type Mount struct {
	Gate Gate
	Root string // folder of the host seen as /app; empty: none
	Dir  string // folder that relative paths start from; empty: none
	// Packages is the folder of the host seen as /packages; empty: none.
	Packages string
	Read     []string
	Write    []string // literal prefixes of the paths that the policy grants: absolute, of the host
	// Catalogue returns the tree seen as /mcp-servers, as it is now. It is called
	// for each access and may start servers.
	Catalogue func() fs.FS
	// Memory is the size of /tmp in bytes.
	Memory int64
	// Now returns the time of new files in /tmp; nil is the real time.
	Now func() time.Time
}

// maxScratch is the memory of the host that /tmp of a run may take.
const maxScratch = 128 << 20

// FS returns the file system of the run, for a mount at "/": /tmp, /mcp-servers,
// /app and what the policy grants. It is nil if no provider gives files. Every
// call returns the same one.
func (r *Run) FS() (sys.FS, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	filer := r.table.filer()
	if r.fs != nil || r.closed || filer == nil {
		return r.fs, nil
	}
	m := Mount{
		Gate: &gate{run: r, tool: "wexec:files"}, Root: r.info.Root, Dir: r.info.Dir, Packages: r.info.Packages,
		Catalogue: r.toolFiles, Memory: min(r.limits.Memory, r.limits.HostBytes, maxScratch), Now: r.backend.fileTime(),
	}
	granted := r.table.policy.Files()
	for _, root := range granted.Read {
		m.Read = append(m.Read, root.Path)
	}
	for _, root := range granted.Write {
		m.Write = append(m.Write, root.Path)
	}
	made, closer, err := filer.Mount(m)
	if err != nil {
		return nil, fault.New(fault.UsageFile, "open the files of the policy: %w", err)
	}
	r.fs, r.files = made, closer
	return made, nil
}

// startTime returns a clock that stands still at the start of the run.
func (r *Run) startTime() func() time.Time {
	start := r.info.Start.Clock
	if start.IsZero() {
		start = time.Unix(0, 0)
	}
	return func() time.Time { return start }
}

// toolFiles returns the catalogue as files. It follows changes of the tools,
// except in a deterministic run.
func (r *Run) toolFiles() fs.FS {
	changes := r.table.changes.Load()
	r.mu.Lock()
	made, of := r.tree, r.treeOf
	r.mu.Unlock()
	if made != nil && (of == changes || r.facts.Deterministic) {
		return made
	}
	made = r.catalogue(r.ctx).Tree()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tree, r.treeOf = made, changes
	return made
}

// filer returns the first provider of files, or nil.
func (t *Table) filer() Filer {
	for _, p := range t.providers {
		if f, ok := p.(Filer); ok {
			return f
		}
	}
	return nil
}
