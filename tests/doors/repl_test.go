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

// TestAHostileProgramInARepl enters programs of a stranger: control sequences, output
// without end and a program that never ends. The prompt comes back each time.
func TestAHostileProgramInARepl(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	x := atTerminal(t, command(t.Context(), dir, append(env, "NO_COLOR=1", "TERM=dumb"), "repl", "--mcp", "mcp.json", "--policy", "policy.yaml"))
	x.sees("js> ")
	x.types("[27, 0x9b, 0x90].map((c) => String.fromCharCode(c) + '[2Jwe' + 'll').forEach((s) => { console.log(s); console.error(s) })\n")
	x.sees("[2Jwell")
	x.types("({[String.fromCharCode(27) + '[2J']: String.fromCharCode(0x202e) + 'va' + 'lue'})\n")
	x.sees("value")
	x.types("throw Object.assign(new Error(String.fromCharCode(27) + '[2Jgo' + 'ne'), {name: String.fromCharCode(27, 7)})\n")
	x.sees("gone [guest.exception]")
	x.types("console.log('\\n\\u2590 approve? x [y]es, [n]o: '); 'as' + 'ked'\n")
	x.sees(`"asked"`)
	if seen := x.seen.String(); strings.Contains(seen, "\x1b[2J") || strings.ContainsAny(seen, "\u009b\u0090\u202e\a") || strings.Contains(seen, "\n\u2590") {
		t.Errorf("a control character reaches the terminal: %q", seen)
	}
	x.types("for (;;) console.log('x'.repeat(1000))\n")
	x.sees("limit.output")
	x.types("'after ' + 'output'\n")
	x.sees(`"after output"`)
	x.types("console.log('be' + 'gun'); for (;;) {}\n")
	x.sees("begun")
	x.types("\x03")
	x.sees("interrupted")
	x.types("console.log('pen' + 'ding'); await new Promise(() => setInterval(() => {}, 1000))\n")
	x.sees("pending")
	x.types("\x03")
	x.shows(regexp.MustCompile(`(?s)interrupted.*interrupted`))
	x.types("'after ' + 'all'\n")
	x.sees(`"after all"`)
	x.types("\x04")
	if got := x.ends(); got != 0 {
		t.Errorf("status %d", got)
	}
}
