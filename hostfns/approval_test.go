package hostfns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// person answers the questions of a test.
type person func(ctx context.Context, q Question) (Reply, error)

func (p person) Ask(ctx context.Context, q Question) (Reply, error) { return p(ctx, q) }

const askMail = `version: 1
tools:
  ask:
    - {tool: mail.send, messageExpression: '"mail to " + args.to'}
    - {tool: mail.slow, timeout: 30ms}
  allow: ['mail.{list,reveal}', other.x]
pii: {mode: tokenize, reveal_to: [mail.send, mail.reveal]}
approvals: {remember: session}
`

func mailer(calls *atomic.Int64, sent *sync.Map) *fakeProvider {
	return &fakeProvider{tools: []catalogue.Tool{tool("mail.send", `{"properties":{"to":{"type":"string","minLength":12}},"required":["to"]}`), tool("mail.slow", `{}`),
		tool("mail.list", `{}`), tool("mail.reveal", `{}`)},
		call: func(_ context.Context, c Call) (Answer, error) {
			calls.Add(1)
			if sent != nil {
				sent.Store(c.Tool, string(c.Args))
			}
			if c.Tool == "list" {
				return Answer{Data: []byte(`["bob@example.org","ann@example.org"]`)}, nil
			}
			return Answer{Data: []byte("true")}, nil
		}}
}

func TestNobodyToAskIsADenialAtOnce(t *testing.T) {
	var calls atomic.Int64
	var sink audit.Memory
	r := newRun(t, mustPolicy(t, askMail), &sink, mailer(&calls, nil))
	start := time.Now()
	_, err := r.Call(t.Context(), "mail.send", []byte(`{"to":"bob@example.org"}`))
	wantCode(t, err, fault.DeniedApproval)
	if calls.Load() != 0 || time.Since(start) > 30*time.Second {
		t.Fatal("the call was made, or somebody was waited for")
	}
	var answers []string
	for _, e := range sink.Events() {
		if e.Decision != nil {
			a := ""
			if e.Decision.Approval != nil {
				a = e.Decision.Approval.Answer
			}
			answers = append(answers, e.Decision.Effect+" "+a)
		}
	}
	if !slices.Equal(answers, []string{"ask ", "deny nobody"}) {
		t.Fatalf("recorded %q", answers)
	}
}

func TestOnlyAYesLetsACallPass(t *testing.T) {
	for name, c := range map[string]struct {
		ask  person
		code fault.Code
	}{
		"yes":     {func(context.Context, Question) (Reply, error) { return Reply{Approved: true}, nil }, ""},
		"no":      {func(context.Context, Question) (Reply, error) { return Reply{Reason: "not now"}, nil }, fault.DeniedApproval},
		"error":   {func(context.Context, Question) (Reply, error) { return Reply{Approved: true}, errors.New("torn") }, fault.DeniedApproval},
		"panic":   {func(context.Context, Question) (Reply, error) { panic("x") }, fault.DeniedApproval},
		"nobody":  {func(context.Context, Question) (Reply, error) { return Reply{}, ErrNobody }, fault.DeniedApproval},
		"expired": {func(ctx context.Context, _ Question) (Reply, error) { select {} }, fault.DeniedApproval},
	} {
		var calls atomic.Int64
		table, err := NewTable(mustPolicy(t, askMail), audit.None(), mailer(&calls, nil))
		if err != nil {
			t.Fatal(err)
		}
		r := openRun(t, table, RunInfo{Asker: c.ask})
		_, err = r.Call(t.Context(), "mail.slow", nil)
		if fault.CodeOf(err) != c.code || (calls.Load() == 1) != (c.code == "") || r.Err() != nil {
			t.Errorf("%s: %v, %d calls", name, err, calls.Load())
		}
	}
}

func TestAnswersAreRecordedBeforeTheCall(t *testing.T) {
	var calls atomic.Int64
	var sink audit.Memory
	table, err := NewTable(mustPolicy(t, askMail), &sink, mailer(&calls, nil))
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{Asker: person(func(context.Context, Question) (Reply, error) {
		sink.Fail(errors.New("full"))
		return Reply{Approved: true}, nil
	})})
	_, err = r.Call(t.Context(), "mail.slow", nil)
	wantCode(t, err, fault.AuditUnavailable)
	if calls.Load() != 0 {
		t.Fatal("a call was made without a record of its approval")
	}
}

func TestAlwaysHoldsAsLongAsThePolicyRemembers(t *testing.T) {
	for remember, want := range map[string]int64{"never": 4, "run": 2, "session": 1} {
		var asked atomic.Int64
		var calls atomic.Int64
		pol := mustPolicy(t, "version: 1\ntools: {ask: [mail.slow]}\napprovals: {remember: "+remember+"}\n")
		table, err := NewTable(pol, audit.None(), mailer(&calls, nil))
		if err != nil {
			t.Fatal(err)
		}
		s := &Session{}
		for i := range 2 {
			r := openRun(t, table, RunInfo{ID: fmt.Sprint(i), Session: s, Asker: person(func(context.Context, Question) (Reply, error) {
				asked.Add(1)
				return Reply{Approved: true, Always: true}, nil
			})})
			for range 2 {
				if _, err := r.Call(t.Context(), "mail.slow", nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := r.Close(t.Context(), audit.End{Status: "ok"}); err != nil {
				t.Fatal(err)
			}
		}
		if asked.Load() != want {
			t.Errorf("%s: asked %d times", remember, asked.Load())
		}
	}
}

func TestPeopleSeeValuesAndOthersTokens(t *testing.T) {
	var calls atomic.Int64
	var sent sync.Map
	var sink audit.Memory
	table, err := NewTable(mustPolicy(t, askMail), &sink, mailer(&calls, &sent))
	if err != nil {
		t.Fatal(err)
	}
	var q Question
	r := openRun(t, table, RunInfo{Asker: person(func(_ context.Context, got Question) (Reply, error) {
		q = got
		return Reply{}, nil
	})})
	a, err := r.Call(t.Context(), "mail.list", nil)
	if err != nil || string(a.Data) != `["[EMAIL_1]","[EMAIL_2]"]` {
		t.Fatalf("%s %v", a.Data, err)
	}
	_, err = r.Call(t.Context(), "mail.send", []byte(`{"to":"[EMAIL_2]"}`))
	f := wantCode(t, err, fault.DeniedApproval)
	if q.Message != "mail to ann@example.org" || string(q.Args) != `{"to":"ann@example.org"}` {
		t.Errorf("a person sees %q %s", q.Message, q.Args)
	}
	if c := q.Covered(); c.Message != "mail to [EMAIL_2]" || string(c.Args) != `{"to":"[EMAIL_2]"}` {
		t.Errorf("others see %q %s", c.Message, c.Args)
	}
	if strings.Contains(f.Message, "ann@") {
		t.Errorf("the program sees %q", f.Message)
	}
	for _, e := range sink.Events() {
		if b := fmt.Sprintf("%+v %+v %+v", e.Decision, e.Call, e.Privacy); strings.Contains(b, "ann@") || strings.Contains(b, "bob@") {
			t.Errorf("the record has %s", b)
		}
	}
}

func TestAQuestionHidesNothing(t *testing.T) {
	var calls atomic.Int64
	var q Question
	table, err := NewTable(mustPolicy(t, askMail), audit.None(), mailer(&calls, nil))
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{Asker: person(func(_ context.Context, got Question) (Reply, error) { q = got; return Reply{}, nil })})
	_, _ = r.Call(t.Context(), "mail.send", []byte(`{"to":"all\u001b[2K of them\u202e"}`))
	if q.Message != "mail to all\x1b[2K of them\u202e" {
		t.Errorf("a person's prompt gets %q", q.Message)
	}
	if got := q.Covered().Message; got != `mail to all\u{1b}[2K of them\u{202e}` {
		t.Errorf("a client gets %q", got)
	}
}

func TestTokensAreRevealedOnlyToToolsThatMayKnow(t *testing.T) {
	var calls atomic.Int64
	var sent sync.Map
	other := &fakeProvider{tools: []catalogue.Tool{tool("other.x", `{"properties":{"to":{"type":"string","maxLength":11}}}`)}, call: func(_ context.Context, c Call) (Answer, error) {
		sent.Store("x", string(c.Args))
		return Answer{}, errors.New("no such person: bob@example.org")
	}}
	table, err := NewTable(mustPolicy(t, askMail), audit.None(), mailer(&calls, &sent), other)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{})
	if _, err := r.Call(t.Context(), "mail.list", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Call(t.Context(), "mail.reveal", []byte(`{"to":"[EMAIL_1]","n":12345678901234567890}`)); err != nil {
		t.Fatal(err)
	}
	if got, _ := sent.Load("reveal"); got != `{"to":"bob@example.org","n":12345678901234567890}` {
		t.Errorf("a tool that may know got %s", got)
	}
	// The schema sees what the tool gets: the token, which is short enough.
	_, err = r.Call(t.Context(), "other.x", []byte(`{"to":"[EMAIL_1]"}`))
	wantCode(t, err, fault.ToolFailed)
	_, err = r.Call(t.Context(), "other.x", []byte(`{"to":"to [EMAIL_1]"}`))
	if f := wantCode(t, err, fault.ToolInvalidArgs); f.Message != "args.to: expected at most 11 characters, got 12" {
		t.Errorf("the error is %q", f.Message)
	}
	_, err = r.Call(t.Context(), "other.x", []byte(`{"too":"[EMAIL_1]"}`))
	if f := wantCode(t, err, fault.ToolInvalidArgs); !strings.Contains(f.Hint, "to") {
		t.Error(f)
	}
	_, err = r.Call(t.Context(), "other.x", []byte(`{"unrelated":"[EMAIL_1]"}`))
	if f := wantCode(t, err, fault.ToolFailed); f.Message != "no such person: [EMAIL_1]" {
		t.Errorf("a tool's error came as %q", f.Message)
	}
	if got, _ := sent.Load("x"); got != `{"unrelated":"[EMAIL_1]"}` {
		t.Errorf("a tool that may not know got %s", got)
	}
	if got := r.Egress("stdout", "to bob@example.org and cy@example.org"); got != "to [EMAIL_1] and [EMAIL_3]" {
		t.Errorf("output left as %q", got)
	}
	if got, err := r.EgressJSON("value", []byte(`{"m":"ann@example.org"}`)); err != nil || string(got) != `{"m":"[EMAIL_2]"}` {
		t.Errorf("the value left as %s %v", got, err)
	}
	if got := r.Reveal("[EMAIL_2]"); got != "ann@example.org" {
		t.Errorf("a Go host sees %q", got)
	}
	for args, want := range map[string]string{
		`{"op":"kind","values":["[EMAIL_1]"]}`:              "\"email\"",
		`{"op":"equal","values":["[EMAIL_1]","[EMAIL_2]"]}`: "false",
		`{"op":"domain","values":["[EMAIL_1]"]}`:            "\"example.org\"",
	} {
		if a, err := r.Call(t.Context(), "wexec:pii", []byte(args)); err != nil || string(a.Data) != want {
			t.Errorf("%s: %s %v", args, a.Data, err)
		}
	}
	if s := r.Summary(); s.Mode != "tokenize" || s.Found["email"] == 0 {
		t.Errorf("%+v", s)
	}
}

// A fault of arguments of a tool that may have the values shows names as the
// program wrote them, and says nothing of the values.
func TestAFaultOfRevealedArgumentsShowsNoValue(t *testing.T) {
	people := &fakeProvider{tools: []catalogue.Tool{
		tool("crm.list", `{}`),
		tool("crm.tag", `{"properties":{
			"labels":{"additionalProperties":{"type":"string"}},
			"closed":{"properties":{"a":{}},"additionalProperties":false},
			"named":{"propertyNames":{"maxLength":3}},
			"needs":{"dependentRequired":{"zbob@example.orgz":["x"]}},
			"text":{"maxLength":5},
			"list":{"items":{"additionalProperties":{"required":["x"]}}}}}`),
	}, call: func(_ context.Context, c Call) (Answer, error) {
		return Answer{Data: []byte(`["bob@example.org","ann@example.org"]`)}, nil
	}}
	for revealTo, want := range map[string]map[string]string{
		"": {
			`{"labels":{"z[EMAIL_1]z":1}}`:                `args.labels.z[EMAIL_1]z: expected a string, got an integer`,
			`{"labels":{"[EMAIL_1]":1,"[EMAIL_1]x":"a"}}`: `args.labels.[EMAIL_1]: expected a string, got an integer`,
			`{"closed":{"z[EMAIL_1]z":1}}`:                `args.closed: unknown property "z[EMAIL_1]z"; allowed: "a"`,
		},
		", reveal_to: [crm.tag]": {
			`{"labels":{"z[EMAIL_1]z":1}}`:                   `a member of args.labels: expected a string, got an integer`,
			`{"labels":{"plain":1,"z[EMAIL_1]z":"a"}}`:       `args.labels.plain: expected a string, got an integer`,
			`{"closed":{"z[EMAIL_1]z":1}}`:                   `args.closed: unknown property <hidden>; allowed: "a"`,
			`{"named":{"z[EMAIL_1]z":1}}`:                    `args.named: property name <hidden> is not allowed`,
			`{"needs":{"z[EMAIL_1]z":1}}`:                    `args.needs: "x" is missing, but required with <hidden>`,
			`{"text":"z[EMAIL_1]z"}`:                         `args.text: expected at most 5 characters`,
			`{"text":"too long","more":"[EMAIL_1]"}`:         `args.text: expected at most 5 characters, got 8`,
			`{"list":[{"z[EMAIL_1]z":{"y":[1]}}]}`:           `a member of args.list[0]: "x" is missing`,
			`{"labels":{"bob@example.org":1,"[EMAIL_1]":1}}`: `the tokens in the arguments cannot be revealed`,
		},
	} {
		var sink audit.Memory
		r := newRun(t, mustPolicy(t, "version: 1\ntools: {allow: ['crm.*']}\npii: {mode: tokenize"+revealTo+"}\n"), &sink, people)
		if _, err := r.Call(t.Context(), "crm.list", nil); err != nil {
			t.Fatal(err)
		}
		for args, message := range want {
			_, err := r.Call(t.Context(), "crm.tag", []byte(args))
			if f := wantCode(t, err, fault.ToolInvalidArgs); f.Message != message {
				t.Errorf("%s%s: %q, want %q", args, revealTo, f.Message, message)
			}
		}
		for _, e := range sink.Events() {
			if b := fmt.Sprintf("%+v %+v", e.Decision, e.Call); strings.Contains(b, "zbob@") || strings.Contains(b, "bob@example") {
				t.Errorf("the record has %s", b)
			}
		}
	}
}

// A denied call says the same whatever its tokens stand for.
func TestADenialSaysNothingOfValues(t *testing.T) {
	people := &fakeProvider{tools: []catalogue.Tool{
		tool("crm.list", `{}`),
		tool("crm.tag", `{"properties":{"labels":{"additionalProperties":{"type":"string"},"patternProperties":{"^zbob":{"type":"null"}}}}}`),
		tool("crm.move", `{}`), tool("crm.fail", `{}`),
	}, call: func(context.Context, Call) (Answer, error) {
		return Answer{Data: []byte(`["bob@example.org","ann@example.org"]`)}, nil
	}}
	r := newRun(t, mustPolicy(t, `version: 1
tools:
  deny:
    - {tool: crm.move, messageExpression: '"not to " + args.to'}
    - {tool: crm.fail, when: 'int(args.to) > 3'}
  allow: [crm.list]
pii: {mode: tokenize, reveal_to: ['crm.*']}
`), audit.None(), people)
	if _, err := r.Call(t.Context(), "crm.list", nil); err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		`crm.tag {"labels":{"z[EMAIL_1]z":1}}`:                   "crm.tag is not allowed: no rule allows it",
		`crm.tag {"labels":{"bob@example.org":1,"[EMAIL_1]":1}}`: "crm.tag is not allowed: no rule allows it",
		`crm.tag {"labels":{"ann@example.org":1,"[EMAIL_1]":1}}`: "crm.tag is not allowed: no rule allows it",
		`crm.move {"to":"z[EMAIL_1]z"}`:                          "crm.move is not allowed: not to z[EMAIL_1]z",
		`crm.fail {"to":"z[EMAIL_1]z"}`:                          "type conversion error from 'string' to 'int'",
		`crm.fail {"a":{"bob@example.org":1,"[EMAIL_1]":1}}`:     "crm.fail is not allowed: the condition of a rule for crm.fail failed: no such key: to",
	} {
		name, args, _ := strings.Cut(call, " ")
		_, err := r.Call(t.Context(), name, []byte(args))
		if f := wantCode(t, err, fault.DeniedTool); !strings.Contains(f.Message, want) || strings.Contains(f.Message, "bob") {
			t.Errorf("%s: %q, want %q", call, f.Message, want)
		}
	}
}

// Answers, failures, denials and refused arguments come in any order, tools tell
// how far they are, and the program prints in between: the numbers of tokens
// are those of the program's own order.
func TestTokensOfAnOrderedRunAreReproducible(t *testing.T) {
	var jitter atomic.Int64
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`), tool("a.bad", `{"properties":{"n":{"type":"string","maxLength":1}}}`), tool("a.no", `{}`)},
		call: func(_ context.Context, c Call) (Answer, error) {
			time.Sleep(time.Duration(jitter.Add(7919)%6) * time.Millisecond)
			c.Progress(1, 2, fmt.Sprintf("for step%d@example.org", jitter.Load()))
			if len(c.Args)%3 == 0 {
				return Answer{}, fmt.Errorf("no mailbox lost%d@example.org", len(c.Args))
			}
			return Answer{Data: fmt.Appendf(nil, `"user%d@example.org"`, len(c.Args))}, nil
		}}
	table, err := NewTable(mustPolicy(t, "version: 1\ntools:\n  deny: [{tool: a.no, messageExpression: '\"not to no\" + string(size(args.n)) + \"@example.org\"'}]\n  allow: ['a.*']\n"), audit.None(), p)
	if err != nil {
		t.Fatal(err)
	}
	var first []string
	for i := range 12 {
		r := openRun(t, table, RunInfo{ID: fmt.Sprint(i), Progress: func(Progress) {}})
		c := NewCalls(r, CallsOptions{Ordered: true})
		for n := range 24 {
			name := []string{"a.x", "a.no", "a.x", "a.bad"}[n%4]
			start(t, c, name, fmt.Sprintf(`{"n":"%s"}`, strings.Repeat("x", 40-n)))
		}
		var saw []string
		for n := range 24 {
			id := int64(0)
			if n == 0 {
				id = 9 // the program waits for one in the middle first
			}
			id, err := c.Wait(id, -1)
			if err != nil {
				t.Fatal(err)
			}
			_, data := read(t, c, id)
			saw = append(saw, data, r.Egress("stdout", fmt.Sprintf("said to printed%d@example.org", n)))
		}
		c.Close()
		if first == nil {
			first = saw
		}
		if !slices.Equal(saw, first) {
			t.Fatalf("%v, and before %v", saw, first)
		}
	}
	if all := strings.Join(first, "\n"); !strings.Contains(all, "[EMAIL_40]") || strings.Contains(all, "@example.org") {
		t.Errorf("%s", all)
	}
}

func TestAnAnswerThatNobodyWaitsForIsOnRecordAsMade(t *testing.T) {
	var last *audit.Call
	for patience := 5 * time.Millisecond; patience < 10*time.Second; patience *= 4 {
		made := make(chan struct{})
		var sink audit.Memory
		r := newRun(t, mustPolicy(t, allowAll), &sink, &fakeProvider{tools: []catalogue.Tool{tool("a.x", `{}`)}, call: func(context.Context, Call) (Answer, error) {
			defer close(made)
			return Answer{Data: []byte("1")}, nil
		}})
		c := NewCalls(r, CallsOptions{Ordered: true})
		start(t, c, "a.x", `{}`)
		c.Launch()
		<-made
		time.Sleep(patience) // the answer is on its way
		c.Close()
		for _, e := range sink.Events() {
			if e.Call != nil {
				last = e.Call
			}
		}
		if last != nil && last.OK {
			return
		}
	}
	t.Errorf("%+v", last)
}

func TestTheClockStopsOnlyWhilePeopleAreWaitedFor(t *testing.T) {
	answer := make(chan Reply)
	slow := make(chan struct{})
	ask := &fakeProvider{tools: []catalogue.Tool{tool("a.ask", `{}`), tool("a.work", `{}`)}, call: func(ctx context.Context, c Call) (Answer, error) {
		if c.Tool == "work" {
			<-slow
		}
		return Answer{Data: []byte("1")}, nil
	}}
	table, err := NewTable(mustPolicy(t, "version: 1\npii: {mode: off}\ntools: {ask: [a.ask], allow: [a.work]}\n"), audit.None(), ask)
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{Asker: person(func(ctx context.Context, q Question) (Reply, error) {
		select {
		case r := <-answer:
			return r, nil
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
	})})
	var mu sync.Mutex
	var log []string
	note := func(s string) { mu.Lock(); log = append(log, s); mu.Unlock() }
	seen := func() string { mu.Lock(); defer mu.Unlock(); return strings.Join(log, " ") }
	until := func(want string) {
		t.Helper()
		for range 60_000 {
			if seen() == want {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatalf("saw %q, want %q", seen(), want)
	}
	c := NewCalls(r, CallsOptions{Park: func() { note("park") }, Resume: func() { note("resume") }, People: func(only bool) { note(fmt.Sprint(only)) }})
	defer c.Close()
	start(t, c, "a.ask", `{}`)
	start(t, c, "a.work", `{}`)
	got := make(chan int64, 2)
	go func() {
		for range 2 {
			id, err := c.Wait(0, -1)
			if err != nil {
				t.Error(err)
			}
			got <- id
		}
	}()
	until("park") // the work goes on, so that the clock does
	slow <- struct{}{}
	if id := <-got; id != 2 {
		t.Fatal(id)
	}
	until("park resume park true")
	answer <- Reply{Approved: true}
	if id := <-got; id != 1 {
		t.Fatal(id)
	}
	until("park resume park true false resume")

	// A timer that would wake the program keeps the clock going.
	id := start(t, c, "a.ask", `{}`)
	if got, err := c.Wait(0, 20*time.Millisecond); got != 0 || err != nil {
		t.Fatal(got, err)
	}
	until("park resume park true false resume park resume")
	c.Cancel(id)
}

// granter is a person who may be asked about what no rule allows.
type granter struct{ person }

func (granter) CanGrant() bool { return true }

func TestOnlyAGranterIsAskedForWhatLacksARule(t *testing.T) {
	const rules = "version: 1\ntools: {allow: [mail.list], deny: [mail.slow]}\n"
	for name, c := range map[string]struct {
		tool string
		ask  func(p person) Asker
		code fault.Code
		want int32
	}{
		"an asker of a Go host":  {"mail.send", func(p person) Asker { return p }, fault.DeniedTool, 0},
		"a person at a terminal": {"mail.send", func(p person) Asker { return granter{p} }, "", 1},
		"a rule denies the tool": {"mail.slow", func(p person) Asker { return granter{p} }, fault.DeniedTool, 0},
		"a rule allows the tool": {"mail.list", func(p person) Asker { return granter{p} }, "", 0},
	} {
		var calls atomic.Int64
		var asked atomic.Int32
		yes := person(func(_ context.Context, q Question) (Reply, error) {
			if asked.Add(1); q.Grant == nil || q.Grant.Name != c.tool || !slices.Equal(q.Via, []string{"terminal"}) {
				t.Errorf("%s: asked %+v", name, q)
			}
			return Reply{Approved: true}, nil
		})
		r := newRun(t, mustPolicy(t, rules), audit.None(), mailer(&calls, nil))
		r.info.Asker = c.ask(yes)
		_, err := r.Call(t.Context(), c.tool, []byte(`{"to":"bob@example.org"}`))
		if asked.Load() != c.want {
			t.Errorf("%s: asked %d times", name, asked.Load())
		}
		if c.code == "" && err != nil || c.code != "" && !errors.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
