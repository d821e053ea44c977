package privacy

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy/internal/match"
)

// revealAll reveals a text without a bound.
func (v *Vault) revealAll(s string) string {
	out, _ := v.Reveal(s, unbounded)
	return out
}

func (v *Vault) revealAllJSON(doc []byte) ([]byte, error) { return v.RevealJSON(doc, unbounded) }

func unbounded(int) error { return nil }

func vault(t testing.TB, c Config) *Vault {
	t.Helper()
	d, err := NewDetector(c)
	if err != nil {
		t.Fatal(err)
	}
	return NewVault(d)
}

func inbound(t testing.TB, v *Vault, text string) string {
	t.Helper()
	out, _, err := v.Text(text, Tokenize)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOneValueHasOneToken(t *testing.T) {
	v := vault(t, Config{Regions: []string{"US", "DE"}})
	got := inbound(t, v, "bob@example.org, BOB@Example.ORG, +1 212 555 0134, (212) 555-0134, DE89 3704 0044 0532 0130 00, DE89370400440532013000")
	if want := "[EMAIL_1], [EMAIL_1], [PHONE_1], [PHONE_1], [IBAN_1], [IBAN_1]"; got != want {
		t.Errorf("got %s", got)
	}
	doc, _, err := v.JSON([]byte(`{"mail":"bob@example.org"}`), "")
	if err != nil || string(doc) != `{"mail":"[EMAIL_1]"}` {
		t.Errorf("a later answer: %s, %v", doc, err)
	}
}

func TestJSONKeepsEveryOtherByte(t *testing.T) {
	v := vault(t, Config{})
	doc := []byte("{ \"a\" :\t1.50e+3, \"b\": \"caf\\u00e9 \\/ bob@example.org\\n\", \"c\": [ true,null ] }\n")
	want := strings.Replace(string(doc), "bob@example.org", "[EMAIL_1]", 1)
	got, _, err := v.JSON(doc, Tokenize)
	if err != nil || string(got) != want {
		t.Fatalf("%s\nnot %s (%v)", got, want, err)
	}
	plain := []byte(`{"a": [1, 2, {"b": "nothing here"}]}`)
	same, _, err := v.JSON(plain, Tokenize)
	if err != nil || &same[0] != &plain[0] {
		t.Error("a document without findings was copied")
	}
}

func TestNumbersBecomeStringsAndNumbersAgain(t *testing.T) {
	v := vault(t, Config{})
	doc := `{"phone":12125550134,"n":12125550134,"card_number":4111111111111111}`
	out, _, err := v.JSON([]byte(doc), Tokenize)
	if err != nil || string(out) != `{"phone":"[PHONE_1]","n":12125550134,"card_number":"[CARD_1]"}` {
		t.Fatalf("%s, %v", out, err)
	}
	back, err := v.revealAllJSON(out)
	if err != nil || string(back) != doc {
		t.Errorf("back is %s, %v", back, err)
	}
}

func TestTokensSurviveWhatProgramsDoWithText(t *testing.T) {
	v := vault(t, Config{})
	text := "Write to bob@example.org or jane@example.org."
	out := inbound(t, v, text)
	words := strings.Fields(out)
	sort.Strings(words)
	for name, c := range map[string]struct{ in, want string }{
		"upper case": {strings.ToUpper(out), strings.Replace(strings.Replace(strings.ToUpper(text), "BOB@EXAMPLE.ORG", "bob@example.org", 1), "JANE@EXAMPLE.ORG", "jane@example.org", 1)},
		"lower case": {strings.ToLower(out), strings.ToLower(text)},
		"sliced":     {out[9 : strings.IndexByte(out, ']')+1], "bob@example.org"},
		"sorted":     {strings.Join(words, " "), "Write bob@example.org jane@example.org. or to"},
		"joined":     {"<" + out[9:strings.IndexByte(out, ']')+1] + ">", "<bob@example.org>"},
		"in a URL":   {"https://x.org/?to=" + url.QueryEscape("[EMAIL_1]"), "https://x.org/?to=bob%40example.org"},
		"base64":     {"V3JpdGUgdG8gW0VNQUlMXzFdIQ==", "V3JpdGUgdG8gYm9iQGV4YW1wbGUub3JnIQ=="},
		"json":       {fmt.Sprintf(`{"to":%q}`, "[EMAIL_2]"), `{"to":"jane@example.org"}`},
	} {
		if got := v.revealAll(c.in); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

func TestForgedTokensStayText(t *testing.T) {
	v := vault(t, Config{})
	inbound(t, v, "bob@example.org")
	for _, s := range []string{"[EMAIL_99]", "[EMAIL_0]", "[EMAIL_01]", "[EMAIL_]", "[PHONE_1]", "[EMAIL_1", "EMAIL_1", "[NOKIND_1]", "[EMAIL_99999999999999999999]"} {
		if got := v.revealAll(s); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
}

func TestToolsCannotForgeTokens(t *testing.T) {
	v := vault(t, Config{})
	inbound(t, v, "bob@example.org")
	for _, s := range []string{"[EMAIL_1]", "see [email_1] there", "%5BEMAIL_1%5D", "&#91;EMAIL_1&#93;", "[~EMAIL_1]", "[EMAIL_1:example.org]", `{"a":"[EMAIL_1]","[EMAIL_1]":2}`, "W0VNQUlMXzFdIGlzIGhpcw=="} {
		out := inbound(t, v, s)
		if strings.Contains(v.revealAll(out), "bob@") {
			t.Errorf("%s became %s, which is revealed", s, out)
		}
		if unescaped, err := url.PathUnescape(out); err == nil && strings.Contains(v.revealAll(unescaped), "bob@") {
			t.Errorf("%s, decoded by a program, is revealed", s)
		}
		if back := v.revealAll(out); back != s && s != "&#91;EMAIL_1&#93;" {
			t.Errorf("%s came back as %s", s, back)
		}
	}
	for _, off := range []Mode{Off, Detect} {
		if out, _, err := v.Text("[EMAIL_1]", off); err != nil || out == "[EMAIL_1]" {
			t.Errorf("mode %s passes a forged token: %s, %v", off, out, err)
		}
	}
}

func TestEgressKeepsTokensAndHidesValues(t *testing.T) {
	v := vault(t, Config{})
	inbound(t, v, "bob@example.org")
	got, _, err := v.Egress("[EMAIL_1] is Bob@Example.org, not [EMAIL_7] nor eve@example.org", "")
	if err != nil || got != "[EMAIL_1] is [EMAIL_1], not [EMAIL_7] nor [EMAIL_2]" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestKnownValuesAreHiddenEverywhere(t *testing.T) {
	v := vault(t, Config{})
	doc, _, err := v.JSON([]byte(`{"full_name":"Xiomara Quispe","street":"Somewhere 4b"}`), "")
	if err != nil || strings.Contains(string(doc), "Quispe") {
		t.Fatalf("%s, %v", doc, err)
	}
	got, _, err := v.Egress("mail to Xiomara Quispe, Somewhere 4b, leaves the company", "")
	if err != nil || got != "mail to [NAME_1], [ADDRESS_1], leaves the company" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestExemptDataPassesUnlessBlocked(t *testing.T) {
	v := vault(t, Config{})
	v.Exempt(`{"to": "bob@example.org"}`)
	got, _, err := v.Egress("sent to bob@example.org and eve@example.org", "")
	if err != nil || got != "sent to bob@example.org and [EMAIL_1]" {
		t.Errorf("%s, %v", got, err)
	}
	if _, _, err := v.Egress("sent to bob@example.org", Block); err == nil {
		t.Error("block let it pass")
	}
}

func TestTokensAreNeverReplaced(t *testing.T) {
	v := vault(t, Config{Fields: Fields{Always: []string{"note"}}, Patterns: map[string]string{"digit": "[0-9]", "line": "id=.*"}})
	out := inbound(t, v, `{"note":"left handed","password":"hunter2!x","tel":"555 0134","street":"Somewhere 4b"}`)
	again, counts, err := v.EgressJSON([]byte(out), "")
	if err != nil || string(again) != out || counts.Total() > 0 {
		t.Errorf("%s became %s: %v, %v", out, again, counts, err)
	}
	for _, text := range []string{"id=[PHONE_1]", "password=abc1[PHONE_1]", "postgres://u:[SECRET_1]@db.example.org/x"} {
		got, _, err := v.Egress(text, "")
		if want := v.revealAll(text); err != nil || v.revealAll(got) != want {
			t.Errorf("%s became %s, revealed %s, not %s (%v)", text, got, v.revealAll(got), want, err)
		}
	}
	forged := inbound(t, v, "id=[PHONE_1]")
	if back := v.revealAll(forged); back != "id=[PHONE_1]" {
		t.Errorf("a forged token within a value: %s is %s", forged, back)
	}
}

func TestReservedNumbersAreNeverHandedOut(t *testing.T) {
	v := vault(t, Config{})
	v.Reserve("send it to [EMAIL_1] and %5BEMAIL_3%5D", `{"a":"[email_2]"}`)
	if got := inbound(t, v, "bob@example.org eve@example.org"); got != "[EMAIL_4] [EMAIL_5]" {
		t.Errorf("got %s", got)
	}
	if v.revealAll("[EMAIL_1]") != "[EMAIL_1]" {
		t.Error("a reserved number has a meaning")
	}
}

func TestModes(t *testing.T) {
	const text = `{"a": "bob@example.org", "card": "4111 1111 1111 1111", "phone": "+49 30 901820"}`
	for mode, want := range map[Mode]string{
		Off:      text,
		Detect:   text,
		Tokenize: `{"a": "[EMAIL_1]", "card": "[CARD_1]", "phone": "[PHONE_1]"}`,
		Redact:   `{"a": "[EMAIL]", "card": "[CARD]", "phone": "[PHONE]"}`,
		Partial:  `{"a": "[EMAIL_1:example.org]", "card": "[CARD_1:1111]", "phone": "[PHONE_1:DE]"}`,
	} {
		v := vault(t, Config{})
		got, counts, err := v.JSON([]byte(text), mode)
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", mode, got, err)
		}
		if n := counts.Total(); n != 3 && mode != Off {
			t.Errorf("%s counted %d", mode, n)
		}
		if back := v.revealAll(string(got)); mode != Redact && back != text {
			t.Errorf("%s: back is %s", mode, back)
		}
	}
	_, _, err := vault(t, Config{}).JSON([]byte(text), Block)
	if !errors.Is(err, fault.DeniedTool) || strings.Contains(err.Error(), "bob") || !strings.Contains(err.Error(), "email") {
		t.Errorf("block: %v", err)
	}
}

func TestModesByField(t *testing.T) {
	v := vault(t, Config{Mode: Off, Modes: map[string]Mode{"contact.*": Tokenize, "secret": Redact}})
	got, counts, err := v.JSON([]byte(`{"mail": "a@example.org", "contact": {"mail": "b@example.org"}, "secret": "hunter2!x"}`), "")
	if err != nil || string(got) != `{"mail": "a@example.org", "contact": {"mail": "[EMAIL_1]"}, "secret": "[SECRET]"}` {
		t.Errorf("%s, %v", got, err)
	}
	if strings.Join(counts.Fields, " ") != "contact.mail secret" {
		t.Errorf("fields %v", counts.Fields)
	}
}

func TestCountsHoldFieldsButNoValues(t *testing.T) {
	v := vault(t, Config{})
	_, c, err := v.JSON([]byte(`{"customers":[{"mail":"a@example.org"},{"mail":"b@example.org"}],"bob@example.org":{"phone":"+49 30 901820"}}`), "")
	if err != nil || c.Kinds[Email] != 3 || c.Kinds[Phone] != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	if text := strings.Join(c.Fields, " "); text != "* *.phone customers[].mail" {
		t.Errorf("fields %s", text)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	v := vault(t, Config{})
	v.limit = 10 * (valueCost + 60)
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "user%03d@example.org ", i)
	}
	out := inbound(t, v, b.String())
	if !v.Full() || strings.Contains(out, "@") || !strings.Contains(out, "[EMAIL]") {
		t.Errorf("full %v: %s", v.Full(), out)
	}
	if v.size > v.limit {
		t.Errorf("%d bytes are more than %d", v.size, v.limit)
	}
}

func TestVaultIsSafeForConcurrentUse(t *testing.T) {
	v := vault(t, Config{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 200 {
				text := fmt.Sprintf("user%d@example.org and w%d@example.org", i, w)
				out, _, err := v.Text(text, "")
				if err != nil || v.revealAll(out) != text {
					t.Errorf("%s: %s, %v", text, out, err)
					return
				}
				v.Reserve("[EMAIL_5000]")
				v.Kind("[EMAIL_1]")
			}
		}()
	}
	wg.Wait()
	values := 0
	for _, k := range v.issued {
		values += len(k.originals)
	}
	if values != 208 {
		t.Errorf("%d values, not 208", values)
	}
}

func TestKindEqualAndDomainShowNoValue(t *testing.T) {
	v := vault(t, Config{Regions: []string{"DE"}})
	inbound(t, v, "Bob@Example.org, eve@example.com, 030 901820")
	for s, want := range map[string]Kind{"[EMAIL_1]": Email, "[PHONE_1]": Phone, "[EMAIL_9]": "", "bob@example.org": Email, "hello": "", "4111 1111 1111 1111": Card} {
		if got := v.Kind(s); got != want {
			t.Errorf("kind of %s is %q", s, got)
		}
	}
	for pair, want := range map[[2]string]bool{
		{"[EMAIL_1]", "bob@example.org"}: true, {"[EMAIL_1]", "[EMAIL_2]"}: false, {"[PHONE_1]", "+49 30 901820"}: true, {"[email_1]", "[EMAIL_1]"}: true,
		{"[EMAIL_9]", "[EMAIL_9]"}: true, {"a", "a"}: true, {"a", "b"}: false,
	} {
		if got := v.Equal(pair[0], pair[1]); got != want {
			t.Errorf("equal %v is %v", pair, got)
		}
	}
	for s, want := range map[string]string{"[EMAIL_1]": "example.org", "[EMAIL_2]": "example.com", "[PHONE_1]": "", "x@acme.io": "acme.io", "": ""} {
		if got := v.Domain(s); got != want {
			t.Errorf("domain of %s is %q", s, got)
		}
	}
}

func TestRevealInJSONKeepsItJSON(t *testing.T) {
	v := vault(t, Config{})
	key := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----"
	doc, _ := json.Marshal(map[string]string{"key": key})
	inner, _ := json.Marshal(map[string]string{"payload": string(doc)})
	out, _, err := v.JSON(inner, "")
	if err != nil || strings.Contains(string(out), "MII") {
		t.Fatalf("%s, %v", out, err)
	}
	back, err := v.revealAllJSON(out)
	var outer, got map[string]string
	if err != nil || json.Unmarshal(back, &outer) != nil || json.Unmarshal([]byte(outer["payload"]), &got) != nil || got["key"] != key {
		t.Errorf("back is %s, %v", back, err)
	}
	if _, err := v.revealAllJSON([]byte(`{"a": [EMAIL_1]}`)); err == nil {
		t.Error("text that is not JSON was accepted")
	}
}

func TestANameThatIsAWordIsOnlyReplacedWhereItIsAName(t *testing.T) {
	v := vault(t, Config{})
	out, _, err := v.JSON([]byte(`{"last_name": "Price", "note": "The Price of the West wing"}`), "")
	if err != nil || string(out) != `{"last_name": "[NAME_1]", "note": "The Price of the West wing"}` {
		t.Errorf("%s %v", out, err)
	}
	text, _, err := v.Text("Dear Ms Price", "")
	if err != nil || text != "Dear Ms [NAME_1]" {
		t.Errorf("%s %v", text, err)
	}
}

// A program writes a token many times, in every encoding, and values may hold
// tokens of other values.
func TestRevealingMakesNoMoreThanItMay(t *testing.T) {
	v := vault(t, Config{})
	issue := func(value string) string {
		return v.issue(&match.Span{Kind: Secret, Value: value}, false, false, "", false)
	}
	blob := issue(strings.Repeat("x", 10_000))
	chain := issue(strings.Repeat(blob+" ", 100))
	errFull := errors.New("full")
	for name, one := range map[string]string{"plain": blob, "nested": chain, "percent": url.QueryEscape(blob)} {
		for form, wrap := range map[string]func(string) string{
			"text":   func(s string) string { return s },
			"json":   func(s string) string { return `{"a":["` + s + `"],"` + s + `":1}` },
			"string": func(s string) string { return `{"a":"[\"` + s + `\"]"}` },
			"base64": func(s string) string { return `{"a":"` + base64.StdEncoding.EncodeToString([]byte(s)) + `"}` },
		} {
			doc := wrap(strings.Repeat(one, 2_000))
			for _, most := range []int{0, 1000, 1 << 20} {
				made, calls := 0, 0
				grow := func(n int) error {
					if calls++; n < 0 || made+n > most {
						return errFull
					}
					made += n
					return nil
				}
				var m0, m1 runtime.MemStats
				runtime.ReadMemStats(&m0)
				_, err := v.Reveal(doc, grow)
				_, errJSON := v.RevealJSON([]byte(doc), grow)
				runtime.ReadMemStats(&m1)
				if err != errFull || form != "text" && errJSON != errFull {
					t.Errorf("%s, %s, at most %d: %v, %v", name, form, most, err, errJSON)
				}
				if used := m1.TotalAlloc - m0.TotalAlloc; used > uint64(8*most+20*len(doc)+1<<20) {
					t.Errorf("%s, %s, at most %d: allocated %d bytes", name, form, most, used)
				}
			}
		}
	}
}

func TestRevealingAsksForAllThatItMakes(t *testing.T) {
	v := vault(t, Config{})
	token := inbound(t, v, "ann@example.org")
	for _, doc := range []string{`{"to":"` + token + `"}`, `["\"` + token + `\"", 1]`, `["` + base64.StdEncoding.EncodeToString([]byte("to: "+token)) + `"]`} {
		made := 0
		out, err := v.RevealJSON([]byte(doc), func(n int) error { made += n; return nil })
		if err != nil || string(out) == doc || made < len(out) {
			t.Errorf("%s became %s, and %d bytes were asked for: %v", doc, out, made, err)
		}
	}
	made := 0
	if _, err := v.RevealJSON([]byte(`{"a":[1,"b","`+strings.Repeat("long text ", 1000)+`"]}`), func(n int) error { made += n; return nil }); err != nil || made != 0 {
		t.Errorf("%d bytes were asked for to reveal nothing: %v", made, err)
	}
}

// The text is searched in one call: it looks from time to time whether it may go on.
func TestRevealingEndsWhileNothingIsFound(t *testing.T) {
	v := vault(t, Config{})
	stop := errors.New("stop")
	for name, doc := range map[string]string{
		"words":  `["` + strings.Repeat("many [words] ", 100_000) + `"]`,
		"values": "[" + strings.Repeat(`"words of text",`, 100_000) + "1]",
	} {
		calls := 0
		_, err := v.RevealJSON([]byte(doc), func(int) error {
			if calls++; calls > 3 {
				return stop
			}
			return nil
		})
		if err != stop {
			t.Errorf("%s: %v after %d calls", name, err, calls)
		}
	}
}

func TestAVaultListsTheTokensOfARun(t *testing.T) {
	d, err := NewDetector(Config{})
	if err != nil {
		t.Fatal(err)
	}
	v := NewVault(d)
	redact := func(text string) {
		t.Helper()
		if _, _, err := v.Text(text, Tokenize); err != nil {
			t.Fatal(err)
		}
	}
	redact("from Ada@Example.org and 4111 1111 1111 1111")
	before := v.Count()
	redact("again ada@example.org, then eve@example.org")
	if before != 2 || v.Count() != 3 {
		t.Errorf("%d and %d values", before, v.Count())
	}
	list := func(since int, texts ...[]byte) (tokens string) {
		for _, i := range v.Issued(since, texts...) {
			tokens += i.Token + " " + i.Value + " " + i.Canonical + "\n"
		}
		return tokens
	}
	const ada, card, eve = "[EMAIL_1] Ada@Example.org ada@example.org\n", "[CARD_1] 4111 1111 1111 1111 4111111111111111\n", "[EMAIL_2] eve@example.org eve@example.org\n"
	if got := list(0); got != ada+card+eve {
		t.Errorf("all are\n%s", got)
	}
	if got := list(before); got != eve {
		t.Errorf("the new ones are\n%s", got)
	}
	if got := list(before, []byte(`{"to":"%5BCARD_1%5D [EMAIL_9]"}`)); got != card+eve {
		t.Errorf("the new ones and the one of the text are\n%s", got)
	}
}
