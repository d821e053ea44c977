package policy

import (
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/jsonnum"
)

// A condition compares a large integer with every digit, or fails.
func TestConditionsSeeEveryDigitOfAnInteger(t *testing.T) {
	for _, c := range []struct {
		number, when string
		want         Effect
	}{
		{"9007199254740993", "args.n == 9007199254740993", Allow},
		{"9007199254740993", "args.n == 9007199254740992", Deny},
		{"9007199254740993.0", "args.n == 9007199254740993", Allow},
		{"9.007199254740993e15", "args.n == 9007199254740993", Allow},
		{"9007199254740993", "args.n <= 9007199254740992", Deny},
		{"9007199254740993", "args.n in [9007199254740992, 9007199254740994]", Deny},
		{"9007199254740993", "args.n + 1 == 9007199254740994", Allow},
		{"-9007199254740993", "args.n < -9007199254740992", Allow},
		{"9223372036854775807", "args.n == 9223372036854775807", Allow},
		{"9223372036854775808", "args.n == 9223372036854775807", Deny},
		{"9223372036854775808", "args.n == 9223372036854775808u", Allow},
		{"18446744073709551615", "args.n > 9223372036854775807", Allow},
		{"18446744073709551615", "args.n > 1.5", Allow},
		{"18446744073709551616", "args.n > 1.5", Deny}, // no type of CEL has it
		{"1e300", "args.n > 1.5", Allow},
		{"18446744073709551617", "args.n > 1.5", Deny},
		{"12345678901234567890123", "args.n != 1", Deny},
		{"12345678901234567890123", "true", Allow},
		{"1.0", "args.n == 1", Allow},
		{"1", "args.n == 1.0", Allow},
		{"1.5", "args.n == 1", Deny},
		{"-0", "args.n == 0", Allow},
		{"1e15", "args.n == 1000000000000000", Allow},
	} {
		p, err := Parse("policy.yaml", []byte("version: 1\ntools: {allow: [{tool: a.b, when: '"+c.when+"'}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		args, err := jsonnum.Decode([]byte(`{"n":` + c.number + `}`))
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(Request{Tool: catalogue.Tool{Server: "a", Name: "b"}, Args: args.(map[string]any)})
		if d.Effect != c.want {
			t.Errorf("%s with n = %s: %s, want %s (%q)", c.when, c.number, d.Effect, c.want, d.Warnings)
		}
		deny, err := Parse("policy.yaml", []byte("version: 1\ntools: {allow: [a.b], deny: [{tool: a.b, when: '!("+c.when+")'}]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if d := deny.Decide(Request{Tool: catalogue.Tool{Server: "a", Name: "b"}, Args: args.(map[string]any)}); d.Effect != c.want {
			t.Errorf("denied unless %s with n = %s: %s, want %s", c.when, c.number, d.Effect, c.want)
		}
	}
}
