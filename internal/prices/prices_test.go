package prices

import (
	"errors"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

func TestThePublicPricesAreThoseOfThreeMakers(t *testing.T) {
	l, err := Public()
	if err != nil {
		t.Fatal(err)
	}
	makers := map[string]int{}
	for _, m := range l.Models {
		makers[m.Maker]++
		if m.Input <= 0 || m.Output <= m.Input {
			t.Errorf("%+v", m)
		}
	}
	if len(makers) < 3 || makers[""] > 0 {
		t.Errorf("the makers are %v", makers)
	}
	m, err := l.Model("")
	if err != nil || m.Name != l.Default {
		t.Errorf("%+v %v", m, err)
	}
	if !strings.Contains(string(public), "https://") {
		t.Error("the prices have no source")
	}
}

func TestTokensCostWhatTheListSays(t *testing.T) {
	m := Model{Input: 3, Output: 15}
	for _, test := range [][3]int64{{0, 0, 0}, {1, 0, 3}, {0, 1, 15}, {1_000_000, 1_000_000, 18_000_000}, {1 << 62, 1 << 62, 1 << 60}} {
		if got := m.Cost(test[0], test[1]); got != test[2] {
			t.Errorf("%v: %d", test, got)
		}
	}
	if got := (Model{Input: 0.25}).Cost(2, 0); got != 1 { // rounded
		t.Error(got)
	}
}

func TestPricesAreChecked(t *testing.T) {
	const head = "currency: EUR\ndate: 2026-01-31\ndefault: m\nmodels:\n"
	l, err := Parse("p", []byte(head+"  m: {input: 0, output: 1e1}\n  x: {input: 0.5, output: 1, maker: me}\n"))
	if err != nil || l.Currency != "EUR" || len(l.Models) != 2 || l.Models[0].Output != 10 {
		t.Fatalf("%+v %v", l, err)
	}
	for _, text := range []string{
		"", "models: {}", head, head + "  x: {input: 1, output: 1}\n", head + "  m: {input: 1}\n", head + "  m: {input: -1, output: 1}\n", head + "  m: {input: NaN, output: 1}\n",
		head + "  m: {input: 1, output: 1e99}\n", head + "  m: {input: 1, output: 1, both: 2}\n", head + "  m: {input: 1, output: 1}\n  m: {input: 1, output: 2}\n",
		strings.Replace(head, "2026-01-31", "soon", 1) + "  m: {input: 1, output: 1}\n", strings.Replace(head, "EUR", "euro", 1) + "  m: {input: 1, output: 1}\n",
	} {
		if _, err := Parse("p", []byte(text)); !errors.Is(err, fault.UsageConfig) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := l.Model("y"); !errors.Is(err, fault.UsageConfig) {
		t.Error(err)
	}
}
