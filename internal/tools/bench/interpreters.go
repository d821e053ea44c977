package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/wexec/wexec/engine"
)

// workload is the same function body in both languages. Results are compared.
type workload struct {
	name               string
	javascript, python string
}

var workloads = []workload{
	{"calls (fib)",
		`const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); return fib(22);`,
		`def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
return fib(22)`},
	{"loop, integers",
		`let s = 0; for (let i = 0; i < 400000; i++) s = (s + i * 7) % 1000003; return s;`,
		`s = 0
for i in range(400000):
    s = (s + i * 7) % 1000003
return s`},
	{"loop, integers and floats",
		`let s = 0; for (let i = 0; i < 400000; i++) s += (i % 8) * 0.5; return s;`,
		`s = 0.0
for i in range(400000):
    s += (i % 8) * 0.5
return int(s)`},
	{"JSON, there and back",
		`const rows = []; for (let i = 0; i < 4000; i++) rows.push({id: i, name: 'name ' + i, tags: ['a', 'b'], score: i / 4, ok: i % 2 === 0});
const text = JSON.stringify(rows); let n = 0; for (const row of JSON.parse(text)) n += row.id; return n;`,
		`import json
rows = [{"id": i, "name": "name " + str(i), "tags": ["a", "b"], "score": i / 4, "ok": i % 2 == 0} for i in range(4000)]
text = json.dumps(rows)
return sum(row["id"] for row in json.loads(text))`},
	{"sort",
		`let x = 42; const list = []; for (let i = 0; i < 30000; i++) { x = (x * 1103515245 + 12345) % 2147483648; list.push({key: x % 10007, i}); }
list.sort((a, b) => a.key - b.key || a.i - b.i); return list[15000].i;`,
		`x, rows = 42, []
for i in range(30000):
    x = (x * 1103515245 + 12345) % 2147483648
    rows.append({"key": x % 10007, "i": i})
rows.sort(key=lambda r: (r["key"], r["i"]))
return rows[15000]["i"]`},
	{"strings",
		`const words = []; for (let i = 0; i < 20000; i++) words.push('word' + (i % 97));
const text = words.join(' ').toUpperCase(); let n = 0; for (const w of text.split(' ')) n += w.replace('WORD', '').length; return n;`,
		`words = ["word" + str(i % 97) for i in range(20000)]
text = " ".join(words).upper()
return sum(len(w.replace("WORD", "")) for w in text.split(" "))`},
	{"regular expressions",
		`const text = 'ada@example.com wrote to bob@example.org on 2026-11-21; '.repeat(400); let n = 0;
for (const m of text.matchAll(/([\w.]+)@([\w.]+)\.(com|org)|(\d{4})-(\d\d)-(\d\d)/g)) n += m[0].length; return n;`,
		`import re
text = "ada@example.com wrote to bob@example.org on 2026-11-21; " * 400
return sum(len(m[0]) for m in re.finditer(r"([\w.]+)@([\w.]+)\.(com|org)|(\d{4})-(\d\d)-(\d\d)", text))`},
	{"maps and dicts",
		`const by = new Map(); for (let i = 0; i < 100000; i++) { const k = 'k' + (i % 500); by.set(k, (by.get(k) ?? 0) + i); } return by.get('k7');`,
		`by = {}
for i in range(100000):
    k = "k" + str(i % 500)
    by[k] = by.get(k, 0) + i
return by["k7"]`},
}

// comparison is the time of a workload in the guest and in the installed
// interpreter. Programs measure themselves.
type comparison struct {
	Workload string  `json:"workload"`
	Language string  `json:"language"`
	Against  string  `json:"against"`
	Guest    float64 `json:"guest_ms"`
	Native   float64 `json:"native_ms"`
	Ratio    float64 `json:"ratio"` // guest over native
}

// outcome is the output of a workload.
type outcome struct {
	MS    float64 `json:"ms"`
	Value float64 `json:"value"`
}

// interpreters runs every workload in the guests, Node and CPython, in turns, and
// returns medians.
func interpreters(b *bench) ([]comparison, error) {
	e, err := b.open(engine.Config{})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var all []comparison
	for _, language := range []string{engine.JavaScript, engine.Python} {
		command, version, err := native(language)
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %v\n", err)
			continue
		}
		for _, w := range workloads {
			fmt.Fprintf(os.Stderr, "bench: %s, %s\n", w.name, language)
			c := comparison{Workload: w.name, Language: language, Against: version}
			if c.Guest, c.Native, err = b.compare(e, language, w, command); err != nil {
				return nil, fmt.Errorf("%s in %s: %w", w.name, language, err)
			}
			c.Ratio = c.Guest / c.Native
			all = append(all, c)
		}
	}
	return all, nil
}

func (b *bench) compare(e *engine.Engine, language string, w workload, command []string) (guest, other float64, err error) {
	const rounds = 7
	inGuest, outside := w.programs(language)
	var guests, others []float64
	for range rounds {
		res, err := e.Run(b.ctx, engine.Request{Language: language, Code: inGuest})
		if err != nil {
			return 0, 0, err
		}
		var mine, theirs outcome
		if err := json.Unmarshal(res.Value, &mine); err != nil {
			return 0, 0, err
		}
		out, err := exec.CommandContext(b.ctx, command[0], append(command[1:], outside)...).Output()
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", command[0], err)
		}
		if err := json.Unmarshal(out, &theirs); err != nil {
			return 0, 0, err
		}
		if mine.Value != theirs.Value {
			return 0, 0, fmt.Errorf("the guest returned %v, %s returned %v", mine.Value, command[0], theirs.Value)
		}
		guests, others = append(guests, mine.MS), append(others, theirs.MS)
	}
	slices.Sort(guests)
	slices.Sort(others)
	return guests[rounds/2], others[rounds/2], nil
}

// programs returns a workload for the guest and for the installed interpreter.
// Both measure themselves, so starts are not included.
func (w workload) programs(language string) (inGuest, outside string) {
	if language == engine.JavaScript {
		timed := "const work = () => { " + w.javascript + " };\n" +
			"const begun = performance.now(), value = work();\nconst took = {ms: performance.now() - begun, value};\n"
		return timed + "return took", timed + "console.log(JSON.stringify(took))"
	}
	timed := "import time\ndef work():\n    " + strings.ReplaceAll(w.python, "\n", "\n    ") + "\n" +
		"begun = time.perf_counter()\nvalue = work()\ntook = {'ms': (time.perf_counter() - begun) * 1000, 'value': value}\n"
	return timed + "return took", timed + "import json\nprint(json.dumps(took))"
}

// native returns the command of the installed interpreter and its version.
func native(language string) (command []string, version string, err error) {
	name, flag := "node", "-e"
	if language == engine.Python {
		name, flag = "python3", "-c"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, "", fmt.Errorf("cannot compare %s: %s is not installed", language, name)
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return nil, "", fmt.Errorf("cannot compare %s: %s --version: %w", language, name, err)
	}
	version = string(bytes.TrimSpace(out))
	if name == "node" {
		version = "Node " + version
	}
	return []string{path, flag}, version, nil
}

func showComparisons(all []comparison) {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "workload\tguest\tms\tagainst\tms\tratio\t")
	for _, c := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f\t\n", c.Workload, c.Language, number(c.Guest), c.Against, number(c.Native), c.Ratio)
	}
	w.Flush()
}
