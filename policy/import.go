package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/jsonc"
	"github.com/wexec/wexec/internal/text"
)

// Proposal is a policy made from another client's permissions, for a person to
// review.
type Proposal struct {
	Policy []byte   // a policy file; comments say where each rule comes from
	Notes  []string // what could not be imported, and why
}

// maxImport bounds the file that Import reads.
const maxImport = 256 << 10

// Import reads the permission lists of another client and proposes a policy:
// Claude's permissions {allow, ask, deny}, allowedTools and disallowedTools, and
// autoApprove, alwaysAllow and disabledTools of the servers of Cursor and Cline.
// A tool that the client allows is proposed as ask if its name says that it
// changes something, so that a person decides. Comments in the policy name the
// file by name.
func Import(name string, data []byte) (Proposal, error) {
	var doc map[string]any
	if len(data) > maxImport {
		return Proposal{}, fault.New(fault.UsageFile, "%s is larger than %d KiB", name, maxImport>>10)
	}
	stripped, err := jsonc.Strip(data)
	if err == nil {
		err = json.Unmarshal(stripped, &doc)
	}
	if err != nil {
		return Proposal{}, fault.New(fault.UsageFile, "%s is not a JSON object: %w", name, err)
	}
	im := importer{seen: map[string]bool{}}
	if perms, ok := doc["permissions"].(map[string]any); ok {
		for _, effect := range []Effect{Deny, Ask, Allow} {
			im.permissions(effect, perms[effect.String()], "permissions."+effect.String())
		}
	}
	im.permissions(Deny, doc["disallowedTools"], "disallowedTools")
	im.permissions(Allow, doc["allowedTools"], "allowedTools")
	for _, key := range []string{"mcpServers", "servers"} {
		servers, _ := doc[key].(map[string]any)
		for _, server := range slices.Sorted(maps.Keys(servers)) {
			conf, _ := servers[server].(map[string]any)
			for _, list := range []string{"autoApprove", "alwaysAllow", "disabledTools"} {
				effect := Allow
				if list == "disabledTools" {
					effect = Deny
				}
				for _, tool := range stringsIn(conf[list]) {
					im.tool(effect, server+"."+tool, key+"."+server+"."+list)
				}
			}
		}
	}
	if len(im.rules) == 0 && len(im.notes) == 0 {
		return Proposal{}, fault.New(fault.UsageFile, "%s contains no permissions", name).
			WithHint("it needs permissions, allowedTools or disallowedTools, or autoApprove, alwaysAllow or disabledTools of a server")
	}
	p := Proposal{Policy: im.write(name), Notes: im.notes}
	if _, err := Parse("proposal", p.Policy); err != nil {
		return Proposal{}, fault.New(fault.Internal, "the proposed policy is invalid: %w", err)
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

// permissions reads a permission list.
func (im *importer) permissions(effect Effect, list any, origin string) {
	for _, entry := range stringsIn(list) {
		im.permission(effect, entry, origin)
	}
}

// permission reads one item of a permission list: mcp__server__tool,
// Mcp(server:tool), or a built-in tool of the client.
func (im *importer) permission(effect Effect, entry, origin string) {
	if inner, ok := strings.CutPrefix(entry, "Mcp("); ok {
		if server, tool, ok := strings.Cut(strings.TrimSuffix(inner, ")"), ":"); ok {
			im.tool(effect, server+"."+tool, origin)
			return
		}
	}
	rest, ok := strings.CutPrefix(entry, "mcp__")
	if !ok {
		im.notes = append(im.notes, fmt.Sprintf("%s: %s is a built-in tool of the client, not an MCP tool", origin, clip(entry)))
		return
	}
	if at := strings.IndexByte(rest, '('); at >= 0 {
		im.notes = append(im.notes, fmt.Sprintf("%s: %s is restricted by arguments: write that as a condition (when)", origin, clip(entry)))
		if effect == Allow {
			effect = Ask
		}
		rest = rest[:at]
	}
	im.tool(effect, dotted(rest), origin)
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
			r.effect, r.note = Ask, "allowed there; ask here, because a pattern also matches future tools"
		case catalogue.NameWrites(tool):
			r.effect, r.note = Ask, "allowed there; ask here, because its name says that it changes something"
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
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Proposed from %s. Read each rule before you use it.\n", comment(name))
	b.WriteString("version: 1\ndefault: deny\n")
	for _, note := range im.notes {
		fmt.Fprintf(&b, "# not imported: %s\n", comment(note))
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
			fmt.Fprintf(&b, "    - %s  # %s\n", quoteYAML(r.pattern), comment(why))
		}
	}
	return b.Bytes()
}

// comment makes a text fit for a comment.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, text.OneLine(s))
}

// quoteYAML returns a string in double quotes, in a form that is JSON and YAML.
func quoteYAML(s string) string {
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return string(quoted)
}

// stringsIn returns the strings of a list.
func stringsIn(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
