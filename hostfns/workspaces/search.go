package workspaces

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/workspace"
)

// Bounds of a search. One that reaches a bound fails, so that a program never takes a
// part for the whole.
const (
	maxSeen    = 100_000 // files and folders
	maxFound   = 10_000  // files or lines
	maxAnswer  = 4 << 20 // bytes of text
	maxPattern = 1000    // bytes of a pattern or glob, and instructions of it
	maxShown   = 1000    // bytes of a line in an answer
	maxContext = 20      // lines before and after

	entryCost = 64 // bytes that an entry of a folder counts, in addition to its name
)

// search is one search in a workspace. Each file is decided before it is read.
type search struct {
	ctx   context.Context
	call  hostfns.Call
	w     *workspace.Workspace
	layer *files.Layer
	seen  int
}

// tooMuch returns a failure with a hint.
func tooMuch(format string, args ...any) error {
	return fault.New(fault.ToolTooLarge, format, args...).WithHint("search with a narrower glob or pattern")
}

// files finds files by a glob.
func (s *search) files(in struct {
	Glob string `json:"glob"`
}) ([]string, error) {
	found := []string{}
	done, err := s.call.Compute(s.ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return found, s.walk(in.Glob, func(name string) error {
		if len(found) == maxFound {
			return tooMuch("search_files: more than %d files match", maxFound)
		}
		found = append(found, path.Join(root, name))
		return nil
	})
}

// line is a line that matches.
type line struct {
	File   string   `json:"file"`
	Line   int      `json:"line"` // from 1
	Text   string   `json:"text"`
	Before []string `json:"before,omitempty"`
	After  []string `json:"after,omitempty"`
}

// content finds lines by a regular expression.
func (s *search) content(in struct {
	Pattern string `json:"pattern"`
	Glob    string `json:"glob"`
	Context int    `json:"context"`
}) ([]line, error) {
	if in.Context < 0 || in.Context > maxContext {
		return nil, fault.New(fault.ToolInvalidArgs, "search_content: context must be 0 to %d", maxContext)
	}
	pattern, err := compile(in.Pattern)
	if err != nil {
		return nil, fault.New(fault.ToolInvalidArgs, "search_content: %w", err)
	}
	done, err := s.call.Compute(s.ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	m := &matching{search: s, pattern: pattern, context: in.Context, found: []line{}}
	err = s.walk(cmp.Or(in.Glob, "**"), m.file)
	return m.found, err
}

// matching collects the lines that match.
type matching struct {
	*search
	pattern *regexp.Regexp
	context int
	found   []line
	size    int
}

// file searches a file. Its lines are not split in advance, since they can be many more
// than bytes that the run is charged for.
func (m *matching) file(name string) error {
	data, err := m.read(name)
	if err != nil || bytes.IndexByte(data[:min(len(data), 8<<10)], 0) >= 0 {
		return err // not a text
	}
	var before [][]byte
	for number := 1; len(data) > 0; number++ {
		var l []byte
		l, data, _ = bytes.Cut(data, []byte("\n"))
		matched, err := text.Match(m.ctx, m.pattern, bytes.TrimSuffix(l, []byte("\r")))
		if err != nil {
			return err
		}
		if matched {
			if err := m.add(name, number, l, before, data); err != nil {
				return err
			}
		}
		if m.context > 0 {
			if len(before) == m.context {
				before = append(before[:0], before[1:]...)
			}
			before = append(before, l)
		}
	}
	return nil
}

// add collects a line that matches, with the lines before it and those that follow.
func (m *matching) add(name string, number int, l []byte, before [][]byte, rest []byte) error {
	at := line{File: path.Join(root, name), Line: number, Text: shown(l)}
	m.size += len(at.File) + len(at.Text)
	for _, b := range before {
		at.Before = append(at.Before, shown(b))
		m.size += len(b)
	}
	for i := 0; i < m.context && len(rest) > 0; i++ {
		l, rest, _ = bytes.Cut(rest, []byte("\n"))
		at.After = append(at.After, shown(l))
		m.size += len(l)
	}
	if m.found = append(m.found, at); len(m.found) > maxFound || m.size > maxAnswer {
		return tooMuch("search_content: more than %d lines or %d MiB match", maxFound, maxAnswer>>20)
	}
	return nil
}

// read returns the content of a file that the policy allows to read, or nothing.
func (s *search) read(name string) ([]byte, error) {
	if err := s.layer.Decide(s.ctx, name, false, false, false); err != nil {
		return nil, endOf(s.ctx, err)
	}
	f, err := s.w.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, s.ctx.Err() // it is gone, or too large
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, workspace.MaxFile))
	if err != nil {
		return nil, err
	}
	return data, s.call.Gate.Count(int64(len(data)))
}

// endOf returns an error of the gate if it ends the run. What the policy denies is left
// out of a search.
func endOf(ctx context.Context, err error) error {
	if errors.As(err, new(*hostfns.Failure)) {
		return ctx.Err()
	}
	return err
}

// walk calls do with each file whose path matches a glob, in order. It follows no links
// and leaves out version control, and what the policy denies.
func (s *search) walk(glob string, do func(name string) error) error {
	matches, err := compileGlob(glob)
	if err != nil {
		return fault.New(fault.ToolInvalidArgs, "glob: %w", err)
	}
	if err := s.layer.Decide(s.ctx, ".", true, false, false); err != nil {
		return err
	}
	var folder func(dir string) error
	folder = func(dir string) error {
		entries, err := s.w.ReadDir(dir)
		if err != nil {
			return s.ctx.Err() // it is gone
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			if s.seen++; s.seen > maxSeen {
				return tooMuch("the search reaches more than %d files and folders", maxSeen)
			}
			if err := cmp.Or(s.ctx.Err(), s.call.Gate.Count(entryCost+int64(len(e.Name())))); err != nil {
				return err
			}
			if !e.IsDir() && (e.Mode()&fs.ModeSymlink != 0 || !matches.MatchString(name)) || workspace.IsVersionControl(e.Name()) {
				continue
			}
			if err := s.layer.Decide(s.ctx, name, e.IsDir(), false, true); err != nil {
				if err := endOf(s.ctx, err); err != nil {
					return err
				}
				continue
			}
			next := do
			if e.IsDir() {
				next = folder
			}
			if err := next(name); err != nil {
				return err
			}
		}
		return nil
	}
	return folder(".")
}

// shown returns a line as an answer has it.
func shown(l []byte) string {
	return text.Clip(strings.ToValidUTF8(string(bytes.TrimSuffix(l, []byte("\r"))), "\ufffd"), maxShown)
}

// compile compiles a pattern of bounded size. Patterns have no backtracking, so the time
// of a search grows with the text and the size of the pattern only.
func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, errors.New("the pattern is empty")
	}
	if len(pattern) > maxPattern {
		return nil, errors.New("the pattern is too long")
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxPattern {
		return nil, errors.New("the pattern is too large: its repetitions multiply")
	}
	return regexp.Compile(pattern)
}

// compileGlob returns the pattern of a glob. * and ? match within a name, ** matches any
// folders, {a,b} one of several and [ab] one character. A glob without / is for the
// name of a file in any folder.
func compileGlob(glob string) (*regexp.Regexp, error) {
	if glob = relative(glob); glob == "" || len(glob) > maxPattern {
		return nil, errors.New("the glob is empty or too long")
	}
	var b strings.Builder
	b.WriteString(`^`)
	if !strings.Contains(glob, "/") {
		b.WriteString(`(?:.*/)?`)
	}
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; {
		case strings.HasPrefix(glob[i:], "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '{':
			depth++
			b.WriteString(`(?:`)
		case c == ',' && depth > 0:
			b.WriteString(`|`)
		case c == '}' && depth > 0:
			depth--
			b.WriteString(`)`)
		case c == '[' && strings.IndexByte(glob[i+1:], ']') > 0:
			end := i + 1 + strings.IndexByte(glob[i+1:], ']')
			set, not := glob[i+1:end], ""
			if rest, ok := strings.CutPrefix(set, "!"); ok && rest != "" {
				set, not = rest, "^/"
			}
			b.WriteString(`[` + not + strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(set) + `]`)
			i = end
		default:
			_, size := utf8.DecodeRuneInString(glob[i:])
			b.WriteString(regexp.QuoteMeta(glob[i : i+size]))
			i += size - 1
		}
	}
	if depth > 0 {
		return nil, errors.New("a { is not closed")
	}
	return compile(b.String() + `$`)
}
