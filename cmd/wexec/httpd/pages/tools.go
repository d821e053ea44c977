package pages

import (
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/text"
)

// server is an MCP server with the tools that programs may call.
type server struct {
	Name  string
	Tools []catalogue.Match
}

// tools shows the tools by server, and the declaration of the one that was opened.
func (p *Pages) tools(v *view) error {
	q := v.r.URL.Query()
	found, failed, err := p.Service.Tools(v.r.Context(), v.who, catalogue.Query{Text: q.Get("q"), Limit: maxRows})
	if err != nil {
		return err
	}
	data := struct {
		Words   string
		Servers []*server
		Total   int
		Shown   int
		Failed  []string
		Open    *catalogue.Match
	}{Words: q.Get("q"), Total: found.Total, Shown: len(found.Tools), Failed: failed}
	byName := map[string]*server{}
	for _, t := range found.Tools {
		name, _, _ := strings.Cut(t.Name, ".")
		if byName[name] == nil {
			byName[name] = &server{Name: name}
			data.Servers = append(data.Servers, byName[name])
		}
		byName[name].Tools = append(byName[name].Tools, t)
	}
	if name := q.Get("tool"); name != "" {
		open, err := p.Service.Tool(v.r.Context(), v.who, name, q.Get("language"))
		if err != nil {
			return err
		}
		open.Declaration = text.Clip(open.Declaration, maxText)
		data.Open = &open
	}
	return p.show(v, "tools", page{Title: "Tools", At: "/tools", Data: data})
}

// policy shows a policy file of the tenant with the numbers of its lines.
func (p *Pages) policy(v *view) error {
	name := v.r.URL.Query().Get("file")
	source, err := p.Service.PolicyText(v.who, name)
	if err != nil {
		return err
	}
	var lines []codeLine
	for one := range strings.Lines(source) {
		if len(lines) == maxPolicyLines {
			break
		}
		lines = append(lines, codeLine{Number: len(lines) + 1, Text: codeText(one)})
	}
	return p.show(v, "policy", page{Title: "Policy", At: "/tools", Data: struct {
		Name  string
		Lines []codeLine
	}{name, lines}})
}

// maxPolicyLines bounds the lines of a policy that a page shows.
const maxPolicyLines = 2000
