package privacy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/privacy"
)

// speed is the best throughput of several passes over an answer, in megabytes per
// second: what one core does undisturbed.
func speed(t *testing.T, answer []byte, passes int) float64 {
	t.Helper()
	d := detector(t)
	best := time.Hour
	for range passes {
		begun := time.Now()
		if _, _, err := privacy.NewVault(d).JSON(answer, privacy.Tokenize); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(begun))
	}
	return float64(len(answer)) / 1e6 / best.Seconds()
}

// answer is about a megabyte of records, as trackers and customer lists return.
func answer(record func(i int) string) []byte {
	var b strings.Builder
	b.WriteString(`{"list":[`)
	for i := 0; b.Len() < 1<<20; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(record(i))
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func plainRecord(i int) string {
	return fmt.Sprintf(`{"sha":"%040x","id":%d,"state":"open","title":"Fix the parser so that it reads nested lists (#%d)","labels":["bug","parser"],"url":"https://api.example.org/repos/acme/tools/commits/%d","created_at":"2026-11-%02dT08:%02d:00Z","additions":%d,"body":"The reader stopped at the first empty list. It now goes on, and a test checks that. See the notes in docs/parser.md for the reasons."}`,
		i*7919+1_000_003, 4_000_000+i, i, i, i%28+1, i%60, i%500)
}

func denseRecord(i int) string {
	return fmt.Sprintf(`{"id":%d,"name":"Jane Miller","email":"jane.miller%d@example.org","phone":"+1 212 555 %04d","address":"%d Main Street, Springfield, IL 62704","note":"asked to be called back about her order"}`,
		i, i, i%10000, i%900+1)
}

// The goals for one core, in MB/s.
const (
	plainSpeed = 100.0
	denseSpeed = 30.0
)

func TestAnswersAreSearchedFastEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("short: measures speed")
	}
	for _, k := range []struct {
		name   string
		record func(int) string
		goal   float64
	}{{"without personal data", plainRecord, plainSpeed}, {"with some in each record", denseRecord, denseSpeed}} {
		got := speed(t, answer(k.record), 100)
		t.Logf("answers %s: %.0f MB/s on one core, the goal is %.0f", k.name, got, k.goal)
		// A loaded machine may halve the throughput; less is a regression.
		if got < k.goal/2 {
			t.Errorf("answers %s: %.0f MB/s, the goal is %.0f", k.name, got, k.goal)
		}
	}
}

func TestTimeIsLinearInTheLength(t *testing.T) {
	d := detector(t)
	took := func(text []byte, repeats int) time.Duration {
		begun := time.Now()
		for range repeats {
			d.Scan(text)
		}
		return time.Since(begun)
	}
	for name, part := range map[string]string{
		"brackets": "[EMAIL_", "at signs": "a@", "digits": "1 ", "colons": "a: ", "quotes": `\"`, "percent": "%25", "dots": "a.b.", "capitals": "Al Bo ",
		"base64": "aGVsbG8", "plus": "+1", "dashes": "-----BEGIN ", "equals": "key=", "streets": "1 Main ", "nested json": `{\"a\":`, "pipes": "|a",
	} {
		short := []byte(strings.Repeat(part, 32<<10/len(part)))
		long := []byte(strings.Repeat(part, 512<<10/len(part)))
		// Both sides search as much text, so that a busy machine disturbs both.
		// Quadratic time would take 16 times as long.
		var a, b time.Duration
		for range 20 {
			if a, b = took(short, 16), took(long, 1); b <= 4*a {
				break
			}
		}
		if b > 4*a {
			t.Errorf("%s: 16 times 32 KB take %v, 512 KB at once %v", name, a, b)
		}
	}
}
