package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// Proposal is a policy made of another client's permissions, for a person to
// review.
type Proposal struct {
	Policy []byte   // a policy file, with each entry's origin as a comment
	Notes  []string // what could not be taken over, and why
}

// Import reads the permission lists of other clients and proposes a policy:
// Claude's permissions {allow, ask, deny}, allowedTools and disallowedTools,
// Cursor's and Cline's autoApprove and alwaysAllow of each server, Cursor's
// permissions of its command line. What such a client allows without asking is
// proposed as ask where its name sounds as if it changes something: a person
// has to take that step knowingly. The name is that of the file, for comments.
func Import(name string, data []byte) (Proposal, error) {
	var doc map[string]any
	if len(data) > maxFile {
		return Proposal{}, fault.New(fault.UsageFile, "%s is larger than %d KiB", name, maxFile>>10)
	}
	if err := json.Unmarshal(uncomment(data), &doc); err != nil {
		return Proposal{}, fault.New(fault.UsageFile, "%s is no JSON object: %w", name, err)
	}
	im := importer{seen: map[string]bool{}}
	if perms, ok := doc["permissions"].(map[string]any); ok {
		for _, effect := range []Effect{Deny, Ask, Allow} {
			for _, entry := range texts(perms[effect.String()]) {
				im.entry(effect, entry, "permissions."+effect.String())
			}
		}
	}
	for _, entry := range texts(doc["disallowedTools"]) {
		im.entry(Deny, entry, "disallowedTools")
	}
	for _, entry := range texts(doc["allowedTools"]) {
		im.entry(Allow, entry, "allowedTools")
	}
	for _, key := range []string{"mcpServers", "servers"} {
		servers, _ := doc[key].(map[string]any)
		for _, server := range sortedKeys(servers) {
			conf, _ := servers[server].(map[string]any)
			for _, list := range []string{"autoApprove", "alwaysAllow"} {
				for _, tool := range texts(conf[list]) {
					im.tool(Allow, server+"."+tool, key+"."+server+"."+list)
				}
			}
			for _, tool := range texts(conf["disabledTools"]) {
				im.tool(Deny, server+"."+tool, key+"."+server+".disabledTools")
			}
		}
	}
	if len(im.rules) == 0 && len(im.notes) == 0 {
		return Proposal{}, fault.New(fault.UsageFile, "%s has no permissions", name).
			WithHint("looked for permissions, allowedTools, disallowedTools, and autoApprove, alwaysAllow or disabledTools of servers")
	}
	p := Proposal{Policy: im.write(name), Notes: im.notes}
	if _, err := Parse("proposal", p.Policy); err != nil {
		return Proposal{}, fault.New(fault.Internal, "the proposal is no policy: %w", err)
	}
	return p, nil
}

type importer struct {
	rules []imported
	notes []string
	seen  map[string]bool
}

type imported struct {
	effect  Effect
	pattern string
	origin  string
	note    string
}

// entry reads one entry of a permission list: mcp__server__tool,
// Mcp(server:tool), or a tool of the client itself.
func (im *importer) entry(effect Effect, entry, origin string) {
	if inner, ok := strings.CutPrefix(entry, "Mcp("); ok {
		server, tool, ok := strings.Cut(strings.TrimSuffix(inner, ")"), ":")
		if ok {
			im.tool(effect, server+"."+tool, origin)
			return
		}
	}
	rest, ok := strings.CutPrefix(entry, "mcp__")
	if !ok {
		im.notes = append(im.notes, fmt.Sprintf("%s: %s is a tool of the client itself, and no MCP tool", origin, clip(entry)))
		return
	}
	if at := strings.IndexByte(rest, '('); at >= 0 {
		im.notes = append(im.notes, fmt.Sprintf("%s: %s is limited by arguments; write that as a condition (when)", origin, clip(entry)))
		if effect == Allow {
			effect = Ask
		}
		rest = rest[:at]
	}
	im.tool(effect, undress(rest), origin)
}

func (im *importer) tool(effect Effect, pattern, origin string) {
	if _, err := parseToolGlob(pattern); err != nil {
		im.notes = append(im.notes, fmt.Sprintf("%s: %s", origin, err))
		return
	}
	r := imported{effect: effect, pattern: pattern, origin: origin}
	if effect == Allow {
		_, tool, _ := strings.Cut(pattern, ".")
		switch {
		case strings.ContainsAny(pattern, "*?"):
			r.effect, r.note = Ask, "allowed there; asks here, since a pattern also fits tools that come later"
		case catalogue.NameWrites(tool):
			r.effect, r.note = Ask, "allowed there; asks here, since its name sounds as if it changes something"
		}
	}
	key := r.effect.String() + " " + pattern
	if im.seen[key] {
		return
	}
	im.seen[key] = true
	im.rules = append(im.rules, r)
}

func (im *importer) write(name string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Proposed from %s. Read each rule before you use it.\n", remark(name))
	b.WriteString("version: 1\ndefault: deny\n")
	for _, note := range im.notes {
		fmt.Fprintf(&b, "# left out: %s\n", remark(note))
	}
	if len(im.rules) > 0 {
		b.WriteString("tools:\n")
	}
	for _, effect := range []Effect{Deny, Ask, Allow} {
		head := false
		for _, r := range im.rules {
			if r.effect != effect {
				continue
			}
			if !head {
				fmt.Fprintf(&b, "  %s:\n", effect)
				head = true
			}
			why := r.origin
			if r.note != "" {
				why += ": " + r.note
			}
			fmt.Fprintf(&b, "    - %s  # %s\n", quoteYAML(r.pattern), remark(why))
		}
	}
	return []byte(b.String())
}

// remark makes a text fit for a comment.
func remark(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, oneLine(s))
}

// quoteYAML writes a text in double quotes, which JSON and YAML read alike.
func quoteYAML(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// uncomment takes // and /* */ comments and commas before a closing bracket
// out of JSON, as editors allow them.
func uncomment(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			end := i + 1
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(data))
			out = append(out, data[i:end]...)
			i = end - 1
		case c == '/' && i+1 < len(data) && data[i+1] == '/':
			for i < len(data) && data[i] != '\n' {
				i++
			}
			i--
		case c == '/' && i+1 < len(data) && data[i+1] == '*':
			end := bytes.Index(data[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += end + 3
		case c == ']' || c == '}':
			end := len(out)
			for end > 0 && (out[end-1] == ' ' || out[end-1] == '\t' || out[end-1] == '\r' || out[end-1] == '\n') {
				end--
			}
			if end > 0 && out[end-1] == ',' {
				out = out[:end-1]
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}
