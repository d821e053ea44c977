package tests

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/token"
	"os/exec"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// phrase is a turn of phrase that messages, comments and documents avoid. What
// matches but is allowed where it is a plain use of the same words.
type phrase struct{ banned, but string }

// phrases are matched without regard to case, over text with single spaces.
var phrases = compile([]phrase{
	// Inverted and archaic.
	{`\b(is|are|was|were) none\b`, `\bthere (is|are|was|were) none|(?-i:\bis None\b)`}, // None is a value of Python
	{`\b\w+ is no \w+`, `there is no |is no (longer|more|match|help|tool|topic|such)\b`},
	{`\b(say|says|said|know|knows|knew) not\b`, ``},
	{`\b(stands?|stood)\b`, `\bstands? for\b`},
	{`\bwhere there (is|are|was) (one|none|any)\b`, ``},
	{`\bwhat (became|becomes) of\b`, ``},
	{`\bit is said\b`, ``},
	{`\bat hand\b`, ``},
	{`\banew\b`, ``},
	{`\b(be|is|are|were) had\b`, ``},
	{`\b(whoever|whereof|wherein|thereof|thereby|hitherto|whence|thence|hence|upon|shall|ought)\b`, ``},
	{`\bfor who\b`, ``},
	{`\bnone of (those|them|it|these|this)\b`, ``},
	{`\band no others?\b`, ``},
	{`\bsake\b`, ``},
	{`\b(sees|see) to it\b`, ``},
	{`\bin place of\b`, ``},
	{`\bmend(s|ed|ing)?\b`, ``},
	{`\b(says?|said|speaks?|spoke|told|tells?) of\b`, ``},
	// Ornaments.
	{`\bof (its|their|his|her|our|your|my) own\b`, ``},
	{`\bof (ours|theirs|yours)\b`, ``},
	{`\bbesides?\b`, ``},
	{`\balone([.,;:)]|$)`, `\b(leaves?|left|let)\b[^.]*\balone`},
	{`\bnobody (asks?|asked|needs?|reads?|waits?|calls?|listens?|knows?|looks?|sets?|wants?)\b`, ``},
	// Words that hide what the code does.
	{`\blook(s|ed|ing)? at\b`, ``},
	{`\bcomes? to\b`, ``},
	{`\bgo(es)? by\b`, ``},
	{`\blets? in\b`, ``},
	{`\bhold(s)? (that|with|it|them|against|what)\b`, ``},
})

type compiled struct{ banned, but *regexp.Regexp }

func compile(list []phrase) []compiled {
	var out []compiled
	for _, p := range list {
		c := compiled{banned: regexp.MustCompile(`(?i)` + p.banned)}
		if p.but != "" {
			c.but = regexp.MustCompile(`(?i)` + p.but)
		}
		out = append(out, c)
	}
	return out
}

// passage is a piece of prose: a comment, a string, a paragraph.
type passage struct {
	where string
	text  string
}

func TestProseAvoidsBannedPhrases(t *testing.T) {
	for _, p := range passages(t) {
		for _, c := range phrases {
			for _, at := range c.banned.FindAllStringIndex(p.text, -1) {
				around := p.text[max(0, at[0]-40):min(len(p.text), at[1]+20)]
				if c.but == nil || !c.but.MatchString(around) {
					t.Errorf("%s: %q in …%s…", p.where, p.text[at[0]:at[1]], around)
				}
			}
		}
	}
}

// passages returns the prose of every file in the repository, apart from
// licences, third-party patches, and data that tests and detectors work on.
func passages(t *testing.T) []passage {
	t.Helper()
	out, err := exec.Command("git", "-C", "..", "ls-files", "-co", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("needs git: %v", err)
	}
	var all []passage
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if strings.Contains(name, "/testdata/") || strings.Contains(name, "/patches/") || name == "tests/prose_test.go" ||
			strings.HasPrefix(name, "tests/privacy/") && !strings.HasSuffix(name, "_test.go") {
			continue
		}
		switch path.Ext(name) {
		case ".go":
			continue
		case ".md":
			if name != "CONTRIBUTING.md" { // shows phrases to avoid
				all = append(all, paragraphs(name, read(t, name), "")...)
			}
		case ".js", ".mjs", ".ts", ".c", ".h":
			all = append(all, paragraphs(name, read(t, name), "//")...)
		case ".py", ".sh", ".yaml", ".yml", ".txtar":
			all = append(all, paragraphs(name, read(t, name), "#")...)
		default:
			if name == "Makefile" || strings.HasPrefix(name, ".ci/") {
				all = append(all, paragraphs(name, read(t, name), "#")...)
			}
		}
	}
	for _, s := range sources(t) {
		if s.path == "tests/prose_test.go" || strings.HasPrefix(s.path, "tests/privacy/") && !s.test {
			continue
		}
		add := func(pos token.Pos, text string) {
			all = append(all, passage{fmt.Sprintf("%s:%d", s.path, s.fset.Position(pos).Line), strings.Join(strings.Fields(text), " ")})
		}
		for _, c := range s.file.Comments {
			add(c.Pos(), c.Text())
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					add(lit.Pos(), text)
				}
			}
			return true
		})
	}
	return all
}

// paragraphs joins the lines between blank ones, without the comment mark.
func paragraphs(name, text, mark string) []passage {
	var out []passage
	var words []string
	begin, n := 1, 0
	flush := func() {
		if len(words) > 0 {
			out = append(out, passage{fmt.Sprintf("%s:%d", name, begin), strings.Join(words, " ")})
		}
		words = nil
	}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		n++
		line := strings.Fields(strings.TrimPrefix(strings.TrimSpace(lines.Text()), mark))
		if len(line) == 0 {
			flush()
			continue
		}
		if words == nil {
			begin = n
		}
		words = append(words, line...)
	}
	flush()
	return out
}
