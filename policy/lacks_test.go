package policy

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/wexec/wexec/catalogue"
)

// TestAPersonIsAskedOnlyForWhatLacksARule checks what a person at the terminal may
// be asked about: never what a rule denies or a managed policy leaves out.
func TestAPersonIsAskedOnlyForWhatLacksARule(t *testing.T) {
	file := func(name, text string) *Policy {
		p, err := Parse(name, []byte("version: 1\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const other = "tools: {allow: [b.x]}\nnetwork: {allow: [b.example]}\nfiles: {read: [/b]}\n"
	root, err := filepath.Abs("/")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		layers []Layered
		files  []string
		ok     bool
	}{
		"no policy":            {nil, nil, true},
		"a file without rules": {[]Layered{{file("p", "limits: {time: 3s}\n"), Project}}, nil, true},
		"a file":               {[]Layered{{file("p", other), Project}}, []string{"p"}, true},
		"two files":            {[]Layered{{file("p", other), Project}, {file("u", other), User}}, []string{"u", "p"}, true},
		"it is allowed":        {[]Layered{{file("p", "tools: {allow: [a.x]}\nnetwork: {allow: [a.example]}\nfiles: {read: [/a]}\n"), Project}}, nil, false},
		"a managed file":       {[]Layered{{file("s", other), System}, {file("p", other), Project}}, nil, false},
		"a rule":               {[]Layered{{file("p", "tools: {allow: [b.x], deny: [a.x]}\nnetwork: {allow: [b.example], deny: [a.example]}\nfiles: {read: [/b], deny: [/A]}\n"), Project}}, nil, false},
		"a rule with a count":  {[]Layered{{file("p", "tools: {deny: [{tool: a.x, when: 'calls[\"a.x\"] >= 1'}, ]}\nnetwork: {deny: [a.example]}\nfiles: {deny: [/a]}\n"), Project}}, nil, false},
		"an untrusted rule":    {[]Layered{{file("p", "tools: {deny: [a.x]}\nnetwork: {deny: [a.example]}\nfiles: {deny: [/a]}\n").Tightening(), Project}}, nil, false},
	} {
		p := Layer(c.layers...)
		if files, ok := p.LacksTool(Request{Tool: catalogue.Tool{Server: "a", Name: "x"}, Calls: map[string]int{"a.x": 1}}); ok != c.ok || !slices.Equal(files, c.files) {
			t.Errorf("%s: tool: %q, %v", name, files, ok)
		}
		if files, ok := p.LacksHost(NetRequest{Host: "a.example", Method: "GET", Port: 443}); ok != c.ok || !slices.Equal(files, c.files) {
			t.Errorf("%s: host: %q, %v", name, files, ok)
		}
		if files, ok := p.LacksFile(FileRequest{Path: root + "a/x"}); ok != c.ok || !slices.Equal(files, c.files) {
			t.Errorf("%s: file: %q, %v", name, files, ok)
		}
	}
}
