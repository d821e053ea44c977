package main

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/wexec/wexec/internal/tools/peers/drive"
)

//go:embed programs
var programs embed.FS

// job is one column of the table.
type job struct {
	name, title, unit string
	kind              string
	programs          []string
	n                 int
	per               float64 // divisor of values
	want              string  // value of the program in every language
	tools             bool    // calls the host
	once              bool    // only in the first round
}

var jobs = []job{
	{name: "start", title: "start", unit: "ms", kind: "whole", programs: []string{"one"}, n: 40, want: "2"},
	{name: "rate", title: "runs a second", unit: "/s", kind: "rate", programs: []string{"one"}},
	{name: "call", title: "host call", unit: "µs", kind: "inside", programs: []string{"call"}, n: 3, want: "31000", tools: true},
	{name: "large", title: "1 MB answer", unit: "ms", kind: "inside", programs: []string{"large"}, n: 3, per: 5, want: "27000", tools: true},
	{name: "commits", title: "commits job", unit: "ms", kind: "whole", programs: []string{"commits"}, n: 7, tools: true},
	{name: "fib", title: "fib", unit: "ms", kind: "inside", programs: []string{"fib"}, n: 2, want: "121393"},
	{name: "sieve", title: "sieve", unit: "ms", kind: "inside", programs: []string{"sieve"}, n: 2, want: "78498"},
	{name: "json", title: "JSON", unit: "ms", kind: "inside", programs: []string{"json"}, n: 2},
	{name: "sort", title: "sort", unit: "ms", kind: "inside", programs: []string{"sort"}, n: 2},
	{name: "text", title: "text", unit: "ms", kind: "inside", programs: []string{"text"}, n: 2},
	{name: "memory", title: "memory", unit: "KiB", kind: "memory", programs: []string{"one"}, want: "2", once: true},
	{name: "host", kind: "probe", programs: []string{"host"}, once: true},
	{name: "others", kind: "probe", programs: []string{"leave", "find"}, once: true},
}

// A dialect adapts a program to a peer: text before and after it, and the keyword
// before a call.
type dialect struct{ before, after, wait string }

var dialects = map[string]dialect{
	"sync":     {"(function () {\nconst call = (n, o) => JSON.parse(hostCall(n, JSON.stringify(o)));\n", "})()", ""},
	"async":    {"(async function () {\nconst call = async (n, o) => JSON.parse(await hostCall(n, JSON.stringify(o)));\n", "})()", "await "},
	"wexec js": {"const call = (n, o) => tools.peer?.[n](o);\n", "", "await "},
	"utcp":     {"const call = (n, o) => peer[n](o);\n", "", "await "},
	"python":   {"import json\ndef call(n, o):\n    return json.loads(hostCall(n, json.dumps(o)))\n", "", ""},
	"wexec py": {"import tools\ndef call(n, o):\n    return getattr(tools.peer, n)(**o)\n", "\nresult", ""},
	"bare js":  {"", "", "await "}, // no tools
	"bare py":  {"", "\nresult", ""},
}

// program returns a program in a dialect.
func program(name, language, in string) (string, error) {
	ext := ".js"
	if language == "python" {
		ext = ".py"
	}
	text, err := programs.ReadFile("programs/" + name + ext)
	if err != nil {
		return "", err
	}
	d, ok := dialects[in]
	if !ok {
		return "", fmt.Errorf("unknown dialect %q", in)
	}
	return d.before + strings.ReplaceAll(string(text), "AWAIT ", d.wait) + d.after, nil
}

// steps returns the steps of a round for a peer.
func (p peer) steps(round, threads int) ([]drive.Step, error) {
	var out []drive.Step
	for _, j := range jobs {
		if j.once && round > 0 || j.tools && p.noTools || p.startOnly && j.name != "start" && j.name != "rate" {
			continue
		}
		if j.kind == "memory" && p.live == 0 || j.kind == "rate" && p.once {
			continue
		}
		s := drive.Step{Name: j.name, Kind: j.kind, N: j.n, Threads: threads, Seconds: 2}
		switch {
		case p.once:
			s.N = 1
		case p.slow:
			s.N = min(s.N, 3)
		case j.name == "start":
			s.Warm = 10
		}
		if j.kind == "memory" {
			s.N = p.live
		}
		for _, name := range j.programs {
			text, err := program(name, p.language, p.dialect)
			if err != nil {
				return nil, err
			}
			s.Programs = append(s.Programs, text)
		}
		out = append(out, s)
	}
	return out, nil
}

// answers writes the answers of the tools to a folder and returns the files by
// tool. The data is synthetic and deterministic.
func answers(dir string) (map[string]string, error) {
	type changed struct {
		Path      string `json:"path"`
		Status    string `json:"status"`
		Additions int    `json:"additions"`
		Deletions int    `json:"deletions"`
	}
	type commit struct {
		SHA     string    `json:"sha"`
		Author  string    `json:"author"`
		Date    string    `json:"date"`
		Message string    `json:"message"`
		Files   []changed `json:"files"`
	}
	r := rand.New(rand.NewPCG(11, 12))
	pick := func(words string) string { w := strings.Fields(words); return w[r.IntN(len(w))] }
	var commits []commit
	for i := range 1000 {
		c := commit{SHA: fmt.Sprintf("%016x%016x%08x", r.Uint64(), r.Uint64(), r.Uint32()),
			Author: pick("ana ben chloe dmitri eve farid gita hugo"), Date: fmt.Sprintf("2026-11-%02dT%02d:00:00Z", 1+i*21/1000, i%24)}
		for range 24 + r.IntN(20) {
			c.Message += pick("fix add remove refactor parser cache worker timeout error handling tests docs build release") + " "
		}
		for range 10 + r.IntN(13) {
			c.Files = append(c.Files, changed{fmt.Sprintf("src/module%d/component%d/file_%d.ts", r.IntN(40), r.IntN(90), r.IntN(900)),
				pick("added modified"), r.IntN(200), r.IntN(120)})
		}
		commits = append(commits, c)
	}
	type row struct {
		ID    int      `json:"id"`
		Name  string   `json:"name"`
		Mail  string   `json:"mail"`
		Tags  []string `json:"tags"`
		Score float64  `json:"score"`
		OK    bool     `json:"ok"`
		Notes string   `json:"notes"`
	}
	var rows []row
	for i := range 5400 {
		rows = append(rows, row{i, fmt.Sprint("user ", i), fmt.Sprintf("u%d@example.com", i), []string{"a", "b", "c"}, float64(i) * 1.5, i%2 == 0,
			strings.Repeat(pick("north east south west "), 18)})
	}
	files := map[string]string{}
	for name, doc := range map[string]any{"commits": commits, "large": rows,
		"echo": map[string]any{"id": 12345, "name": "widget", "tags": []string{"a", "b"}, "ok": true, "note": strings.Repeat("0123456789", 3) + "0"}} {
		data, err := json.Marshal(doc)
		if err != nil {
			return nil, err
		}
		files[name] = filepath.Join(dir, name+".json")
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(files[name], data, 0o644)); err != nil {
			return nil, err
		}
	}
	return files, nil
}
