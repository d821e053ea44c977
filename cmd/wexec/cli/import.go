package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

func (d *door) importCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take the servers that an MCP client has behind wexec",
		Description: "Writes them into a file that wexec reads, as the client has them. With --move they are taken out of the\n" +
			"client's own file too and wexec is put in their place, after the difference is shown and a copy kept.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "client", Usage: "`NAME`: claude-code, claude-desktop, cursor, vscode, codex or gemini"},
			&cli.StringFlag{Name: "out", Usage: "`FILE`: where to write them", Value: "mcp.json", TakesFile: true},
			&cli.BoolFlag{Name: "move", Usage: "take them out of the client's file, and put wexec in"},
			&cli.StringFlag{Name: "command", Usage: "`PATH`: with --move, what the client starts in place of this program", TakesFile: true},
			&cli.StringSliceFlag{Name: "policy", Usage: "`FILE`: with --move, the policy that the client starts it with", TakesFile: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "show what would be written, write nothing"},
		},
		Action: d.importServers,
	}
}

func (d *door) importServers(ctx *cli.Context) error {
	c, err := d.client(ctx.String("client"))
	if err != nil {
		return err
	}
	if !fileExists(c.Path) {
		return fault.New(fault.UsageFile, "%s has no servers: there is no %s", c.Name, c.Path).WithHint("wexec doctor lists the clients that have some")
	}
	before, err := c.Text()
	if err != nil {
		return err
	}
	servers, err := serversIn(c, string(before))
	if err != nil {
		return unreadable(c, before, err).WithHint("mend it first")
	}
	if len(servers) == 0 {
		d.voice.note("%s has no servers but wexec (%s)", c.Name, c.Path)
		return nil
	}
	out, err := serverFile(servers)
	if err != nil {
		return unreadable(c, before, err).WithHint("mend it first")
	}
	name, dry := ctx.String("out"), ctx.Bool("dry-run")
	if dry {
		fmt.Fprintf(d.inv.Stdout, "%s\n", out)
	} else {
		if fileExists(d.path(name)) {
			return fault.New(fault.UsageFile, "%s is there already", name).WithHint("--out names another file")
		}
		if err := replaceFile(d.path(name), append(out, '\n')); err != nil {
			return err
		}
		d.voice.note("wrote %s to %s", counted(len(servers), "server"), name)
	}
	if ctx.Bool("move") {
		if err := d.move(ctx, c, before, servers); err != nil || dry {
			return err
		}
		d.voice.say("next: wexec init --mcp %s writes a policy for them; without one every tool is denied", name)
		return nil
	}
	if !dry {
		d.voice.say("next: wexec init --mcp %s, then wexec mcp install --client %s", name, c.Name)
	}
	return nil
}

// move takes servers out of a client's file and puts wexec in.
func (d *door) move(ctx *cli.Context, c config.Client, before []byte, servers []server) error {
	text, toml := string(before), filepath.Ext(c.Path) == ".toml"
	var err error
	for _, s := range servers {
		if text, err = edited(text, entry{section: c.Key, name: s.name}, toml); err != nil {
			return unreadable(c, before, err).WithHint("mend it first")
		}
	}
	own := entry{section: c.Key, name: ownName, command: ctx.String("command"), args: []string{"mcp", "--mcp", d.path(ctx.String("out"))}}
	if own.command == "" {
		if own.command, err = os.Executable(); err != nil {
			return fault.New(fault.UsageConfig, "the path of this program cannot be told: %w", err).WithHint("name it with --command PATH")
		}
	}
	for _, path := range d.paths(ctx.StringSlice("policy")) {
		own.args = append(own.args, "--policy", path)
	}
	if !ctx.IsSet("policy") && !c.InProject {
		own.args = append(own.args, "--project", d.inv.Env.Dir) // whose policy is the next step
	}
	own.value = entryValue(c, own)
	if text, err = edited(text, own, toml); err != nil {
		return unreadable(c, before, err).WithHint("mend it first")
	}
	return d.rewrite(c, before, text, ctx.Bool("dry-run"))
}

// server is one server of a client's file, as JSON.
type server struct {
	name string
	json json.RawMessage
}

// serversIn lists the servers of a client's file, wexec left out, in the order
// of the file; those of TOML by name.
func serversIn(c config.Client, text string) ([]server, error) {
	if filepath.Ext(c.Path) == ".toml" {
		return serversInTOML(c, text)
	}
	top, err := objectAt(text, 0)
	if err != nil {
		return nil, err
	}
	m, ok := top.member(c.Key)
	if !ok {
		return nil, nil
	}
	list, err := objectOf(text, m)
	if err != nil {
		return nil, err
	}
	var out []server
	for _, s := range list.members {
		if s.name != ownName {
			out = append(out, server{s.name, json.RawMessage(strictJSON(text[s.value:s.end]))})
		}
	}
	return out, nil
}

// serversInTOML turns what Codex writes into what everybody else does.
func serversInTOML(c config.Client, text string) ([]server, error) {
	doc, err := readTOML(text)
	if err != nil {
		return nil, err
	}
	tables, _ := doc[c.Key].(map[string]any)
	var out []server
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table, ok := tables[name].(map[string]any)
		if !ok || name == ownName {
			continue
		}
		for from, to := range map[string]string{"http_headers": "headers", "env_http_headers": "headers"} {
			headers, ok := table[from].(map[string]any)
			if !ok {
				continue
			}
			kept, _ := table[to].(map[string]any)
			if kept == nil {
				kept = map[string]any{}
			}
			for k, v := range headers {
				if from == "env_http_headers" {
					v = fmt.Sprintf("${%v}", v)
				}
				kept[k] = v
			}
			table[to] = kept
			delete(table, from)
		}
		if variable, ok := table["bearer_token_env_var"].(string); ok {
			headers, _ := table["headers"].(map[string]any)
			if headers == nil {
				headers = map[string]any{}
			}
			headers["Authorization"] = "Bearer ${" + variable + "}"
			table["headers"] = headers
			delete(table, "bearer_token_env_var")
		}
		if names, ok := table["env_vars"].([]any); ok {
			env, _ := table["env"].(map[string]any)
			if env == nil {
				env = map[string]any{}
			}
			for _, n := range names {
				env[fmt.Sprint(n)] = fmt.Sprintf("${%v}", n)
			}
			table["env"] = env
			delete(table, "env_vars")
		}
		data, err := json.Marshal(table)
		if err != nil {
			return nil, err
		}
		out = append(out, server{name, data})
	}
	return out, nil
}

// serverFile is a file with mcpServers.
func serverFile(servers []server) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(`{"mcpServers": {`)
	for i, s := range servers {
		name, err := json.Marshal(s.name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", name, s.json)
	}
	b.WriteString("}}")
	var out bytes.Buffer
	err := json.Indent(&out, b.Bytes(), "", "  ")
	return out.Bytes(), err
}

// strictJSON is a value without comments and without commas at the end.
func strictJSON(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if next := blank(text, i); next > i {
			b.WriteByte(' ')
			i = next
			continue
		}
		switch text[i] {
		case '"':
			end, _ := value(text, i)
			end = min(end, len(text))
			b.WriteString(text[i:end])
			i = end
		case ',':
			if next := blank(text, i+1); next < len(text) && (text[next] == '}' || text[next] == ']') {
				i = next
				continue
			}
			b.WriteByte(',')
			i++
		default:
			b.WriteByte(text[i])
			i++
		}
	}
	return b.String()
}
