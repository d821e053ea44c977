package terminal

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// Error prints an error with its code, place and hint. Joined errors are printed
// one after the other.
func (p *Printer) Error(err error) {
	var run *engine.Error
	if errors.As(err, &run) {
		p.runError(run)
		return
	}
	for _, one := range parts(err) {
		p.headline(fault.CodeOf(one), one.Error())
		p.Hint(withFlags(hintOf(one)))
	}
}

// parts returns the errors that were joined, or else the error itself. Errors that
// are the cause of one with a code are part of its message.
func parts(err error) []error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		switch e := e.(type) {
		case *fault.Error:
			return []error{err}
		case interface{ Unwrap() []error }:
			if all := e.Unwrap(); len(all) > 1 {
				return all
			}
		}
	}
	return []error{err}
}

func hintOf(err error) string {
	hint := fault.HintOf(err)
	if hint == "" && fault.CodeOf(err) == fault.AuditUnavailable {
		return "nothing runs without an audit record: free disk space, or set audit.dir in the configuration"
	}
	return hint
}

// runError prints the error of a program.
func (p *Printer) runError(e *engine.Error) {
	p.headline(e.Code, e.Error())
	if e.File != "" {
		place := e.File
		for _, n := range []int{e.Line, e.Column} {
			if n == 0 {
				break
			}
			place += fmt.Sprintf(":%d", n)
		}
		p.Print("  %s %s", p.Paint(Blue, "-->"), place)
	}
	if e.Excerpt != "" {
		p.Print("%s", strings.TrimRight(e.Excerpt, "\n"))
	}
	if e.Rule != "" {
		p.Print("  %s %s", p.Paint(Blue, "rule:"), e.Rule)
	}
	for _, line := range stackLines(e) {
		p.Print("  %s", p.Paint(Dim, line))
	}
	if e.Hint != "decided by "+e.Rule {
		p.Hint(withFlags(e.Hint))
	}
}

// withFlags adds the flags of the command to a hint of the library, which names
// settings only, as they are in policies and the configuration.
func withFlags(hint string) string {
	for _, f := range policy.LimitFields() {
		hint = strings.ReplaceAll(hint, "limits."+f.Key+": ", "--"+f.Flag+" ")
	}
	entry, list, ok := strings.Cut(strings.TrimPrefix(hint, "allow "), " in the policy under ")
	if flag := allowFlags[list]; ok && flag != "" {
		if host, port, ok := strings.Cut(strings.TrimPrefix(entry, "{host: "), ", ports: ["); ok {
			entry = net.JoinHostPort(strings.Trim(host, `"`), strings.TrimSuffix(port, "]}"))
		}
		return hint + ", or with " + flag + " " + entry
	}
	return settingFlags.Replace(hint)
}

var (
	allowFlags   = map[string]string{"tools.allow": "--allow-tool", "network.allow": "--allow-net"}
	settingFlags = strings.NewReplacer("in the policy under files", "in the policy under files, or with --allow-read PATH", "audit.dir in the configuration", "audit.dir in the configuration, --audit DIR",
		"choose another port", "choose another port with --port", "with its client id and port", "with --client-id ID --port PORT",
		"or pin for yourself", "or pin for yourself without --lock")
)

func (p *Printer) headline(code fault.Code, message string) {
	first, rest, _ := strings.Cut(message, "\n")
	p.Print("%s %s %s", p.Paint("1;31", "error:"), p.Paint(Bold, first), p.Paint(Dim, "["+string(code)+"]"))
	if rest != "" {
		p.Print("%s", strings.TrimRight(rest, "\n"))
	}
}

// stackLines returns the lines of a stack that add to headline and place. Equal
// lines in a row become one with a count.
func stackLines(e *engine.Error) []string {
	lines := strings.Split(strings.TrimSpace(e.Stack), "\n")
	headline, _, _ := strings.Cut(e.Error(), "\n")
	if strings.TrimSpace(lines[0]) == strings.TrimSpace(headline) {
		lines = lines[1:]
	}
	calls := 0
	for _, line := range lines {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "at ") || strings.HasPrefix(line, `File "`) {
			calls++
		}
	}
	if len(lines) < 2 || e.Excerpt != "" && (calls == 1 || e.Code == fault.GuestSyntax) {
		return nil
	}
	var out []string
	for i := 0; i < len(lines); {
		same := 1
		for i+same < len(lines) && lines[i+same] == lines[i] {
			same++
		}
		out = append(out, strings.TrimRight(lines[i], " "))
		if same > 1 {
			indent := lines[i][:len(lines[i])-len(strings.TrimLeft(lines[i], " "))]
			out = append(out, fmt.Sprintf("%s… repeated %d more times", indent, same-1))
		}
		i += same
	}
	return out
}
