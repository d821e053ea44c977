package privacy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

func TestEveryProblemOfAConfigurationIsReported(t *testing.T) {
	c := Config{
		Mode: "hide", Detect: []Kind{Email, "mails"}, Level: "high", Regions: []string{"US", "USA", "XX"},
		Patterns: map[string]string{"Bad Name": "x", "email": "x", "open": "(", "back": `(a)\1`, "look": "(?=x)", "empty": "a*", "huge": "((((a{30}){30}){30}){30}", "fine": "E-[0-9]{6}"},
		Lists:    map[string][]string{"project": {"Moon", " "}}, Ignore: []string{""}, Modes: map[string]Mode{"a": "loud"},
	}
	var paths []string
	for _, p := range c.Check() {
		paths = append(paths, p.Path)
	}
	for _, want := range []string{"mode", "detect[1]", "level", "regions[1]", "regions[2]", "patterns.Bad Name", "patterns.email", "patterns.open", "patterns.back", "patterns.look", "patterns.empty", "patterns.huge", "lists.project[1]", "ignore[0]", "modes.a"} {
		if !slices.Contains(paths, want) {
			t.Errorf("%s is not reported", want)
		}
	}
	if slices.Contains(paths, "patterns.fine") || slices.Contains(paths, "detect[0]") {
		t.Errorf("valid settings are reported: %v", paths)
	}
	_, err := NewDetector(c)
	if !errors.Is(err, fault.UsagePolicy) || fault.HintOf(err) == "" || !strings.Contains(err.Error(), "detect[1]") {
		t.Errorf("error %v", err)
	}
}

func TestZeroConfigurationIsValid(t *testing.T) {
	if problems := (Config{}).Check(); len(problems) > 0 {
		t.Fatal(problems)
	}
	got := found(t, Config{}, "mail bob@example.org, card 4111 1111 1111 1111, Dr. Jane Miller, 203.0.113.7")
	if want := []string{"email bob@example.org", "card 4111 1111 1111 1111", "name Jane Miller", "ip 203.0.113.7"}; !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
}

func TestOnlyTheWantedKindsAreFound(t *testing.T) {
	got := found(t, Config{Detect: []Kind{Card}}, "mail bob@example.org, card 4111 1111 1111 1111")
	if !slices.Equal(got, []string{"card 4111 1111 1111 1111"}) {
		t.Errorf("found %q", got)
	}
	if got := found(t, Config{Detect: DefaultKinds()}, "Dr. Jane Miller, 203.0.113.7"); len(got) > 0 {
		t.Errorf("found %q", got)
	}
}

func TestLevelsAskForMoreOrLess(t *testing.T) {
	const text = "Alice said: 4111111111111111, order id 4111111111111111, at 212 555 0134 and 212-555-0134; Giovanni Featherstone agreed"
	counts := make(map[string]int)
	for _, level := range []string{Strict, Balanced, Relaxed} {
		counts[level] = len(found(t, Config{Level: level}, text))
	}
	if !(counts[Strict] > counts[Balanced] && counts[Balanced] > counts[Relaxed] && counts[Relaxed] > 0) {
		t.Errorf("found %v", counts)
	}
}

func TestRegionsReadNationalNumbers(t *testing.T) {
	const text = "030 901820 or 0161 496 0000"
	if got := found(t, Config{Detect: []Kind{Phone}}, text); len(got) != 0 {
		t.Errorf("found %q without a region", got)
	}
	if got := found(t, Config{Detect: []Kind{Phone}, Regions: []string{"DE", "GB"}}, text); len(got) != 2 {
		t.Errorf("found %q", got)
	}
}

func TestPatternsAndLists(t *testing.T) {
	c := Config{Detect: []Kind{Email}, Patterns: map[string]string{"employee": `E-[0-9]{6}`}, Lists: map[string][]string{"project": {"Blue Moon", "Zephyr"}, "name": {"Qwertz"}}}
	got := found(t, c, "E-123456 works on blue  moon and ZEPHYR, not Zephyrus; ask Qwertz")
	if want := []string{"employee E-123456", "project blue  moon", "project ZEPHYR", "name Qwertz"}; !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
	v := vault(t, c)
	if out := inbound(t, v, "E-123456 and Zephyr"); out != "[EMPLOYEE_1] and [PROJECT_1]" || v.revealAll(out) != "E-123456 and Zephyr" {
		t.Errorf("tokens %s", out)
	}
}

func TestIgnoredValuesAreNotFound(t *testing.T) {
	got := found(t, Config{Ignore: []string{"*@acme.com", "203.0.113.*"}}, "a@acme.com b@ACME.com c@acme.org 203.0.113.7 198.51.100.7")
	if want := []string{"email c@acme.org", "ip 198.51.100.7"}; !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
}

func TestFieldsThatDecideByThemselves(t *testing.T) {
	c := Config{Fields: Fields{Never: []string{"order_id", "log.*"}, Always: []string{"contact.*", "nick"}}}
	got := found(t, c, `{"order_id": "4111 1111 1111 1111", "orderId": "bob@example.org", "log": {"from": "bob@example.org"}, "contact": {"note": "left handed", "mail": "bob@example.org", "age": 42}, "nick": "Bobby"}`)
	if want := []string{"personal left handed", "email bob@example.org", "personal 42", "personal Bobby"}; !slices.Equal(got, want) {
		t.Errorf("found %q", got)
	}
	got = found(t, c, "order_id,nick\n4111 1111 1111 1111,Bobby\n")
	if !slices.Equal(got, []string{"personal Bobby"}) {
		t.Errorf("in a table: %q", got)
	}
}

func TestFieldNamesAreEvidence(t *testing.T) {
	for text, want := range map[string]string{
		`{"contact": {"tel": "555 0134"}}`:                        "phone 555 0134",
		`{"a": "555 0134"}`:                                       "",
		`{"user": {"firstName": "Xiomara"}}`:                      "name Xiomara",
		`{"customers": [{"name": "Xi Qu", "email": ""}]}`:         "name Xi Qu",
		`{"repo": {"name": "Blue Moon"}}`:                         "",
		`{"dob": "1980-03-12", "created": "1980-03-12"}`:          "birthdate 1980-03-12",
		`{"street": "Somewhere 4b"}`:                              "address Somewhere 4b",
		`{"password": "correct horse"}`:                           "secret correct horse",
		"name,tel\nACME,555 0134\n":                               "phone 555 0134",
		"| item | tel |\n|---|---|\n| a | 555 0134 |\n":           "phone 555 0134",
		"id\ttelefon\n12\t5550134\n":                              "phone 5550134",
		`{"list": "{\"tel\": \"555 0134\"}"}`:                     "phone 555 0134",
		`{"dateOfBirth":"14/07/1990","dueDate":"14/07/1990"}`:     "birthdate 14/07/1990",
		`{"passport_number":"X1234567","part_number":"X1234567"}`: "passport X1234567",
	} {
		if got := strings.Join(found(t, Config{}, text), ", "); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestExplanationsSayWhy(t *testing.T) {
	d, err := NewDetector(Config{Ignore: []string{"*@acme.com"}})
	if err != nil {
		t.Fatal(err)
	}
	kept := make(map[Kind]bool)
	for _, e := range d.Explain("x@acme.com and order id 4111111111111111 and Dr. Jane Miller") {
		if e.Why == "" {
			t.Errorf("%+v has no reason", e)
		}
		kept[e.Kind] = e.Kept
	}
	if email, ok := kept[Email]; !ok || email {
		t.Error("an ignored value is not explained")
	}
	if card, ok := kept[Card]; !ok || card {
		t.Error("a weak value is not explained")
	}
	if !kept[Name] {
		t.Error("a finding is not explained")
	}
}

func TestEveryKindIsDescribed(t *testing.T) {
	var kinds []Kind
	for _, k := range Kinds() {
		kinds = append(kinds, k.Kind)
		if k.Description == "" || k.Check == "" {
			t.Errorf("%s has no description", k.Kind)
		}
	}
	if !slices.Equal(kinds, knownKinds()) {
		t.Errorf("kinds %v, known %v", kinds, knownKinds())
	}
}

func TestEncodingsHideNothing(t *testing.T) {
	for _, text := range []string{
		"bob%40example.org", "bob%2540example.org", "bob&#64;example.org", "bob&#x40;example&period;org", `bob\u0040example.org`, "Ym9iQGV4YW1wbGUub3Jn", "eyJtYWlsIjoiYm9iQGV4YW1wbGUub3JnIn0=",
		`{"a":"{\"b\":\"{\\\"c\\\":\\\"bob@example.org\\\"}\"}"}`, "\uff42\uff4f\uff42\uff20\uff45xample.org", "b\u200bo\u200db@exam\u00adple.org", "Ym9iJTQwZXhhbXBsZS5vcmc=",
		"4111%201111%201111%201111", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "\U0001d7d2\U0001d7cf\U0001d7cf\U0001d7cf 1111 1111 1111", "4111\u00a01111\u20111111\u00a01111", "٤١١١١١١١١١١١١١١١", "4111\u200b1111\u200b1111\u200b1111",
	} {
		v := vault(t, Config{Detect: DefaultKinds()})
		out, counts, err := v.Text(text, "")
		if err != nil || counts.Total() == 0 {
			t.Errorf("%q became %q: %v, %v", text, out, counts, err)
		}
		if again, more, err := v.Text(v.revealAll(out), ""); err != nil || more.Total() == 0 || again == "" {
			t.Errorf("%q, revealed again, is not found", text)
		}
	}
}
