package artifacts

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/privacy"
)

// Artifact describes content that is kept.
type Artifact struct {
	ID    string `json:"artifact" jsonschema:"sha256: and 64 hexadecimal digits"`
	Name  string `json:"name"`
	Type  string `json:"type"`
	Bytes int64  `json:"bytes"`
}

// Content is the content of an artifact. Close it.
type Content struct {
	Artifact
	io.ReaderAt
	io.Closer
	Text  bool   // it is read by lines
	Pages []byte // where the lines are
	Kept  bool   // a run put it, with tokens in the places of values
	// Values returns the values of these tokens, of which there are ValueBytes.
	Values     func() ([]privacy.Issued, error)
	ValueBytes int64
}

// Each reads the pages of a text from the one that has a line, until yield returns
// false. A page has the number of its first line and how many lines begin in it.
func (c *Content) Each(ctx context.Context, line int, yield func(first, lines int, text string) (more bool, err error)) error {
	pages, err := pagesOf(c.Pages)
	if err != nil {
		return err
	}
	buf := make([]byte, pageSize)
	for _, p := range pages {
		if p.line+p.lines <= line {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if n, err := c.ReadAt(buf[:p.size], p.at); n < p.size {
			return fault.New(fault.StoreUnavailable, "read the artifact %s: %w", c.ID, err)
		}
		if more, err := yield(p.line, p.lines, strings.ToValidUTF8(string(buf[:p.size]), "\uFFFD")); err != nil || !more {
			return err
		}
	}
	return nil
}

// Query selects lines of a text.
type Query struct {
	From  int    `json:"from"`  // the number of the first line, from 1
	Lines int    `json:"lines"` // how many at most; 0 is 1,000
	Match string `json:"match"` // only those that match this regular expression, in RE2 syntax
	Most  int    `json:"-"`     // bytes of the answer; 0 is 1 MiB
}

// Page is the lines that a [Query] selects.
type Page struct {
	Artifact
	Total   int     `json:"lines" jsonschema:"how many lines the whole text has; a line longer than 64 KiB counts as several"`
	From    int     `json:"from" jsonschema:"the line at which the search began"`
	Text    string  `json:"text" jsonschema:"the lines; empty with match"`
	Matches []Match `json:"matches,omitzero" jsonschema:"the lines that match"`
	Next    int     `json:"next,omitempty" jsonschema:"from of the next page; absent at the end"`
}

// Match is a line that matches.
type Match struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Bounds of a query.
const (
	defaultLines  = 1000
	defaultAnswer = 1 << 20
	maxPattern    = 500
	maxSteps      = 1000
	stepsPerByte  = 64      // of a pattern that cost as much as reading a byte
	maxSearch     = 8 << 20 // cost of a query
)

// pattern is a regular expression and what it costs to search a byte.
type pattern struct {
	*regexp.Regexp
	cost int
}

// compile compiles a pattern of bounded size. The search takes linear time.
func compile(text string) (p pattern, err error) {
	invalid := func(why string) error {
		return fault.New(fault.UsageFlag, "invalid pattern: %s", why).WithHint("use a regular expression in RE2 syntax, such as (?i)error|warning")
	}
	if len(text) > maxPattern {
		return p, invalid("it is too long")
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return p, invalid(err.Error())
	}
	steps := stepsOf(tree)
	if steps > maxSteps {
		return p, invalid("it repeats too much")
	}
	p.cost = 1 + steps/stepsPerByte
	if p.Regexp, err = regexp.Compile(text); err != nil {
		return p, invalid(err.Error())
	}
	return p, nil
}

// stepsOf returns about how many instructions a pattern has, or more than maxSteps.
func stepsOf(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		n = 1
	}
	for _, sub := range re.Sub {
		n += stepsOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min+1, re.Max, 1)
	}
	return min(n, maxSteps+1)
}

// Read returns the lines that a query selects, with tokens instead of values. Pages are
// covered before they are searched, so that a pattern finds no value. The cost is spent
// before a page is read; a query that would cost too much ends with Next. The work
// waits for a core, page by page.
func (c *Content) Read(ctx context.Context, q Query, cover *hostfns.Cover, spend func(cost int64) error) (Page, error) {
	q.From, q.Lines, q.Most = max(q.From, 1), cmp.Or(max(q.Lines, 0), defaultLines), cmp.Or(q.Most, defaultAnswer)
	page := Page{Artifact: c.Artifact, From: q.From}
	pages, err := pagesOf(c.Pages)
	if err != nil {
		return page, err
	}
	if n := len(pages); n > 0 {
		page.Total = pages[n-1].line + pages[n-1].lines - 1
	}
	s := search{query: q, page: &page}
	if q.Match != "" {
		if s.match, err = compile(q.Match); err != nil {
			return page, err
		}
		page.Matches = []Match{}
	}
	spent := 0
	err = c.Each(ctx, q.From, func(first, lines int, covered string) (bool, error) {
		cost := len(covered) * max(s.match.cost, 1)
		if spent += cost; spent > maxSearch && spent > cost {
			page.Next = first
			return false, nil
		}
		if err := spend(int64(cost)); err != nil {
			return false, err
		}
		leave, err := cover.Enter(ctx)
		if err != nil {
			return false, err
		}
		defer leave()
		if covered, err = cover.Text(ctx, covered); err != nil {
			return false, err
		}
		return s.lines(ctx, first, []byte(covered))
	})
	if page.Next > page.Total {
		page.Next = 0
	}
	if s.match.Regexp == nil {
		page.Text = s.text.String()
	}
	return page, err
}

// search collects the lines of a page.
type search struct {
	query Query
	match pattern
	page  *Page
	text  strings.Builder
	found int
	size  int
}

// lines adds the lines of a part of the text, and reports whether there is room for
// more.
func (s *search) lines(ctx context.Context, first int, rest []byte) (more bool, err error) {
	for line := first; len(rest) > 0; line++ {
		one := rest
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			one = rest[:end+1]
		}
		rest = rest[len(one):]
		if line < s.query.From {
			continue
		}
		if s.match.Regexp != nil {
			if found, err := text.Match(ctx, s.match.Regexp, bytes.TrimSuffix(one, []byte("\n"))); err != nil {
				return false, err
			} else if !found {
				continue
			}
		}
		if s.found >= s.query.Lines || s.size+len(one) > s.query.Most && s.found > 0 {
			s.page.Next = line
			return false, nil
		}
		s.found++
		s.size += len(one)
		if s.match.Regexp != nil {
			s.page.Matches = append(s.page.Matches, Match{line, string(bytes.TrimSuffix(one, []byte("\n")))})
		} else {
			s.text.Write(one)
		}
	}
	return true, nil
}
