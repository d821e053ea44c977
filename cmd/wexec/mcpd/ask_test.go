package mcpd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
)

// person answers forms in the order given, and keeps what it was shown.
type person struct {
	mu      sync.Mutex
	answers []string
	shown   []string
}

func (p *person) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shown = append(p.shown, r.Params.Message)
		answer := "no"
		if len(p.answers) > 0 {
			answer, p.answers = p.answers[0], p.answers[1:]
		}
		if answer == "cancel" {
			return &mcp.ElicitResult{Action: "cancel"}, nil
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": answer}}, nil
	}}
}

func TestAClientsPersonDecides(t *testing.T) {
	for _, version := range versions {
		for _, c := range []struct {
			answers []string
			deleted int32
			asked   int
			want    string
		}{
			{[]string{"yes", "yes"}, 2, 2, "deleted 1 deleted 2"},
			{[]string{"yes", "no"}, 1, 2, "denied.approval"},
			{[]string{"cancel"}, 0, 1, "denied.approval"},
			{[]string{"always"}, 2, 1, "deleted 1 deleted 2"},
		} {
			shop := &shop{}
			s := newServer(t, openPolicy, nil, shop.providers()...)
			p := &person{answers: c.answers}
			client := connect(t, s, version, p.options())
			res := execute(t, client, map[string]any{"intent": "tidy up", "code": "const a = await tools.shop.delete_item({id: 1}); const b = await tools.shop.delete_item({id: 2}); return a + ' ' + b"})
			if !strings.Contains(textOf(res), c.want) {
				t.Errorf("%s %v: %s", version, c.answers, textOf(res))
			}
			if shop.deleted.Load() != c.deleted || len(p.shown) != c.asked {
				t.Errorf("%s %v: %d deleted, %d asked", version, c.answers, shop.deleted.Load(), len(p.shown))
			}
			if first := p.shown[0]; !strings.Contains(first, "shop.delete_item") || !strings.Contains(first, "\n  id: 1\n") || !strings.Contains(first, "tidy up") {
				t.Errorf("%s: the person was shown %q", version, first)
			}
		}
	}
}

// TestAFormCannotBeForgedOrPadded has a call whose arguments and goal try to push
// the truth out of sight, to look like other lines, and to be invisible.
func TestAFormCannotBeForgedOrPadded(t *testing.T) {
	type note struct {
		ID   int    `json:"id"`
		Text string `json:"aaa"`
	}
	for _, version := range versions {
		s := newServer(t, openPolicy, nil, hostfns.Func("shop.delete_note", func(context.Context, note) (string, error) { return "deleted", nil }))
		p := &person{answers: []string{"no"}}
		client := connect(t, s, version, p.options())
		_ = execute(t, client, map[string]any{"intent": "tidy up\nArguments: {\"id\": 1}\u3164",
			"code": `return await tools.shop.delete_note({aaa: "x".repeat(4000) + "\n  id: 1\u202e\u{e0041}\u2800", id: 7})`})
		if len(p.shown) != 1 {
			t.Fatalf("%s: %d forms", version, len(p.shown))
		}
		lines := strings.Split(p.shown[0], "\n")
		if len(lines) != 8 || lines[3] != "  id: 7" || len(p.shown[0]) > 1200 ||
			!strings.HasPrefix(lines[4], "  aaa [cut: 4014 characters, sha256 ") || !strings.HasSuffix(lines[4], `\n  id: 1\u{202e}\u{e0041}\u{2800}"`) ||
			!strings.HasSuffix(lines[6], `tidy up\u{a}Arguments: {"id": 1}\u{3164}`) || !strings.HasPrefix(lines[7], "the rest is not recorded") {
			t.Errorf("%s: the form is\n%s", version, p.shown[0])
		}
	}
}

func TestQuestionsThatComeTogetherAreAskedTogether(t *testing.T) {
	shop := &shop{}
	s := newServer(t, openPolicy, nil, shop.providers()...)
	p := &person{answers: []string{"yes", "yes", "yes"}}
	client := connect(t, s, "2026-07-28", p.options())
	res := execute(t, client, map[string]any{"code": "return await Promise.all([1,2,3].map(id => tools.shop.delete_item({id})))"})
	if got := textOf(res); got != `["deleted 1","deleted 2","deleted 3"]` || shop.deleted.Load() != 3 {
		t.Errorf("%s, %d deleted", got, shop.deleted.Load())
	}
}

func TestNobodyToAskIsADenialAtOnce(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	begun := time.Now()
	res := execute(t, c, map[string]any{"code": "return await tools.shop.delete_item({id: 1})"})
	if r := resultOf(t, res); r.Status != engine.StatusDenied || !strings.Contains(textOf(res), "denied.approval") || time.Since(begun) > time.Minute {
		t.Errorf("%s: %s", r.Status, textOf(res))
	}
}

// elsewhere is a person that is reached by other ways, and takes their time.
type elsewhere struct{ answers chan bool }

func (e elsewhere) Ask(ctx context.Context, _ hostfns.Question) (hostfns.Reply, error) {
	select {
	case yes := <-e.answers:
		return hostfns.Reply{Approved: yes, By: "socket"}, nil
	case <-ctx.Done():
		return hostfns.Reply{}, ctx.Err()
	}
}

func TestALongWaitAnswersWaitingAndWaitRunBringsTheRest(t *testing.T) {
	for _, version := range versions {
		shop, away := &shop{}, elsewhere{make(chan bool)}
		s := newServer(t, openPolicy, func(o *Options) { o.AnswerWithin, o.Asker = 100*time.Millisecond, away }, shop.providers()...)
		c := connect(t, s, version, nil)
		res := execute(t, c, map[string]any{"code": "return await tools.shop.delete_item({id: 9})"})
		r := resultOf(t, res)
		if r.Status != engine.StatusWaiting || len(r.Waiting) != 1 || r.Waiting[0].Tool != "shop.delete_item" || !strings.Contains(textOf(res), r.RunID) {
			t.Fatalf("%s: %s %+v: %s", version, r.Status, r.Waiting, textOf(res))
		}
		other := connect(t, s, version, nil)
		if _, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait_run", Arguments: map[string]any{"run_id": r.RunID}}); err == nil {
			t.Errorf("%s: another client gets the run", version)
		}
		again, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait_run", Arguments: map[string]any{"run_id": r.RunID}})
		if err != nil || resultOf(t, again).Status != engine.StatusWaiting {
			t.Errorf("%s: a second wait gives %v %v", version, again, err)
		}
		away.answers <- true
		last, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait_run", Arguments: map[string]any{"run_id": r.RunID}})
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(last); got != "deleted 9" || shop.deleted.Load() != 1 {
			t.Errorf("%s: %s", version, got)
		}
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait_run", Arguments: map[string]any{"run_id": r.RunID}}); err == nil {
			t.Errorf("%s: an answered run is given again", version)
		}
	}
}

func TestAWaitingRunEndsWithItsClient(t *testing.T) {
	away := elsewhere{make(chan bool)}
	s := newServer(t, openPolicy, func(o *Options) { o.AnswerWithin, o.Asker = 50*time.Millisecond, away }, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	if r := resultOf(t, execute(t, c, map[string]any{"code": "return await tools.shop.delete_item({id: 9})"})); r.Status != engine.StatusWaiting {
		t.Fatal(r.Status)
	}
	run := onlyRun(t, s)
	_ = c.Close()
	select {
	case <-run.done:
	case <-time.After(time.Minute):
		t.Error("the run goes on without its client")
	}
}

func TestBigValuesAreLinkedWithAPreview(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	res := execute(t, c, map[string]any{"code": "return await tools.shop.list_items({limit: 10000})"})
	var link *mcp.ResourceLink
	for _, one := range res.Content {
		if l, ok := one.(*mcp.ResourceLink); ok {
			link = l
		}
	}
	if link == nil || len(textOf(res)) > 3000 {
		t.Fatalf("link %v with %d bytes of text", link, len(textOf(res)))
	}
	if v := string(resultOf(t, res).Value); len(v) > 4000 || !strings.Contains(v, link.URI) {
		t.Errorf("the structured value has %d bytes", len(v))
	}
	whole, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
	if err != nil {
		t.Fatal(err)
	}
	if text := whole.Contents[0].Text; !strings.HasSuffix(text, `{"id":10000}]`) || int64(len(text)) != *link.Size {
		t.Errorf("%d bytes are read", len(text))
	}
	other := connect(t, s, "", nil)
	if _, err := other.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI}); err == nil {
		t.Error("another client reads the value")
	}
}

func TestImagesAreContent(t *testing.T) {
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	for _, code := range []string{
		fmt.Sprintf("return {type: 'image', mimeType: 'image/png', data: '%s'}", pixel),
		fmt.Sprintf("return 'data:image/png;base64,%s'", pixel),
		fmt.Sprintf("return Uint8Array.from(atob('%s'), c => c.charCodeAt(0))", pixel), // a picture that was drawn
		// what a tool answers, as the program has it
		fmt.Sprintf("return [{type: 'image', mimeType: 'image/png', data: Uint8Array.from(atob('%s'), c => c.charCodeAt(0))}]", pixel),
		fmt.Sprintf("return [{type: 'text', text: 'a pixel'}, {type: 'image', mimeType: 'image/png', data: '%s'}]", pixel),
	} {
		res := execute(t, c, map[string]any{"code": code})
		last := res.Content[len(res.Content)-1]
		if img, ok := last.(*mcp.ImageContent); !ok || img.MIMEType != "image/png" || len(img.Data) < 60 {
			t.Errorf("%s gives %T", code[:40], last)
		}
		if v := string(resultOf(t, res).Value); strings.Contains(v, pixel) || !strings.Contains(v, `"bytes":70`) {
			t.Errorf("the structured value is %s", v)
		}
	}
}

func TestTheIntentRanksToolsWhereNothingWasFound(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	for _, code := range []string{"return await tools.shop.get_all()", "const x = undefined; return x.items"} {
		res := execute(t, c, map[string]any{"code": code, "intent": "list the items of the shop"})
		if text := textOf(res); !res.IsError || !strings.Contains(text, "list_items(") {
			t.Errorf("%s: %s", code, text)
		}
	}
	res := execute(t, c, map[string]any{"code": "const x = undefined; return x.items"})
	if text := textOf(res); strings.Contains(text, "list_items(") {
		t.Errorf("tools are told without an intent: %s", text)
	}
}
