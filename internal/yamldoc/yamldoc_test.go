package yamldoc

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
)

type format struct {
	Name   Value[string]         `yaml:"name" doc:"name" need:"yes"`
	Kind   string                `yaml:"kind" doc:"kind" enum:"big|small"`
	On     *bool                 `yaml:"on" doc:"on"`
	Sizes  []Value[units.Size]   `yaml:"sizes" doc:"sizes" min:"1"`
	Paths  []string              `yaml:"paths" doc:"paths" single:"yes"`
	Free   Map[Value[string]]    `yaml:"free" doc:"free"`
	Any    Object                `yaml:"any" doc:"any"`
	Block  *block                `yaml:"block" doc:"block"`
	Limits limits                `yaml:"limits" doc:"limits"`
	Wait   Value[units.Duration] `yaml:"wait" doc:"wait"`
}

type block struct {
	Rules []rule `yaml:"rules" doc:"rules"`
}

type rule struct {
	Tool Value[string] `yaml:"tool" doc:"tool" need:"yes" short:"yes"`
	When Value[Code]   `yaml:"when" doc:"when" maxlen:"10"`
	Pos  Position
}

type limits map[string]int64

func (limits) YAMLKeys() []Key {
	return []Key{{Name: "fuel", Doc: "fuel", Min: 1, Value: units.Count(0)}, {Name: "time", Doc: "time", Value: units.Duration(0)}}
}

func (l *limits) SetYAML(key string, value int64) {
	if *l == nil {
		*l = limits{}
	}
	(*l)[key] = value
}

func decode(text string) (format, Problems) {
	var f format
	r := &Reporter{File: "f.yaml"}
	Decode(r, []byte(text), &f)
	_ = r.Err(fault.UsageConfig) // sorts them
	return f, r.problems
}

func TestDecode(t *testing.T) {
	f, problems := decode(`
name: x # comment
kind: small
on: true
sizes: [1KiB, 2]
paths: one
free: {b: 1, a: "two"}
any: {n: 1.5, list: [true, null, "x"]}
block:
  rules:
    - a.b
    - tool: c.d
      when: |
        first
        second
limits: {fuel: 5e9, time: 2s}
wait: 1m
`)
	if problems != nil {
		t.Fatal(problems)
	}
	yes := true
	rules := f.Block.Rules
	if at := rules[1].When.V.Place(2, 3); at != (Position{15, 12}) {
		t.Errorf("line 2, column 3 of the code is at %v", at)
	}
	rules[1].When.V.lines = nil
	want := format{
		Name: Value[string]{"x", Position{2, 7}}, Kind: "small", On: &yes,
		Sizes: []Value[units.Size]{{1024, Position{5, 9}}, {2, Position{5, 15}}}, Paths: []string{"one"},
		Free: Map[Value[string]]{
			{"b", Position{7, 8}, Value[string]{"1", Position{7, 11}}, Position{7, 11}},
			{"a", Position{7, 14}, Value[string]{"two", Position{7, 17}}, Position{7, 17}},
		},
		Any: Object{"n": 1.5, "list": []any{true, nil, "x"}},
		Block: &block{Rules: []rule{
			{Tool: Value[string]{"a.b", Position{11, 7}}, Pos: Position{11, 7}},
			{Tool: Value[string]{"c.d", Position{12, 13}}, When: Value[Code]{Code{Text: "first\nsecond\n"}, Position{13, 13}}, Pos: Position{12, 7}},
		}},
		Limits: limits{"fuel": 5e9, "time": int64(2 * time.Second)},
		Wait:   Value[units.Duration]{units.Duration(time.Minute), Position{17, 7}},
	}
	if diff := cmp.Diff(want, f, cmp.AllowUnexported(Code{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeReportsEveryProblem(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "f.yaml:1:1: the file is empty (set the key name)",
		"- a\n":                             "f.yaml:1:1: the file must be a mapping, not a list (its keys are name, kind, on, sizes, paths, free, any, block, limits, wait)",
		"kind: big\n":                       "f.yaml:1:1: missing key name",
		"name: x\nkind: bg\n":               "f.yaml:2:7: kind: must be big or small, not \"bg\" (did you mean big?)",
		"name: x\nfuel: 1\n":                "f.yaml:2:1: unknown key fuel (move it under limits:)",
		"name: x\nrules: []\n":              "f.yaml:2:1: unknown key rules (move it under block:)",
		"name: x\nlimits: {fule: 1}\n":      "f.yaml:2:10: unknown key fule (did you mean fuel?)",
		"name: x\nlimits: {fuel: 0}\n":      "f.yaml:2:16: fuel: must be at least 1 (remove the key for the default)",
		"name: x\non: 1\n":                  "f.yaml:2:5: on: must be true or false, not a number",
		"name: x\nname: y\n":                "f.yaml:2:1: duplicate key name, first set on line 1",
		"name:\n":                           "f.yaml:1:1: name: has no value (set a value or remove the key)",
		"name: x\nany: 1\n":                 "f.yaml:2:6: any: must be a mapping, not a number",
		"name: x\nsizes: 1\n":               "f.yaml:2:8: sizes: must be a list, not a number (write [1])",
		"name: x\nblock: {rules: [{}]}\n":   "f.yaml:2:17: rules: missing key tool",
		"name: x\nwait: 5\n":                "f.yaml:2:7: wait: \"5\" is not a duration (write it as 500ms, 30s, 15m or 1h30m)",
		strings.Repeat("a: 1\n", MaxKeys+1): "f.yaml: the file has more than 8000 keys",
		"a: " + strings.Repeat("[", 100):    "f.yaml:1:1: nested more than 40 levels deep",
	} {
		if _, problems := decode(text); problems.Error() != want {
			t.Errorf("%.40q:\n%v\nwant\n%s", text, problems, want)
		}
	}
}

func TestErrOfOneProblemHasItsHint(t *testing.T) {
	r := &Reporter{File: "f.yaml"}
	r.Add(Position{2, 3}, "do this", "wrong")
	if err := r.Err(fault.UsageConfig); err.Error() != "f.yaml:2:3: wrong" || fault.HintOf(err) != "do this" {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	r.Add(Position{1, 1}, "do that", "worse")
	if err := r.Err(fault.UsageConfig); err.Error() != "f.yaml:1:1: worse (do that)\nf.yaml:2:3: wrong (do this)" || fault.HintOf(err) != "" {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

func TestSchemaDescribesTheFormat(t *testing.T) {
	var schema struct {
		Title      string
		Required   []string
		Properties map[string]struct{ Description string }
		Defs       map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(reflect.TypeFor[format](), "a format"), &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Title != "a format" || len(schema.Required) != 1 || len(schema.Properties) != 10 || schema.Properties["wait"].Description != "wait" || len(schema.Defs) != 3 {
		t.Errorf("%+v", schema)
	}
}
