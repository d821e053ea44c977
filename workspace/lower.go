package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// place is a name in an open folder of the base.
type place struct {
	folder *os.Root
	owned  bool // folder is to be closed
	name   string
}

func (p place) done() {
	if p.owned {
		_ = p.folder.Close()
	}
}

// at opens the folder that a path of the base is in, one folder at a time, and fails if
// one of them is a link, so that one that is put there meanwhile leads no access
// elsewhere.
func (w *Workspace) at(name string) (place, error) {
	p := place{folder: w.base}
	parts := strings.Split(name, "/")
	for _, part := range parts[:len(parts)-1] {
		next, err := openFolder(p.folder, part)
		p.done()
		if err != nil {
			return place{}, err
		}
		p = place{folder: next, owned: true}
	}
	p.name = parts[len(parts)-1]
	return p, nil
}

// openFolder opens a folder that is not a link.
func openFolder(in *os.Root, name string) (*os.Root, error) {
	info, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, ErrNotFolder
	}
	next, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if got, err := next.Lstat("."); err != nil || !os.SameFile(info, got) {
		_ = next.Close()
		return nil, ErrNotFolder
	}
	return next, nil
}

// lstat describes a name of the base, or returns nil if the base does not have it.
func (w *Workspace) lstat(name string) (fs.FileInfo, error) {
	p, err := w.at(name)
	var info fs.FileInfo
	if err == nil {
		defer p.done()
		info, err = p.folder.Lstat(p.name)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNotFolder) {
		return nil, nil
	}
	return info, err
}

// openBase opens a regular file of the base.
func (w *Workspace) openBase(name string) (*os.File, error) {
	p, err := w.at(name)
	if err != nil {
		return nil, err
	}
	defer p.done()
	info, err := p.folder.Lstat(p.name)
	if err != nil {
		return nil, err
	}
	f, err := p.folder.OpenFile(p.name, os.O_RDONLY|nonblock, 0) // a pipe that replaced it does not block
	if err != nil {
		return nil, err
	}
	if got, err := f.Stat(); err != nil || !got.Mode().IsRegular() || !os.SameFile(info, got) {
		_ = f.Close()
		return nil, fs.ErrPermission
	}
	return f, nil
}

// readLink returns where a link of the base leads.
func (w *Workspace) readLink(name string) (string, error) {
	p, err := w.at(name)
	if err != nil {
		return "", err
	}
	defer p.done()
	target, err := p.folder.Readlink(p.name)
	return filepath.ToSlash(target), err
}

// readBase describes what is in a folder of the base.
func (w *Workspace) readBase(name string) ([]fs.FileInfo, error) {
	folder := w.base
	if name != "." {
		p, err := w.at(name)
		if err != nil {
			return nil, err
		}
		defer p.done()
		if folder, err = openFolder(p.folder, p.name); err != nil {
			return nil, err
		}
		defer folder.Close()
	}
	d, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxNames + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxNames {
		return nil, ErrTooMany
	}
	infos := make([]fs.FileInfo, 0, len(names))
	for _, name := range names {
		info, err := folder.Lstat(name)
		switch {
		case err == nil:
			infos = append(infos, info)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return infos, nil
}

// kindOf returns the kind of a file of the base; "" is one that programs do not see.
func kindOf(info fs.FileInfo) kind {
	switch {
	case info == nil:
	case info.IsDir():
		return folder
	case info.Mode()&fs.ModeSymlink != 0:
		return link
	case info.Mode().IsRegular():
		return file
	}
	return ""
}

const nothing state = "nothing"

func fileState(data []byte, mode fs.FileMode) state {
	sum := sha256.Sum256(data)
	return state(fmt.Sprintf("file %s %o", hex.EncodeToString(sum[:]), mode.Perm()))
}

func linkState(target string) state { return state("link " + target) }

// kind returns the first word.
func (s state) kind() string {
	first, _, _ := strings.Cut(string(s), " ")
	return first
}

// target returns where a link leads.
func (s state) target() string { return strings.TrimPrefix(string(s), "link ") }

// content returns the state of a file without its permissions.
func (s state) content() string { return string(s[:max(strings.LastIndexByte(string(s), ' '), 0)]) }

// mode returns the permissions of a file.
func (s state) mode() fs.FileMode {
	mode, err := strconv.ParseUint(string(s[strings.LastIndexByte(string(s), ' ')+1:]), 8, 32)
	if err != nil {
		return 0
	}
	return fs.FileMode(mode).Perm()
}

// look describes a path of the base.
func (w *Workspace) look(name string) (state, error) {
	info, err := w.lstat(name)
	if err != nil {
		return "", err
	}
	switch kindOf(info) {
	case folder:
		return "folder", nil
	case link:
		target, err := w.readLink(name)
		return linkState(target), err
	case file:
		if info.Size() > MaxFile {
			return state(fmt.Sprintf("large %d-%d %o", info.Size(), info.ModTime().UnixNano(), info.Mode().Perm())), nil
		}
		data, err := readAll(w.openBase(name))
		return fileState(data, info.Mode()), err
	}
	if info == nil {
		return nothing, nil
	}
	return "other", nil
}

// readAll reads a file that has at most MaxFile bytes.
func readAll(f *os.File, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = ErrTooLarge
	}
	return data, err
}
