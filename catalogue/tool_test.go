package catalogue

import "testing"

func TestADefinitionIsWhatTheToolSaysAndNotHow(t *testing.T) {
	yes := true
	base := Tool{Server: "a", Name: "t", Title: "T", Description: "d", Version: "1",
		InputSchema: []byte(`{"type":"object","properties":{"x":{"type":"string"}}}`), Annotations: Annotations{ReadOnly: &yes}}
	same := base
	same.Version, same.Warning = "2", "w"
	same.InputSchema = []byte(`{ "properties": {"x": {"type": "string"}}, "type": "object" }`)
	if base.DefinitionSHA256() != same.DefinitionSHA256() {
		t.Errorf("%s\n%s", base.Definition(), same.Definition())
	}
	for name, change := range map[string]func(*Tool){
		"server": func(t *Tool) { t.Server = "b" }, "name": func(t *Tool) { t.Name = "u" }, "title": func(t *Tool) { t.Title = "" }, "description": func(t *Tool) { t.Description += "." },
		"input":       func(t *Tool) { t.InputSchema = []byte(`{"type":"object"}`) },
		"output":      func(t *Tool) { t.OutputSchema = []byte(`{}`) },
		"annotations": func(t *Tool) { t.Annotations.ReadOnly = nil },
	} {
		other := base
		change(&other)
		if other.DefinitionSHA256() == base.DefinitionSHA256() {
			t.Errorf("a changed %s is not noticed", name)
		}
	}
}
