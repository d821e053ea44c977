//go:build linux

package doors

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestAnApprovalOutlivesItsServer parks a run that waits for a person, kills the server,
// and answers the question in the next one. What the run did before is not done again.
func TestAnApprovalOutlivesItsServer(t *testing.T) {
	onEachStore(t, func(t *testing.T, _, data string, flags []string) {
		tools := &noter{calls: map[string]int{}}
		writeTenant(t, data, "version: 1\ntools: {allow: [p.note], ask: [p.send]}\n", tools.serve(t))
		if err := os.WriteFile(filepath.Join(data, "tenants", "default", "wexec.yaml"), []byte("park_after: 50ms\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := startServer(t, data, flags...)
		token := s.token()
		programs := map[string]string{
			"js":     "console.log('one'); await tools.p.note({key: 'js before'}); const [a] = await Promise.all([tools.p.send({key: 'js sent'}), tools.p.note({key: 'js also'})]); console.log('two'); return a",
			"python": "print('one')\ntools.p.note(key='python before')\na = tools.p.send(key='python sent')\nprint('two')\nreturn a",
		}
		ids := map[string]string{}
		for language, code := range programs {
			run, err := s.ask(token, "POST", "/v1/runs", fmt.Sprintf(`{"language":%q,"code":%q}`, language, code), "")
			if err != nil {
				t.Fatal(err)
			}
			ids[language] = run.RunID
		}
		questions := map[string]string{}
		for language, id := range ids {
			run := s.until(token, id, "parked")
			if run.Status != "waiting" || len(run.Waiting) != 1 {
				t.Fatalf("%s: %+v", language, run)
			}
			questions[language] = run.Waiting[0].ID
		}
		_ = s.Cmd.Process.Kill()
		_ = s.Cmd.Wait()
		s = startServer(t, data, flags...)
		for language, id := range ids {
			if status, answer, err := s.send(token, "POST", "/v1/approvals/"+questions[language], `{"decision":"approve"}`, ""); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d %s %v", language, status, answer, err)
			}
			run := s.until(token, id, "done")
			if run.Status != "ok" || string(run.Value) != fmt.Sprintf("%q", language+" sent") || run.Stdout != "one\ntwo\n" {
				t.Errorf("%s: %+v", language, run)
			}
		}
		tools.mu.Lock()
		defer tools.mu.Unlock()
		for _, key := range []string{"js before", "js also", "js sent", "python before", "python sent"} {
			if tools.calls[key] != 1 {
				t.Errorf("%s was done %d times", key, tools.calls[key])
			}
		}
	})
}

// until returns a run when it has a state.
func (s *server) until(token, id, state string) (run struct {
	Status, State, Stdout string
	Value                 json.RawMessage
	Error                 json.RawMessage
	Waiting               []struct{ ID string }
}) {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if s.get(token, "/v1/runs/"+id, &run); run.State == state {
			return run
		}
	}
	s.t.Fatalf("the run is not %s after ten minutes: %+v", state, run)
	return run
}

// TestARunGoesOnAfterItsServerWasKilled kills servers at random moments of runs that
// change something in each step. No effect is doubled, one that is not known to have
// happened is told to the program, and no output comes twice.
func TestARunGoesOnAfterItsServerWasKilled(t *testing.T) {
	rounds := 2
	if text := os.Getenv("WEXEC_RUN_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	} else if testing.Short() {
		t.Skip("short: waits until leases expire")
	}
	// Most of the time leases are waited for: more servers at once take less.
	lanes := min(6, max(1, rounds/4))
	var mu sync.Mutex
	kills, effects, unknown := map[string]int{}, map[string]int{}, map[string]int{}
	t.Cleanup(func() {
		for _, kind := range slices.Sorted(maps.Keys(kills)) {
			t.Logf("%s: %d kills; %d effects, doubled 0, lost 0, %d with an unknown outcome", kind, kills[kind], effects[kind], unknown[kind])
		}
	})
	for lane := range lanes {
		onEachStore(t, func(t *testing.T, kind, data string, flags []string) {
			k := &killing{data: data, flags: flags, tools: &noter{calls: map[string]int{}}}
			// On a busy machine each step waits for the disk.
			writeTenant(t, data, "version: 1\ntools: {allow: [p.note]}\nlimits: {time: 10m}\n", k.tools.serve(t))
			for round := lane; round < rounds; round += lanes {
				k.round(t, round)
				mu.Lock()
				kills[kind]++
				mu.Unlock()
			}
			mu.Lock()
			defer mu.Unlock()
			effects[kind] += len(k.tools.calls)
			unknown[kind] += k.unknown
		})
	}
}

// killing is a store whose servers are killed.
type killing struct {
	data    string
	flags   []string
	token   string
	tools   *noter
	unknown int // effects with an unknown outcome
}

// round kills a server while three runs are in it, and checks how they end in the next.
func (k *killing) round(t *testing.T, round int) {
	s := startServer(t, k.data, k.flags...)
	if k.token == "" {
		k.token = s.token()
	}
	token, tools := k.token, k.tools
	code := fmt.Sprintf("const out = []; for (let i = 0; i < 100; i++) { console.log('step', i); try { out.push(await tools.p.note({key: `%d %%d ${i}`})) } catch (e) { out.push(e.code) } await sleep(0.005) } return out", round)
	if round%2 == 1 {
		code = fmt.Sprintf("out = []\nfor i in range(100):\n    print('step', i)\n    try:\n        out.append(tools.p.note(key=f'%d %%d {i}'))\n    except ToolError as e:\n        out.append(e.code)\n    sleep(0.005)\nreturn out", round)
	}
	language := []string{"js", "python"}[round%2]
	tools.mu.Lock()
	before := len(tools.calls)
	tools.mu.Unlock()
	ids := []string{}
	for n := range 3 {
		run, err := s.ask(token, "POST", "/v1/runs?wait=0s", fmt.Sprintf(`{"language":%q,"code":%q}`, language, fmt.Sprintf(code, n)), "")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, run.RunID)
	}
	for enough := before + rand.IntN(200); ; time.Sleep(time.Millisecond) {
		tools.mu.Lock()
		n := len(tools.calls)
		tools.mu.Unlock()
		if n >= enough {
			break
		}
	}
	_ = s.Cmd.Process.Kill()
	_ = s.Cmd.Wait()
	s = startServer(t, k.data, k.flags...)
	for n, id := range ids {
		run := s.until(token, id, "done")
		var out []string
		if run.Status != "ok" || json.Unmarshal(run.Value, &out) != nil || len(out) != 100 {
			t.Fatalf("%s: %s, %s, %s, after %q", language, run.Status, run.Error, run.Value, run.Stdout)
		}
		steps := ""
		tools.mu.Lock()
		for i, got := range out {
			steps += fmt.Sprintf("step %d\n", i)
			key := fmt.Sprintf("%d %d %d", round, n, i)
			switch calls := tools.calls[key]; {
			case got == key && calls == 1:
			case got == "tool.unknown_outcome" && calls <= 1:
				k.unknown++
			default:
				t.Errorf("%s: step %q was done %d times and gave %q", language, key, calls, got)
			}
		}
		tools.mu.Unlock()
		if run.Stdout != steps {
			t.Errorf("%s: the output is %q", language, run.Stdout)
		}
		if told, calls := s.told(token, id); told != steps || calls != 100 {
			t.Errorf("%s: the events have %d calls and the output %q", language, calls, told)
		}
	}
	_ = s.Cmd.Process.Kill()
	_ = s.Cmd.Wait()
}

// told returns the output that the events of a run have, and the number of their calls.
func (s *server) told(token, id string) (output string, calls int) {
	s.t.Helper()
	_, data, err := s.send(token, "GET", "/v1/runs/"+id+"/events", "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	var told strings.Builder
	numbers := map[int]int{}
	of := ""
	for line := range strings.Lines(string(data)) {
		switch kind, rest, _ := strings.Cut(strings.TrimSpace(line), ": "); kind {
		case "event":
			of = rest
		case "data":
			var e struct {
				Text   string
				Number int
			}
			if err := json.Unmarshal([]byte(rest), &e); err != nil {
				s.t.Error(err)
			}
			switch of {
			case "output":
				told.WriteString(e.Text)
			case "call":
				if numbers[e.Number]++; numbers[e.Number] > 1 {
					s.t.Errorf("call %d is told %d times", e.Number, numbers[e.Number])
				}
			}
		}
	}
	return told.String(), len(numbers)
}
