package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// formClient is a client with one answer.
type formClient struct {
	answer string
	shown  []string
}

func (c *formClient) Feature(_ context.Context, _ policy.Feature, _ string, params json.RawMessage) (json.RawMessage, error) {
	c.shown = append(c.shown, string(params))
	return json.RawMessage(c.answer), nil
}

// asking is a server whose tools ask the client for what their arguments say, and
// answer with what they got.
func asking(names ...string) *fakeProvider {
	p := &fakeProvider{call: func(ctx context.Context, c Call) (Answer, error) {
		var args struct {
			Times  int
			Params json.RawMessage
		}
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return Answer{}, err
		}
		var all []string
		for range max(args.Times, 1) {
			got, err := c.Gate.Feature(ctx, policy.Elicitation, args.Params)
			if err != nil {
				return Answer{}, err
			}
			all = append(all, string(got))
		}
		data, err := json.Marshal(all)
		return Answer{Data: data}, err
	}}
	for _, name := range names {
		p.tools = append(p.tools, tool(name, `{}`))
	}
	return p
}

func TestAClientIsShownTokensAndAServerGetsThem(t *testing.T) {
	var sink audit.Memory
	people := &fakeProvider{tools: []catalogue.Tool{tool("crm.get", `{}`)}, call: func(context.Context, Call) (Answer, error) {
		return Answer{Data: []byte(`"ada@example.com"`)}, nil
	}}
	table, err := NewTable(mustPolicy(t, `version: 1
tools: {allow: ["*"]}
servers: {form: {elicitation: allow}, shown: {elicitation: allow}}
pii: {mode: tokenize, reveal_to: [shown.ask]}
`), &sink, people, asking("form.ask"), asking("shown.ask"))
	if err != nil {
		t.Fatal(err)
	}
	client := &formClient{answer: `{"action":"accept","content":{"to":"[EMAIL_1]"}}`}
	r := openRun(t, table, RunInfo{Client: client})
	if _, err := r.Call(t.Context(), "crm.get", nil); err != nil {
		t.Fatal(err)
	}
	request := []byte(`{"params":{"message":"write to ada@example.com\u200b or bob@example.com","requestedSchema":{"properties":{"ada@example.com":{"enum":["ada@example.com"]}}}}}`)
	for _, tool := range []string{"form.ask", "shown.ask"} {
		a, err := r.Call(t.Context(), tool, request)
		if err != nil || !strings.Contains(string(a.Data), "EMAIL_1]") || strings.Contains(string(a.Data), "ada@") {
			t.Errorf("%s: the program sees %s: %v", tool, a.Data, err)
		}
	}
	for _, shown := range client.shown {
		if strings.Contains(shown, "@example.com") || strings.Contains(shown, "\u200b") || !strings.Contains(shown, "[EMAIL_1]") {
			t.Errorf("the client is shown %s", shown)
		}
	}
	var kinds []string
	for _, e := range sink.Events() {
		if b := fmt.Sprintf("%+v %+v", e.Decision, e.Call); strings.Contains(b, "@example.com") {
			t.Errorf("the record has %s", b)
		}
		if d := e.Decision; d != nil && d.Kind == "elicitation" {
			kinds = append(kinds, d.Effect)
			if d.Approval != nil {
				kinds = append(kinds, d.Approval.Answer)
			}
		}
	}
	if want := []string{"allow", "allow", "accept", "allow", "allow", "accept"}; !slices.Equal(kinds, want) {
		t.Errorf("recorded %q", kinds)
	}
}

func TestWhatAServerAsksIsBounded(t *testing.T) {
	rules := mustPolicy(t, "version: 1\ntools: {allow: ['*']}\nservers: {form: {elicitation: allow}}\npii: {mode: 'off'}\n")
	for name, c := range map[string]struct {
		args, answer string
		code         fault.Code
		shown        int
	}{
		"one":                   {`{"params":{"message":"x"}}`, `{"action":"decline"}`, "", 1},
		"many":                  {`{"params":{"message":"x"},"times":33}`, `{}`, fault.ToolFailed, maxFeatures},
		"a large one":           {`{"params":{"message":"` + strings.Repeat("x", maxFeature) + `"}}`, `{}`, fault.ToolFailed, 0},
		"many texts":            {`{"params":["` + strings.Repeat(`x","`, maxFeatureTexts) + `"]}`, `{}`, fault.ToolFailed, 0},
		"a large answer":        {`{"params":{"message":"x"}}`, `"` + strings.Repeat("x", maxFeatureAnswer) + `"`, fault.ToolFailed, 1},
		"more than the run has": {`{"params":{"message":"x"},"times":32}`, `"` + strings.Repeat("x", 1<<19) + `"`, fault.LimitHostBytes, 8},
	} {
		client := &formClient{answer: c.answer}
		table, err := NewTable(rules, audit.None(), asking("form.ask"))
		if err != nil {
			t.Fatal(err)
		}
		r := openRun(t, table, RunInfo{Client: client, Limits: policy.Limits{HostBytes: 4 << 20}})
		_, err = r.Call(t.Context(), "form.ask", []byte(c.args))
		if fault.CodeOf(err) != c.code || len(client.shown) != c.shown {
			t.Errorf("%s: %v, shown %d times", name, err, len(client.shown))
		}
	}
}

func TestAServerIsRefusedWithTheReason(t *testing.T) {
	for name, c := range map[string]struct {
		rules  string
		client Client
		says   string
	}{
		"no rule":     {"", &formClient{}, "no rule allows server form to use elicitation"},
		"a deny rule": {"servers: {form: {elicitation: deny}}\n", &formClient{}, "server form may not use elicitation"},
		"no client":   {"servers: {form: {elicitation: allow}}\n", nil, "the client does not have it"},
		"nobody":      {"servers: {form: {elicitation: ask}}\n", &formClient{}, "no person approved it"},
	} {
		table, err := NewTable(mustPolicy(t, "version: 1\ntools: {allow: ['*']}\n"+c.rules), audit.None(), asking("form.ask"))
		if err != nil {
			t.Fatal(err)
		}
		r := openRun(t, table, RunInfo{Client: c.client})
		if _, err := r.Call(t.Context(), "form.ask", []byte(`{"params":{"message":"x"}}`)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if client, ok := c.client.(*formClient); ok && len(client.shown) > 0 {
			t.Errorf("%s: the client was shown %s", name, client.shown)
		}
	}
}
