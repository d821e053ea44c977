package policy

import (
	"reflect"

	"github.com/wexec/wexec/internal/units"
)

// document is a policy file as it is written. The decoder and the JSON Schema
// both go by these types: yaml names a key, doc describes it, enum lists the
// words it may hold, min says how small a number may be, need marks a key that
// has to be there.
type document struct {
	Version     at[units.Count] `yaml:"version" enum:"1" doc:"version of the format" need:"yes"`
	Name        at[string]      `yaml:"name" doc:"what the policy is called"`
	Description at[string]      `yaml:"description" doc:"what it is for, in a sentence"`
	Default     at[string]      `yaml:"default" enum:"deny|ask|allow" doc:"a tool call that no rule matches; deny where it is left out"`
	Vars        named[expr]     `yaml:"vars" doc:"CEL expressions that conditions use as vars.NAME, evaluated at most once per call"`
	Tools       *toolsBlock     `yaml:"tools" doc:"rules for tools; deny beats ask beats allow, order and specificity never matter"`
	Limits      *limitsBlock    `yaml:"limits" doc:"what a run may use up"`
	Languages   []at[string]    `yaml:"languages" enum:"javascript|typescript|python" doc:"languages programs may be written in; all where it is left out"`
	Files       *filesBlock     `yaml:"files" doc:"files programs may open"`
	Network     *networkBlock   `yaml:"network" doc:"hosts programs may reach"`
	Env         *envBlock       `yaml:"env" doc:"environment variables programs may see"`
	Secrets     []secretBlock   `yaml:"secrets" doc:"values that the host puts into calls and programs never see"`
	PII         *piiBlock       `yaml:"pii" doc:"what happens with personal data"`
	Approvals   *approvalBlock  `yaml:"approvals" doc:"how people are asked"`
	Audit       *auditBlock     `yaml:"audit" doc:"how much of a run the audit keeps; a replay needs full in all three"`
	Tests       []testBlock     `yaml:"tests" doc:"cases that wexec policy test checks"`
}

type toolsBlock struct {
	Deny  []ruleBlock `yaml:"deny" doc:"calls that are refused"`
	Ask   []ruleBlock `yaml:"ask" doc:"calls that a person has to approve"`
	Allow []ruleBlock `yaml:"allow" doc:"calls that pass"`
}

// ruleBlock is one rule; a text alone is its tool.
type ruleBlock struct {
	Tool              at[Glob]           `yaml:"tool" doc:"pattern over server.tool with *, ? and {a,b}; mcp__server__tool is read too" need:"yes" short:"yes"`
	When              at[expr]           `yaml:"when" doc:"CEL condition; the rule matches where it is true"`
	Message           at[string]         `yaml:"message" doc:"what a refusal or a question says"`
	MessageExpression at[expr]           `yaml:"messageExpression" doc:"CEL expression that gives the message"`
	Limits            *ruleLimits        `yaml:"limits" doc:"limits of the calls this rule lets pass"`
	Cache             at[units.Duration] `yaml:"cache" doc:"how long an answer may be used again"`
	Timeout           at[units.Duration] `yaml:"timeout" doc:"how long an approval is waited for"`
	Pos               position
}

type ruleLimits struct {
	Calls   at[units.Count]    `yaml:"calls" min:"1" doc:"calls within the run or session"`
	Rate    at[units.Rate]     `yaml:"rate" doc:"calls in a time, within everything that shares the policy: 5/min"`
	Result  at[units.Size]     `yaml:"result" min:"1" doc:"size of an answer: 256KiB"`
	Timeout at[units.Duration] `yaml:"timeout" min:"1" doc:"time a call may take: 20s"`
}

type limitsBlock struct {
	Time      at[units.Duration] `yaml:"time" min:"1" doc:"wall time: 30s"`
	Fuel      at[units.Count]    `yaml:"fuel" min:"1" doc:"units of about one wasm instruction"`
	Memory    at[units.Size]     `yaml:"memory" min:"1" doc:"linear memory: 256MiB"`
	Output    at[units.Size]     `yaml:"output" min:"1" doc:"stdout, stderr and value: 1MiB"`
	ToolCalls at[units.Count]    `yaml:"tool_calls" min:"1" doc:"calls of tools"`
	Parallel  at[units.Count]    `yaml:"parallel" min:"1" doc:"calls at once"`
	HostBytes at[units.Size]     `yaml:"host_bytes" min:"1" doc:"bytes through the host"`
	Recursion at[units.Count]    `yaml:"recursion" min:"1" doc:"depth of recursion"`
}

type filesBlock struct {
	Read  []at[string] `yaml:"read" doc:"patterns of files that may be read; a folder counts with everything below it"`
	Write []at[string] `yaml:"write" doc:"patterns of files that may be written"`
	Deny  []at[string] `yaml:"deny" doc:"patterns of files that may not be opened in any case"`
}

type networkBlock struct {
	Allow []hostBlock `yaml:"allow" doc:"hosts that may be reached"`
	Deny  []hostBlock `yaml:"deny" doc:"hosts that may not, or a class: private, loopback, link-local, metadata"`
}

// hostBlock is one host; a text alone is its name.
type hostBlock struct {
	Host    at[string]        `yaml:"host" doc:"name with * for any run of characters, address, or network such as 10.0.0.0/8" need:"yes" short:"yes"`
	Methods []at[string]      `yaml:"methods" doc:"HTTP methods; all where it is left out"`
	Ports   []at[units.Count] `yaml:"ports" min:"1" doc:"ports; 80 and 443 where it is left out"`
	Pos     position
}

type envBlock struct {
	Allow []at[string] `yaml:"allow" doc:"names, with * for any run of characters"`
}

type secretBlock struct {
	Name at[string]   `yaml:"name" doc:"what the secret is called" need:"yes"`
	From at[string]   `yaml:"from" doc:"where the host finds it: env:NAME or file:PATH" need:"yes"`
	To   []at[string] `yaml:"to" doc:"who gets it: server:NAME, host:PATTERN or patterns over tools" need:"yes"`
	As   at[string]   `yaml:"as" doc:"how: env:NAME, header:NAME: TEXT with {} for the value, or arg:NAME" need:"yes"`
	Pos  position
}

type piiBlock struct {
	Mode     at[string]          `yaml:"mode" enum:"off|detect|tokenize|redact|block|partial" doc:"what happens with what is found"`
	Detect   []at[string]        `yaml:"detect" doc:"kinds that are looked for; without it email, phone, card, ssn, iban and secret; [] is every kind"`
	RevealTo []at[Glob]          `yaml:"reveal_to" doc:"tools whose arguments get values for tokens"`
	Level    at[string]          `yaml:"level" enum:"strict|balanced|relaxed" doc:"how much evidence is asked for; strict finds most"`
	Regions  []at[string]        `yaml:"regions" doc:"countries whose phone numbers are read without a country code"`
	Patterns named[string]       `yaml:"patterns" doc:"own kinds: name and regular expression in RE2's syntax"`
	Lists    named[[]at[string]] `yaml:"lists" doc:"words and phrases of a kind"`
	Fields   *fieldsBlock        `yaml:"fields" doc:"fields that decide by their name"`
	Ignore   []at[string]        `yaml:"ignore" doc:"values that are never found: *@example.org"`
	Tools    named[string]       `yaml:"tools" enum:"off|detect|tokenize|redact|block|partial" doc:"modes of the answers of single tools, by pattern"`
	Modes    named[string]       `yaml:"modes" enum:"off|detect|tokenize|redact|block|partial" doc:"modes of single fields, by pattern"`
}

type fieldsBlock struct {
	Never  []at[string] `yaml:"never" doc:"fields in which nothing is looked for"`
	Always []at[string] `yaml:"always" doc:"fields whose every value is personal"`
}

type approvalBlock struct {
	Via      []at[string]       `yaml:"via" enum:"terminal|mcp|socket" doc:"where people are asked; terminal and mcp where it is left out"`
	Timeout  at[units.Duration] `yaml:"timeout" min:"1" doc:"an unanswered question is a denial after this time: 10m"`
	Remember at[string]         `yaml:"remember" enum:"never|run|session" doc:"how long an answer holds for the same call"`
}

type auditBlock struct {
	Code    at[string] `yaml:"code" enum:"hash|full|none" doc:"the program"`
	Inputs  at[string] `yaml:"inputs" enum:"hash|full|none" doc:"arguments and input"`
	Outputs at[string] `yaml:"outputs" enum:"hash|full|none" doc:"value, output and answers of tools"`
}

type testBlock struct {
	Tool   at[string] `yaml:"tool" doc:"the tool that is called, as server.tool" need:"yes"`
	Args   jsonObject `yaml:"args" doc:"its arguments"`
	Expect at[string] `yaml:"expect" enum:"deny|ask|allow" doc:"what the policy has to decide" need:"yes"`
	Pos    position
}

// position is a place in a file, both from 1; zero where there is none.
type position struct{ line, column int }

// at is a value with the place it stands at.
type at[T any] struct {
	V   T
	Pos position
}

func (a at[T]) set() bool { return a.Pos.line > 0 }

// named is a mapping with free keys, in the order of the file.
type named[T any] []entry[T]

type entry[T any] struct {
	Key    string
	KeyPos position
	V      T
	Pos    position
}

// expr is the text of a CEL expression.
type expr struct {
	text  string
	lines []position // where each line of the text stands in the file
}

// jsonObject is a mapping of anything, as JSON decodes it.
type jsonObject map[string]any

func (b *limitsBlock) limits() Limits {
	var l Limits
	if b == nil {
		return l
	}
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		if f, err := limitField(v.Type().Field(i).Tag.Get("yaml")); err == nil {
			f.Set(&l, v.Field(i).FieldByName("V").Int())
		}
	}
	return l
}
