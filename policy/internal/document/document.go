// Package document is the format of a policy file: the structs that package
// yamldoc decodes a file into and makes the JSON Schema of. It checks the shape
// of a file; package policy checks and compiles what the values mean.
package document

import (
	"reflect"
	"strings"

	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/internal/yamldoc"
)

// File is a policy file. Limits is the type of its limits block.
type File[Limits any] struct {
	Version     yamldoc.Value[units.Count] `yaml:"version" enum:"1" doc:"version of the format" need:"yes"`
	Name        yamldoc.Value[string]      `yaml:"name" doc:"name of the policy"`
	Description yamldoc.Value[string]      `yaml:"description" doc:"purpose of the policy, in one sentence"`
	Default     yamldoc.Value[string]      `yaml:"default" enum:"deny|ask|allow" doc:"effect of a tool call that no rule matches; default deny"`
	Vars        yamldoc.Map[yamldoc.Code]  `yaml:"vars" maxlen:"8192" doc:"CEL expressions for conditions, available as vars.NAME and evaluated at most once per call"`
	Tools       *Tools                     `yaml:"tools" doc:"rules for tools; deny beats ask beats allow, whatever their order and specificity"`
	Limits      *Limits                    `yaml:"limits" doc:"limits on the resources of a run"`
	Risk        *Risk[Limits]              `yaml:"risk" doc:"what a review of a program decides before it runs; the block has every program reviewed"`
	Languages   []yamldoc.Value[string]    `yaml:"languages" enum:"javascript|typescript|python" doc:"languages in which programs may be written; default all"`
	Servers     yamldoc.Map[Server]        `yaml:"servers" doc:"what MCP servers may ask of the client, and whether their resources and prompts may be used, by pattern for their names"`
	Files       *Files                     `yaml:"files" doc:"files that programs may open"`
	Network     *Network                   `yaml:"network" doc:"hosts that programs may reach"`
	Env         *Env                       `yaml:"env" doc:"environment variables that programs may read"`
	Secrets     []Secret                   `yaml:"secrets" doc:"values that the host adds to calls and that programs never see"`
	PII         *PersonalData              `yaml:"pii" doc:"handling of personal data"`
	Approvals   *Approvals                 `yaml:"approvals" doc:"how people are asked for approval"`
	Audit       *Audit                     `yaml:"audit" doc:"how much of a run the audit log keeps; replay needs full for all three"`
	Keep        *bool                      `yaml:"keep" doc:"false: the store keeps digests of code, arguments, output, value and events of runs, and not their text"`
	Output      yamldoc.Value[string]      `yaml:"output" enum:"artifact" doc:"artifact: a value over the output limit is kept as an artifact, and the result has its id, a preview and its shape"`
	Tests       []Test                     `yaml:"tests" doc:"test cases for wexec policy test"`
}

// Tools is the tools block.
type Tools struct {
	Deny  []Rule `yaml:"deny" doc:"calls that are refused"`
	Ask   []Rule `yaml:"ask" doc:"calls that a person must approve"`
	Allow []Rule `yaml:"allow" doc:"calls that are allowed"`
}

// Rule is one rule. A scalar is its tool.
type Rule struct {
	Tool              yamldoc.Value[string]         `yaml:"tool" maxlen:"500" doc:"pattern for server.tool with *, ? and {a,b}; mcp__server__tool is accepted" need:"yes" short:"yes"`
	When              yamldoc.Value[yamldoc.Code]   `yaml:"when" maxlen:"8192" doc:"CEL condition; the rule matches if it is true"`
	Message           yamldoc.Value[string]         `yaml:"message" doc:"text of the refusal or the question"`
	MessageExpression yamldoc.Value[yamldoc.Code]   `yaml:"messageExpression" maxlen:"8192" doc:"CEL expression that returns the message"`
	Limits            *RuleLimits                   `yaml:"limits" doc:"limits on the calls that this rule allows"`
	Cache             yamldoc.Value[units.Duration] `yaml:"cache" doc:"how long an answer may be reused"`
	Timeout           yamldoc.Value[units.Duration] `yaml:"timeout" doc:"how long to wait for an approval"`
	Idempotent        bool                          `yaml:"idempotent" doc:"the tools may be called twice with the same arguments: a call whose outcome is unknown after a crash is made again"`
	OnUnknown         yamldoc.Value[string]         `yaml:"on_unknown" enum:"ask" doc:"ask: a person decides whether a call whose outcome is unknown after a crash is made again"`
	Approved          bool                          `yaml:"approved" doc:"of an allow rule: it applies even if ask rules of the file match, because a person always approves such calls"`
	Pos               yamldoc.Position
}

// Risk is the risk block.
type Risk[Limits any] struct {
	Low      *RiskLevel[Limits]    `yaml:"low" doc:"for programs of every level"`
	Medium   *RiskLevel[Limits]    `yaml:"medium" doc:"for programs of the level medium and above"`
	High     *RiskLevel[Limits]    `yaml:"high" doc:"for programs of the level high and above"`
	Critical *RiskLevel[Limits]    `yaml:"critical" doc:"for programs of the level critical"`
	Unseen   yamldoc.Value[string] `yaml:"unseen" enum:"deny|ask|allow" doc:"effect of a call of a tool that the review did not foresee; default allow"`
	Profile  yamldoc.Value[string] `yaml:"profile" enum:"cars" doc:"cars: weak signals count too, such as imports, the environment and long programs"`
}

// RiskLevel has the settings of the risk block for a level.
type RiskLevel[Limits any] struct {
	Ask     bool                  `yaml:"ask" doc:"a person must approve the program before it runs"`
	Deny    bool                  `yaml:"deny" doc:"the program does not run"`
	Limits  *Limits               `yaml:"limits" doc:"limits on the resources of the run"`
	Network yamldoc.Value[string] `yaml:"network" enum:"none|servers|policy" doc:"none: programs reach no host and no server at a URL; servers: they reach servers only; default policy, what the rest of the policy allows"`
	Pos     yamldoc.Position
}

// RuleLimits is the limits block of a rule.
type RuleLimits struct {
	Calls   yamldoc.Value[units.Count]    `yaml:"calls" min:"1" doc:"number of calls in the run or session"`
	Rate    yamldoc.Value[units.Rate]     `yaml:"rate" doc:"calls per time span, for everything that shares the policy: 5/min"`
	Result  yamldoc.Value[units.Size]     `yaml:"result" min:"1" doc:"size of an answer: 256KiB"`
	Timeout yamldoc.Value[units.Duration] `yaml:"timeout" min:"1" doc:"duration of a call: 20s"`
}

// Server is what one server may ask of the client, and whether its resources and
// prompts may be used.
type Server struct {
	Elicitation yamldoc.Value[string] `yaml:"elicitation" enum:"deny|ask|allow" doc:"forms that the client shows to its person; default deny"`
	Sampling    yamldoc.Value[string] `yaml:"sampling" enum:"deny|ask|allow" doc:"texts of the client's model; default deny"`
	Resources   yamldoc.Value[string] `yaml:"resources" enum:"deny|ask|allow" doc:"documents of the server, read by programs and the client; default deny"`
	Prompts     yamldoc.Value[string] `yaml:"prompts" enum:"deny|ask|allow" doc:"prompts of the server, for the client; default deny"`
}

// Files is the files block.
type Files struct {
	Read  []yamldoc.Value[string] `yaml:"read" doc:"patterns of files that may be read; a folder includes everything below it"`
	Write []yamldoc.Value[string] `yaml:"write" doc:"patterns of files that may be written"`
	Deny  []yamldoc.Value[string] `yaml:"deny" doc:"patterns of files that may never be opened"`
}

// Network is the network block.
type Network struct {
	Allow []Host `yaml:"allow" doc:"hosts that may be reached"`
	Deny  []Host `yaml:"deny" doc:"hosts that may not be reached, or a class: private, loopback, link-local, metadata"`
}

// Host is one host. A scalar is its name.
type Host struct {
	Host    yamldoc.Value[string]        `yaml:"host" doc:"name with * for any characters, address, or network such as 10.0.0.0/8" need:"yes" short:"yes"`
	Methods []yamldoc.Value[string]      `yaml:"methods" doc:"HTTP methods; default all"`
	Ports   []yamldoc.Value[units.Count] `yaml:"ports" min:"1" doc:"ports; default 80 and 443"`
	Pos     yamldoc.Position
}

// Env is the env block.
type Env struct {
	Allow []yamldoc.Value[string] `yaml:"allow" doc:"names, with * for any characters"`
}

// Secret is one secret.
type Secret struct {
	Name yamldoc.Value[string]   `yaml:"name" doc:"name of the secret" need:"yes"`
	From yamldoc.Value[string]   `yaml:"from" doc:"source of the value: env:NAME or file:PATH" need:"yes"`
	To   []yamldoc.Value[string] `yaml:"to" doc:"recipients: server:NAME, host:PATTERN or patterns for tools" need:"yes"`
	As   yamldoc.Value[string]   `yaml:"as" doc:"form: env:NAME, header:NAME: TEXT with {} for the value, or arg:NAME" need:"yes"`
	Pos  yamldoc.Position
}

// PersonalData is the pii block.
type PersonalData struct {
	Mode     yamldoc.Value[string]                `yaml:"mode" enum:"off|detect|tokenize|redact|block|partial" doc:"what happens to personal data"`
	Detect   []yamldoc.Value[string]              `yaml:"detect" doc:"kinds to detect; default email, phone, card, ssn, iban and secret; [] is every kind"`
	RevealTo []yamldoc.Value[string]              `yaml:"reveal_to" maxlen:"500" doc:"tools whose arguments get values instead of tokens"`
	Level    yamldoc.Value[string]                `yaml:"level" enum:"strict|balanced|relaxed" doc:"evidence required for a finding; strict finds most"`
	Regions  []yamldoc.Value[string]              `yaml:"regions" doc:"countries whose phone numbers are detected without a country code"`
	Patterns yamldoc.Map[string]                  `yaml:"patterns" doc:"custom kinds: name and regular expression in RE2 syntax"`
	Lists    yamldoc.Map[[]yamldoc.Value[string]] `yaml:"lists" doc:"words and phrases of a kind"`
	Fields   *Fields                              `yaml:"fields" doc:"fields for which the name decides"`
	Ignore   []yamldoc.Value[string]              `yaml:"ignore" doc:"values that are never personal data: *@example.org"`
	Tools    yamldoc.Map[string]                  `yaml:"tools" enum:"off|detect|tokenize|redact|block|partial" doc:"modes for the answers of tools, by pattern"`
	Modes    yamldoc.Map[string]                  `yaml:"modes" enum:"off|detect|tokenize|redact|block|partial" doc:"modes for fields, by pattern"`
}

// Fields is the fields block of the pii block.
type Fields struct {
	Never  []yamldoc.Value[string] `yaml:"never" doc:"fields that are not searched"`
	Always []yamldoc.Value[string] `yaml:"always" doc:"fields whose values are always personal data"`
}

// Approvals is the approvals block.
type Approvals struct {
	Via      []yamldoc.Value[string]       `yaml:"via" enum:"terminal|mcp|socket|page|api" doc:"where people are asked; default all but socket"`
	Timeout  yamldoc.Value[units.Duration] `yaml:"timeout" min:"1" doc:"time after which an unanswered question is a denial: 10m"`
	Remember yamldoc.Value[string]         `yaml:"remember" enum:"never|run|session" doc:"how long an answer applies to the same call"`
}

// Audit is the audit block.
type Audit struct {
	Code    yamldoc.Value[string] `yaml:"code" enum:"hash|full|none" doc:"the program"`
	Inputs  yamldoc.Value[string] `yaml:"inputs" enum:"hash|full|none" doc:"arguments and input"`
	Outputs yamldoc.Value[string] `yaml:"outputs" enum:"hash|full|none" doc:"value, output and answers of tools"`
}

// Test is one test case.
type Test struct {
	Tool   yamldoc.Value[string] `yaml:"tool" doc:"tool to call, as server.tool" need:"yes"`
	Args   yamldoc.Object        `yaml:"args" doc:"arguments of the call"`
	Expect yamldoc.Value[string] `yaml:"expect" enum:"deny|ask|allow" doc:"expected decision" need:"yes"`
	Pos    yamldoc.Position
}

// Read decodes a policy file.
func Read[Limits any](r *yamldoc.Reporter, data []byte) *File[Limits] {
	var f File[Limits]
	yamldoc.Decode(r, data, &f)
	if f.Tools == nil {
		f.Tools = &Tools{}
	}
	return &f
}

// ReadTests decodes a file of test cases: a list, or a mapping with the key
// tests.
func ReadTests(r *yamldoc.Reporter, data []byte) []Test {
	var f struct {
		Tests []Test `yaml:"tests" doc:"test cases" need:"yes"`
	}
	if start := strings.TrimLeft(string(data), " \t\r\n"); strings.HasPrefix(start, "-") && !strings.HasPrefix(start, "---") {
		yamldoc.Decode(r, data, &f.Tests)
	} else {
		yamldoc.Decode(r, data, &f)
	}
	return f.Tests
}

// Schema returns the JSON Schema of a policy file.
func Schema[Limits any]() []byte {
	return yamldoc.Schema(reflect.TypeFor[File[Limits]](), "wexec policy")
}
