package policy_test

import (
	"fmt"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
)

// A decision names the rule and the reason.
func Example() {
	p, err := policy.Parse("policy.yaml", []byte(`
version: 1
tools:
  deny: [github.delete_*]
  ask:
    - tool: mail.send
      when: '!args.to.endsWith("@acme.com")'
      messageExpression: '"mail to " + args.to + " leaves the company"'
  allow: ["github.*", mail.send]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range []struct{ server, tool, to string }{
		{"github", "list_commits", ""}, {"github", "delete_repo", ""}, {"mail", "send", "bob@else.org"}, {"shop", "buy", ""},
	} {
		d := p.Decide(policy.Request{Tool: catalogue.Tool{Server: c.server, Name: c.tool}, Args: map[string]any{"to": c.to}})
		fmt.Printf("%s %s %q\n", d.Effect, d.Rule, d.Message)
	}
	// Output:
	// allow policy.yaml:9 ""
	// deny policy.yaml:4 "the policy denies github.delete_*"
	// ask policy.yaml:6 "mail to bob@else.org leaves the company"
	// deny policy.yaml "no rule allows shop.buy"
}

// All problems of a file are reported at once.
func ExampleParse() {
	_, err := policy.Parse("policy.yaml", []byte(`
version: 1
limits: {tme: 30s, memory: lots}
tools:
  alow: [github.*]
`))
	fmt.Println(err)
	// Output:
	// policy.yaml:3:10: unknown key tme (did you mean time?)
	// policy.yaml:3:28: memory: "lots" is not a size (write it as 65536, 64KiB or 256MiB)
	// policy.yaml:5:3: unknown key alow (did you mean allow?)
}

// Flags widen the defaults, never a file.
func ExampleLayer() {
	file, err := policy.Parse("policy.yaml", []byte("version: 1\ntools: {allow: [github.*]}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	flags, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, DenyTool: []string{"github.delete_*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := policy.Layer(policy.Layered{Policy: file, Origin: policy.User}, policy.Layered{Policy: flags, Origin: policy.FromCLI})
	for _, name := range []string{"list_commits", "delete_repo"} {
		fmt.Println(p.Decide(policy.Request{Tool: catalogue.Tool{Server: "github", Name: name}}).Effect)
	}
	fmt.Println(p.Decide(policy.Request{Tool: catalogue.Tool{Server: "mail", Name: "send"}}).Effect)
	// Output:
	// allow
	// deny
	// deny
}
