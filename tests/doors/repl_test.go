//go:build unix

package doors

import (
	"regexp"
	"strings"
	"testing"
)

// TestAReplAtATerminal enters programs as a person does: several lines, an
// error, a question, an interrupt at the prompt and one in a program.
func TestAReplAtATerminal(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	x := atTerminal(t, command(t.Context(), dir, append(env, "NO_COLOR=1"), "repl", "--mcp", "mcp.json", "--policy", "policy.yaml"))
	x.sees("js> ")
	x.types("function twice(n) {\n")
	x.sees("... ")
	x.types("return n * 2\n}\ntwice(21)\n") // lines ahead are kept
	x.shows(regexp.MustCompile(`\b42\r\n`))
	x.types("throw new Error('gone ' + 'wrong')\n")
	x.sees("error: Error: gone wrong")
	x.types("(await tools.github.create_issue({title: 'x'})).title + '!'\n")
	x.sees("for this run: ")
	x.types("y\n")
	x.sees(`"x!"`)
	x.types("twice(\x03")
	x.shows(regexp.MustCompile(`"x!"\r\njs> (twice\()?(\^C)?\r\njs> `)) // the terminal may drop the echo
	x.types("console.log('in ' + 'it'); while (true) {}\n")
	x.sees("in it\r\n")
	x.types("\x03")
	x.sees("interrupted")
	x.sees("its definitions are lost")
	x.types("'still ' + 'here'\n")
	x.sees(`"still here"`)
	x.types("\x04")
	if got := x.ends(); got != 0 {
		t.Errorf("status %d", got)
	}
	if strings.Contains(x.seen.String(), "panic") {
		t.Errorf("%q", x.seen.String())
	}
}
