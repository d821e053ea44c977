// Package policyfile writes the policy of a project and adds rules to it. What a
// person wrote in the file, comments included, stays as it is.
package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

// Rule is a rule to write: an item of one list of a policy file.
type Rule struct {
	List []string // the keys of the list, such as tools and allow
	Item string   // a scalar
	Port int      // of a host; zero: the default ports
	When string   // condition of an approved tool; empty: none
	// Approved says that the rule applies even if the file asks about the tool.
	Approved bool
	Why      string // for a comment
}

// text is the rule as YAML on one line.
func (r Rule) text() string {
	switch {
	case r.Port != 0:
		return fmt.Sprintf("{host: %s, ports: [%d]}", Quote(r.Item), r.Port)
	case r.Approved && r.When != "":
		var when bytes.Buffer // JSON, which is also YAML
		e := json.NewEncoder(&when)
		e.SetEscapeHTML(false)
		_ = e.Encode(r.When) // a string always has a JSON form
		return fmt.Sprintf("{tool: %s, when: %s, approved: true}", Quote(r.Item), bytes.TrimSpace(when.Bytes()))
	case r.Approved:
		return fmt.Sprintf("{tool: %s, approved: true}", Quote(r.Item))
	}
	return Quote(r.Item)
}

// ForAsking returns the rule by which a person is no longer asked about a tool for
// a reason. It is as narrow as the question: the tool, and the condition under which
// the policy asks. It is false for a name that is not written as a pattern for itself.
func ForAsking(tool string, a policy.Asking) (Rule, bool) {
	return Rule{List: allowTool, Item: tool, When: a.When, Approved: !a.Default}, !hasPattern(tool)
}

// hasPattern reports whether a name is not written as a pattern for itself.
func hasPattern(name string) bool {
	return strings.ContainsFunc(name, func(c rune) bool { return strings.ContainsRune("*?{}[]\\", c) || c < ' ' })
}

// ForGrant returns the rule that allows what a program lacks, for a policy file in
// a folder. It is false for a name that is not written as a pattern for itself.
func ForGrant(g hostfns.Grant, dir string) (Rule, bool) {
	r := Rule{List: allowTool, Item: g.Name}
	switch {
	case g.Kind == "network":
		r.List = []string{"network", "allow"}
		if g.Port != 80 && g.Port != 443 {
			r.Port = g.Port
		}
	case g.Kind == "file":
		r.List, r.Item = []string{"files", "read"}, filepath.ToSlash(g.Name)
		if g.Write {
			r.List = []string{"files", "write"}
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if rel, err := filepath.Rel(dir, g.Name); err == nil && filepath.IsLocal(rel) {
			r.Item = strings.TrimSuffix("./"+filepath.ToSlash(rel), "/.")
		}
		if g.Folder {
			r.Why = "and everything in this folder"
		}
	}
	return r, !hasPattern(r.Item)
}

// String returns the rule as it is shown to a person, with its comment.
func (r Rule) String() string {
	s := strings.Join(r.List, ".") + ": " + r.text()
	if r.Why != "" {
		s += " # " + r.Why
	}
	return s
}

// The lists of rules.
var (
	askTool   = []string{"tools", "ask"}
	allowTool = []string{"tools", "allow"}
)

// ForTools returns a rule for each tool, with the reason: a tool that its server
// declares as read-only is allowed, unless its name or its arguments contradict
// that; every other tool asks.
func ForTools(tools []catalogue.Tool) []Rule {
	rules := make([]Rule, len(tools))
	for i, t := range tools {
		rules[i] = Rule{List: askTool, Item: t.ID()}
		var reads bool
		if reads, rules[i].Why = reading(t); reads {
			rules[i].List = allowTool
		}
	}
	return rules
}

// reading reports whether a tool only reads, and how that is known.
func reading(t catalogue.Tool) (bool, string) {
	readOnly := t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly
	program := programArgument(t)
	switch destructive := t.Annotations.Destructive; {
	case destructive != nil && *destructive && !readOnly:
		return false, "the server says it is destructive"
	case program != "":
		return false, "its argument " + program + " can make it write"
	case readOnly && catalogue.NameWrites(t.Name):
		return false, "the server says it only reads, but its name says it writes"
	case readOnly:
		return true, "the server says it only reads"
	case catalogue.NameWrites(t.Name):
		return false, "its name says it writes"
	}
	return false, "the server does not say that it only reads"
}

// Starter returns a policy with rules.
func Starter(rules []Rule) string { return profiles[0].Starter(rules) }

// Starter returns a policy of the profile with rules.
func (p Profile) Starter(rules []Rule) string {
	var b strings.Builder
	b.WriteString("# What programs may do here. deny overrides ask, and ask overrides allow. Without a rule, a tool is denied.\n" +
		"# Check this file with: wexec policy check\nversion: 1\n\ntools:\n")
	if len(rules) == 0 {
		b.WriteString("  allow: []\n")
	}
	for _, list := range [][]string{askTool, allowTool} {
		head := false
		for _, r := range rules {
			if !slices.Equal(r.List, list) {
				continue
			}
			if !head {
				fmt.Fprintf(&b, "  %s:\n", list[1])
				head = true
			}
			fmt.Fprintf(&b, "    - %s # %s\n", Quote(r.Item), r.Why)
		}
	}
	b.WriteString("\npii:\n  mode: tokenize # personal data in answers becomes tokens such as [EMAIL_1]\n" +
		"  detect: [email, phone, card, ssn, iban, secret] # all kinds, names and addresses too: wexec privacy kinds\n" +
		"\napprovals:\n  via: [terminal, mcp]\n  timeout: " + p.timeout + " # a question without an answer is denied\n" + p.risk)
	return b.String()
}

// New returns the rules for tools that no rule of a policy names.
func New(p *policy.Policy, rules []Rule) []Rule {
	known := p.Rules()
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool {
		return slices.ContainsFunc(known, func(k policy.Rule) bool { return k.Tool.Match(r.Item) })
	})
}

// Add returns a policy file with rules added. The name is for errors.
func Add(name string, data []byte, rules []Rule) ([]byte, error) {
	fail := func(err error) ([]byte, error) {
		return nil, fault.New(fault.UsagePolicy, "add rules to %s: %w", name, err).WithHint("add them with an editor")
	}
	for len(rules) > 0 {
		list := rules[0].List
		var items []yamldoc.Item
		var rest []Rule
		for _, r := range rules {
			if slices.Equal(r.List, list) {
				items = append(items, yamldoc.Item{Text: r.text(), Comment: r.Why})
			} else {
				rest = append(rest, r)
			}
		}
		var err error
		if data, err = yamldoc.Append(data, list, items...); err != nil {
			return fail(err)
		}
		rules = rest
	}
	if _, err := policy.Parse(name, data); err != nil {
		return fail(err)
	}
	return data, nil
}

// Change replaces a policy file by what change makes of its text, and syncs it to disk.
// If the file changes meanwhile, change is called again with the new text. Callers
// exclude each other.
func Change(path string, change func(data []byte) ([]byte, error)) error {
	fail := func(err error) error { return fault.New(fault.UsageFile, "write the rule: %w", err) }
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fail(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fail(err)
	}
	for {
		before, err := os.ReadFile(path)
		if err != nil {
			return fail(err)
		}
		after, err := change(before)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		now, err := os.ReadFile(path)
		if err != nil {
			return fail(err)
		}
		if !bytes.Equal(before, now) {
			continue
		}
		err = atomicfile.WriteFunc(path, info.Mode().Perm(), func(f *os.File) error {
			_, err := f.Write(after)
			return errors.Join(err, f.Sync())
		})
		if err == nil {
			err = atomicfile.SyncDir(filepath.Dir(path))
		}
		if err != nil {
			return fail(err)
		}
		return nil
	}
}

// Quote returns a scalar of YAML, quoted if necessary.
func Quote(s string) string {
	plain := s != ""
	for i, r := range s {
		ok := r == '_' || r == '.' || r == '/' || r == '-' && i > 0 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' && i > 0
		plain = plain && ok
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), "\n", " ") + "'"
}
