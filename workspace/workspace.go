// Package workspace puts a layer over a folder. Programs read through the layer to
// the folder, the base; what they write, move and delete stays in the layer until a
// person accepts it into the base or rejects it.
//
// The layer is a folder of files and a log of its names, so a process that dies loses
// nothing that a program wrote. Nothing outside the base is reachable: links are kept
// as they are and followed below the base only.
package workspace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
)

// Bounds of a workspace.
const (
	MaxFile  = 10_000_000    // bytes of a file that is read or written
	maxBytes = 1_000_000_000 // of all files of the layer
	maxNames = 100_000       // names that the layer has, or that are in one folder
	maxLog   = 64 << 20      // bytes
	maxLinks = 20            // links in a path
	maxWords = 10_000        // bytes of a summary
)

// State is how far a workspace is.
type State string

// The states of a workspace.
const (
	Active   State = "open"
	Accepted State = "accepted"
	Rejected State = "rejected"
	Damaged  State = "damaged" // its description cannot be read
)

// Info describes a workspace.
type Info struct {
	ID      string    `json:"id"`
	Base    string    `json:"base"`             // absolute path of the folder below
	Folder  string    `json:"folder,omitempty"` // its name on a server
	State   State     `json:"state"`
	Actor   string    `json:"actor,omitempty"`
	Run     string    `json:"run,omitempty"` // the last one that used it
	Created time.Time `json:"created"`
	Summary string    `json:"summary,omitempty"` // what its program said it did
	Changed int       `json:"changed"`           // paths that differ from the base, as of the end of the last run
}

// Options configure a [Workspace].
type Options struct {
	// Never reports whether a path below the base is out of reach: it can neither be
	// read nor changed. info is nil if the base does not have it.
	Never func(name string, info fs.FileInfo) bool
}

// Workspace is an open layer. Its methods may be called concurrently. One process at a
// time can open it.
type Workspace struct {
	o     Options
	dir   string
	files *os.Root // dir: a link that is put into it leads nowhere
	base  *os.Root

	mu      sync.Mutex
	info    Info
	root    *node
	was     map[string]seen // what the base had, by path
	names   int             // of nodes
	lock    *os.File
	log     *os.File
	logged  int64 // bytes
	bytes   int64 // of the content folder
	content int64 // number of the last file in the content folder
}

// seen is what the base had at a path when a program first changed or hid it. An
// accept compares it with what the base has then.
type seen struct {
	state   state
	content string // a copy in the content folder, for a merge; empty: none
}

// Files in the folder of a workspace.
const (
	infoName    = "workspace.json"
	lockName    = "lock"
	logName     = "names.log"
	contentName = "content"
	planName    = "accept.json"
	undoName    = "undo"
)

// state describes what the base has at a path: "nothing", "folder", "link TARGET",
// "file DIGEST MODE", and "large SIZE-TIME MODE" of a file that is too large to read.
type state string

// kind is what a node is.
type kind string

const (
	folder kind = "folder"
	file   kind = "file"
	link   kind = "link"
	gone   kind = "gone" // deleted: the base does not show through
)

// node is a name that the layer has: it changed, or something below it did.
type node struct {
	kind     kind
	lower    string           // path in the base that shows through; empty: none does
	children map[string]*node // of a folder
	content  string           // of a file: its name in the content folder; empty: lower has it
	target   string           // of a link
	mode     fs.FileMode      // permissions; 0: those of lower
}

func newRoot() *node { return &node{kind: folder, lower: "."} }

// Errors of files, in addition to those of package fs.
var (
	ErrTooLarge  = errors.New("the file is larger than 10 MB") // see [MaxFile]
	ErrFull      = errors.New("the files of the workspace are larger than 1 GB")
	ErrTooMany   = errors.New("the workspace has too many names")
	ErrNotFolder = errors.New("not a folder")
	ErrIsFolder  = errors.New("is a folder")
	ErrNotEmpty  = errors.New("the folder is not empty")
	ErrLoop      = errors.New("too many links")
)

// active fails unless the workspace can be used.
func (w *Workspace) active() error {
	if w.info.State != Active {
		return fault.New(fault.UsageWorkspace, "the workspace %s is %s already", w.info.ID, w.info.State)
	}
	if w.log == nil {
		return fs.ErrClosed
	}
	return nil
}

// Read returns what is known of the workspace in dir.
func Read(dir string) (Info, error) {
	var info Info
	data, err := os.ReadFile(filepath.Join(dir, infoName))
	if errors.Is(err, fs.ErrNotExist) {
		return info, fault.New(fault.UsageWorkspace, "there is no workspace %.60q", filepath.Base(dir)).WithHint("list them with wexec workspace list")
	}
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	if err != nil {
		return info, fault.New(fault.UsageWorkspace, "read the workspace %.60q: %w", filepath.Base(dir), err)
	}
	return info, nil
}

func writeInfo(dir string, info Info) error {
	data, err := json.MarshalIndent(info, "", "  ")
	if err == nil {
		err = atomicfile.WriteFunc(filepath.Join(dir, infoName), 0o600, func(f *os.File) error {
			_, err := f.Write(data)
			return errors.Join(err, f.Sync())
		})
	}
	if err != nil {
		return fault.New(fault.UsageWorkspace, "write the workspace: %w", err)
	}
	return nil
}

// Info describes the workspace.
func (w *Workspace) Info() Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.info
}

// contentPath returns where content is in the folder of a workspace.
func contentPath(name string) string { return path.Join(contentName, name) }

// tempPrefix starts the names of files that are being written.
const tempPrefix = ".wexec-"

// isProtected reports whether a path must not change.
func (w *Workspace) isProtected(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if IsVersionControl(part) || strings.HasPrefix(part, tempPrefix) {
			return true
		}
	}
	return w.o.Never != nil && w.o.Never(name, nil)
}

// IsVersionControl reports whether a file system may take a name for .git: some
// ignore case, some drop dots and spaces at the end, some ignore characters of zero
// width, and some have short names.
func IsVersionControl(part string) bool {
	plain := strings.Map(func(r rune) rune {
		if r == 0x200b || r == 0x200c || r == 0x200d || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, part)
	plain, _, _ = strings.Cut(plain, ":") // a stream of a file on Windows
	plain = strings.ToLower(strings.TrimRight(plain, ". "))
	return plain == ".git" || plain == "git~1"
}
