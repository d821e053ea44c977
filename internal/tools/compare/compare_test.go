package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/prices"
)

func comparison(t *testing.T) *compare {
	t.Helper()
	list, err := prices.Public()
	if err != nil {
		t.Fatal(err)
	}
	return &compare{ctx: t.Context(), work: t.TempDir(), trip: trip, tokens: codec.NewO200kBase(), prices: list}
}

func outcomeOf(name string, plain, program int, goal float64) outcome {
	return outcome{
		job:      job{name: name, how: "page by page", goal: goal},
		plain:    side{definitions: plain / 4, written: plain / 4, read: plain - 2*(plain/4), calls: 11, turns: 12, tools: time.Second, wall: 10 * time.Second},
		program:  side{definitions: program, turns: 2, wall: 2 * time.Second},
		estimate: estimate{in: 1020, exactIn: 1000, out: 10, exactOut: 10},
	}
}

func TestTokensAreCountedAsTheModelDoes(t *testing.T) {
	c := comparison(t)
	for text, want := range map[string]int{"": 0, "hello world": 2} {
		if n, err := c.count(text); err != nil || n != want {
			t.Errorf("%q has %d tokens, not %d: %v", text, n, want, err)
		}
	}
	if n, err := c.count("hello world", "hello world"); err != nil || n != 4 {
		t.Errorf("two texts have %d tokens: %v", n, err)
	}
}

func TestSharesAreOfThePlainSide(t *testing.T) {
	o := outcomeOf("x", 1000, 10, 0.98)
	if o.plain.tokens() != 1000 || o.program.tokens() != 10 {
		t.Fatalf("%d and %d", o.plain.tokens(), o.program.tokens())
	}
	if s := o.saved(); s < 0.9899 || s > 0.9901 {
		t.Errorf("saved %f", s)
	}
	if f := o.faster(); f < 0.79 || f > 0.81 {
		t.Errorf("faster by %f", f)
	}
	if d := off(1020, 1000); d < 0.0199 || d > 0.0201 {
		t.Errorf("off by %f", d)
	}
	if off(5, 0) != 0 {
		t.Error("nothing to estimate is nothing wrong")
	}
}

func TestMissedGoalsAreToldAll(t *testing.T) {
	good := outcomeOf("good", 1000, 10, 0.98)
	if err := missed([]outcome{good}, []corpus{{name: "c"}}); err != nil {
		t.Errorf("a job that is good: %v", err)
	}
	slow, dear, vague := outcomeOf("slow", 1000, 10, 0.98), outcomeOf("dear", 1000, 30, 0.98), outcomeOf("vague", 1000, 10, 0.98)
	slow.program.wall = 5 * time.Second
	vague.estimate.in = 900
	err := missed([]outcome{slow, good, dear, vague}, []corpus{{name: "examples", err: errors.New("half are wrong")}})
	for _, want := range []string{"slow: 50 %", "dear: 97.00 %", "vague: the estimate", "-10.0 %", "examples: half are wrong"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "good") {
		t.Errorf("what is good is told: %v", err)
	}
}

// pager answers in pages of two.
func pager(t *testing.T) *mcp.ClientSession {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "pager", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "list", Description: "Numbers.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Page int }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			text := map[int]string{1: "[1,2]", 2: "[3]"}[in.Page]
			if text == "" {
				return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no such page"}}}, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	near, far := mcp.NewInMemoryTransports()
	go func() { _ = s.Run(context.WithoutCancel(t.Context()), far) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestPlainCallsAreCountedInBothDirections(t *testing.T) {
	c := comparison(t)
	session := pager(t)
	p := &plainRun{c: c, sessions: map[string]*mcp.ClientSession{"pager": session}, answers: map[string][]string{}}
	page := func(n int) call { return call{"pager", "list", map[string]any{"page": n}} }
	texts, err := p.turn(page(1), page(2))
	if err != nil || len(texts) != 2 || texts[0] != "[1,2]" || texts[1] != "[3]" {
		t.Fatalf("%v, %v", texts, err)
	}
	written, read := 0, 0
	for i, text := range texts {
		n, err := c.count(`{"input":{"page":` + strconv.Itoa(i+1) + `},"name":"mcp__pager__list"}`)
		if err != nil {
			t.Fatal(err)
		}
		written += n
		if n, err = c.count(text); err != nil {
			t.Fatal(err)
		}
		read += n
	}
	if s := p.side; s.turns != 1 || s.calls != 2 || s.written != written || s.read != read || s.tools <= 0 {
		t.Errorf("%+v, not %d written and %d read", s, written, read)
	}
	if got := p.answers["pager.list"]; len(got) != 2 || got[1] != "[3]" {
		t.Errorf("answers %v", got)
	}
	if _, err := p.turn(page(9)); err == nil || !strings.Contains(err.Error(), "no such page") {
		t.Errorf("a failure is %v", err)
	}
	n, err := c.definitions(session, "pager")
	if err != nil || n == 0 {
		t.Errorf("definitions of %d tokens, %v", n, err)
	}
	long, err := c.definitions(session, "a_server_with_a_rather_long_name_of_its_own")
	if err != nil || long <= n {
		t.Errorf("the name of the server is part of the definitions: %d and %d, %v", n, long, err)
	}
}

func TestPagesEndWhereTheyAreNotFull(t *testing.T) {
	for text, want := range map[string]bool{"[1,2]": true, "[1,2,3]": true, "[1]": false, "[]": false, "{}": false, "no JSON": false} {
		if full(text, 2) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	all, err := joined[int]([]string{"[1,2]", "[3]"})
	if err != nil || len(all) != 3 || all[2] != 3 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := joined[int]([]string{"[1", "2]"}); err == nil {
		t.Error("half a page is read")
	}
}

func TestBothWaysHaveToAgree(t *testing.T) {
	if err := same(json.RawMessage(`{"b":[1,2],"a":"x"}`), map[string]any{"a": "x", "b": []int{1, 2}}); err != nil {
		t.Error(err)
	}
	for _, value := range []string{`{"a":"x","b":[2,1]}`, `{"a":"x"}`, `nothing`} {
		if same(json.RawMessage(value), map[string]any{"a": "x", "b": []int{1, 2}}) == nil {
			t.Errorf("%s agrees", value)
		}
	}
}

func TestEachJobHasItsProgramAndItsGoal(t *testing.T) {
	all := jobs()
	if len(all) != 6 {
		t.Errorf("%d jobs", len(all))
	}
	if err := os.Chdir("../../.."); err != nil { // where the command is run
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chdir("internal/tools/compare") })
	for _, j := range all {
		code, err := j.code()
		if err != nil || len(code) < 100 {
			t.Errorf("%s: %d bytes of program, %v", j.name, len(code), err)
		}
		if j.goal < 0.98 || len(j.servers) == 0 || j.plain == nil || j.check == nil || j.how == "" {
			t.Errorf("%s: %+v", j.name, j)
		}
	}
	if !strings.HasPrefix(all[0].name, "1,000 commits") || all[0].goal != 0.99 {
		t.Errorf("the first job is %s with %f", all[0].name, all[0].goal)
	}
}

func TestTheManyToolsAreTwoThousand(t *testing.T) {
	names := map[string]bool{}
	for _, server := range extraServers {
		n := 0
		for _, region := range regions {
			for _, noun := range subjects[server] {
				for _, a := range actions {
					if n++; n <= extraTools {
						names[server+"."+a.name+"_"+region+"_"+noun] = true
					}
				}
			}
		}
	}
	if len(names) != len(extraServers)*extraTools || len(names)+15 != 2000 {
		t.Errorf("%d tools in addition to those of the demo servers", len(names))
	}
}

func TestAProgramThatFailedIsNoResult(t *testing.T) {
	for name, c := range map[string]struct {
		content any
		ok      bool
	}{
		"ok":      {map[string]any{"status": "ok", "value": 1}, true},
		"failed":  {map[string]any{"status": "error"}, false},
		"another": {[]int{1}, false},
	} {
		res, err := resultOf(&mcp.CallToolResult{StructuredContent: c.content})
		if c.ok != (err == nil) || c.ok && string(res.Value) != "1" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := resultText(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "why"}}}); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("%v", err)
	}
}

func TestNothingIsEstimatedWithoutARecord(t *testing.T) {
	c := comparison(t)
	if _, err := c.exact(t.TempDir(), &engine.Result{RunID: "none"}); err == nil {
		t.Error("a run without a record has exact counts")
	}
}

func TestTheReportSaysWhatWasMissed(t *testing.T) {
	good, bad := outcomeOf("good & <fine>", 661_546, 1525, 0.99), outcomeOf("bad", 1000, 500, 0.98)
	bad.estimate.in = 2000
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if grouped(n) != want {
			t.Errorf("%d is written %s", n, grouped(n))
		}
	}
	all := []outcome{good, bad}
	text := table(all)
	for _, want := range []string{"661,546", "1,525", "99.77 %", "50.00 % (goal missed)", "+100.0 % (goal missed)", "80 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	doc := comparison(t).document(all, []corpus{{name: "examples", lines: []string{"100 of 100"}, err: errors.New("one is wrong")}})
	for _, want := range []string{"# Tool calls and programs", "| good & <fine> | 661,546 | 1,525 |", "simulated 800 ms", "50.00 % (goal missed)", "examples", "100 of 100", "one is wrong", "![", "compare.svg"} {
		if !strings.Contains(doc, want) {
			t.Errorf("the document lacks %q", want)
		}
	}
	if strings.Contains(comparison(t).document(all, nil), "## Privacy and search") {
		t.Error("the document has a section for corpora that did not run")
	}
}

// drawn reads the picture's bars.
func drawn(t *testing.T, svg string) (widths []float64, right float64, texts []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	d.Strict = true
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return widths, right, texts
		}
		if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
			at := map[string]string{}
			for _, a := range e.Attr {
				at[a.Name.Local] = a.Value
			}
			if e.Name.Local == "svg" {
				right, _ = strconv.ParseFloat(at["width"], 64)
			}
			if e.Name.Local == "rect" && at["height"] != "10" && at["class"] != "paper" {
				w, err := strconv.ParseFloat(at["width"], 64)
				if err != nil || w < 0 {
					t.Errorf("a bar of width %q", at["width"])
				}
				widths = append(widths, w)
			}
		case xml.CharData:
			if inText {
				texts = append(texts, string(e))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestThePictureShowsEachJobTwice(t *testing.T) {
	all := []outcome{outcomeOf("first & <best>", 661_546, 1525, 0.99), outcomeOf("second", 17_249_339, 940, 0.98), outcomeOf("tiny", 1000, 20, 0.98)}
	svg := picture(all)
	widths, right, texts := drawn(t, svg)
	if len(widths) != 6 {
		t.Fatalf("%d bars", len(widths))
	}
	for i := 0; i < len(widths); i += 2 {
		if widths[i] <= widths[i+1] {
			t.Errorf("job %d: plain %.1f, program %.1f", i/2, widths[i], widths[i+1])
		}
	}
	if widths[2] <= widths[0] || widths[2] > right {
		t.Errorf("bars %v in a picture of %f", widths, right)
	}
	joined := strings.Join(texts, "|")
	for _, want := range []string{"first & <best>", "17,249,339", "99.77 % saved", "plain tool calls", "one program"} {
		if !strings.Contains(joined, want) {
			t.Errorf("the picture lacks %q: %s", want, joined)
		}
	}
}
