package approvals

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/hostfns"
)

func TestDecisiveArgumentsComeFirstThenShortOnes(t *testing.T) {
	q := hostfns.Question{Message: "send money", Rule: "policy.yaml:3", Intent: "pay the rent", Decisive: []string{"to", "amount"},
		Args: json.RawMessage(`{"a":1,"zz":[2,{"b":"c"}],"note":"\u0068i","amount":12345678901234567890.10,"to":"mallory"}`)}
	want := []string{"send money", "arguments:", `  to: "mallory"`, "  amount: 12345678901234567890.10", "  a: 1", `  note: "hi"`, `  zz: [2,{"b":"c"}]`,
		"rule policy.yaml:3", "the goal that the program gives: pay the rent"}
	for _, room := range []Room{OnTerminal, InForm} {
		if got := Lines(q, room); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	for args, want := range map[string]string{"{}": "without arguments", "": "arguments: ", `"x\n"`: `arguments: "x\n"`} {
		if got := Lines(hostfns.Question{Args: json.RawMessage(args)}, InForm); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %q", args, got)
		}
	}
}

// TestWhatIsCutIsSaid pads one argument and adds many. The decisive ones are
// shown, and for the others length, digest and a place to read them.
func TestWhatIsCutIsSaid(t *testing.T) {
	long := strings.Repeat("pad ", 1000) + "the end"
	args := map[string]any{"to": "mallory", "note": long}
	for i := range 500 {
		args[fmt.Sprintf("a%03d", i)] = i
	}
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	q := hostfns.Question{ID: "q_1", Run: "01RUN", Args: data, Decisive: []string{"to", "note"}}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(`"`+long+`"`)))[:12]
	for via, where := range map[string]string{"socket": "to read all of it: question q_1 on the approvals socket", "audit": "to read all of it: the audit record of run 01RUN", "none": "not recorded"} {
		q.Via, q.Recorded = []string{via}, via == "audit"
		lines := Lines(q, InForm)
		if len(lines) > 120 || lines[1] != `  to: "mallory"` || !strings.HasPrefix(lines[2], "  note [cut: 4009 characters, sha256 "+digest+`]: "pad pad`) || !strings.HasSuffix(lines[2], `the end"`) {
			t.Errorf("%q", lines)
		}
		others, last := lines[len(lines)-2], lines[len(lines)-1]
		if !strings.HasPrefix(others, "  [cut: ") || !strings.Contains(others, " more arguments, ") || !strings.Contains(last, where) {
			t.Errorf("%q, %q", others, last)
		}
	}
}

// TestNoTextLooksLikeAnotherLine has names, values, messages and goals of random
// characters that hide or move text. Each is on one line, visible, and bounded.
func TestNoTextLooksLikeAnotherLine(t *testing.T) {
	hostile := []rune("a \n\r\t\x00\x1b\x7f\u0085\u009b\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u200b\u200d\u200e\u2028\u202e\u2066\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufffc\U0001d159\U000e0001\U000e0041\U000e0100\U0010fffd\"\\:")
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		text := func() string {
			var b strings.Builder
			for range rnd.IntN(1 << rnd.IntN(12)) {
				b.WriteRune(hostile[rnd.IntN(len(hostile))])
			}
			return b.String()
		}
		args := map[string]any{"to": "mallory"}
		for range rnd.IntN(40) {
			args[text()] = text()
		}
		data, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		lines := Lines(hostfns.Question{ID: "q", Message: text(), Intent: text(), Args: data, Decisive: []string{"to"}}, InForm)
		all, tos := 0, 0
		for _, line := range lines {
			all += utf8.RuneCountInString(line)
			if strings.HasPrefix(line, "  to: ") {
				tos++
			}
			for _, r := range line {
				if !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == 0x2800 || r == 0x1d159 {
					t.Fatalf("seed %d: %U is not visible in %q", seed, r, line)
				}
			}
			if strings.Contains(line, "     ") {
				t.Fatalf("seed %d: spaces push text away: %q", seed, line)
			}
		}
		if tos != 1 || !slices.Contains(lines, `  to: "mallory"`) {
			t.Fatalf("seed %d: the lines are %q", seed, lines)
		}
		if limit := 4000; all > limit {
			t.Fatalf("seed %d: %d characters", seed, all)
		}
	}
}

func TestALargeArgumentIsShownInLittleMemory(t *testing.T) {
	args := []byte(`{"to":"mallory","body":"` + strings.Repeat("\\u202e", 1<<20) + `"}`)
	lines := Lines(hostfns.Question{Args: args}, OnTerminal)
	if lines[1] != `  to: "mallory"` || !strings.HasPrefix(lines[2], "  body [cut: 6291458 characters, ") || len(lines[2]) > 600 {
		t.Errorf("%.600q", lines)
	}
}
