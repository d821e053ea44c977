package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// write writes the documents from all measurements.
func write(all []record, note string) error {
	t := tabulate(all)
	t.note = note
	if err := os.WriteFile(filepath.Join("docs", "understand", "peers.svg"), []byte(t.picture()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("docs", "understand", "peers.md"), []byte(t.markdown()), 0o644)
}

func (t table) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Peers

The same programs in wexec and in other sandboxes. `+"`make bench-peers`"+` installs the peers, measures them, and writes this page and its picture. Date: %s: %s. Medians over %d rounds; in each round, every peer is measured in turn in a separate process. A fixed loop, as a check of the machine, took between %.2f and %.2f ms.%s

![the commits job, start, host call and memory, peer by peer](peers.svg)

`, t.day, t.machine, t.rounds, t.quick, t.slow, strings.TrimRight(" "+t.note, " "))
	b.WriteString(`Columns:

- **start**: create a sandbox, run ` + "`1 + 1`" + `, and destroy it. For a process, from start to exit. For a server, from request to answer.
- **runs a second**: the same on all processors.
- **host call**: one of a thousand calls of a tool with a small object. **1 MB answer**: parse an answer of one megabyte. The tools answer immediately, so this is the overhead of the sandbox.
- **commits job**: create a sandbox, fetch, filter and sum a thousand commits (1.8 MB), and destroy it.
- **fib**, **sieve**, **JSON**, **sort**, **text**: computation in a new sandbox, so compilers start cold. The start is not included, except for wexec.
- **memory**: private memory of one additional live sandbox that ran ` + "`1 + 1`" + `.

wexec runs with its usual limits, policy and audit log. The others run without limits, except for the memory limit that isolated-vm requires.

`)
	for _, language := range []string{js, py} {
		t.figures(&b, language)
	}
	b.WriteString("## Protection\n\nThe first two columns were tested with a program that reads a file of the host, and with a program that looks for data that an earlier program left in shared objects. The other columns are documented features.\n\n")
	b.WriteString("| peer | language | reads a file of the host | sees another run | isolation | infinite loops end by | memory limit | calls are decided by |\n|---|---|---|---|---|---|---|---|\n")
	for _, p := range peers {
		if p.startOnly {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", p.name, titles[p.language], t.probe(p, "host"), t.probe(p, "others"), p.apart, p.loop, p.memory, p.calls)
	}
	b.WriteString("\n" + t.verdict())
	if why := t.failures(); why != "" {
		b.WriteString("## Failures\n\n" + why)
	}
	return b.String()
}

func (t table) probe(p peer, name string) string {
	c, ok := t.cells[p.key()][name]
	switch {
	case !ok || c.out == "" && c.why == "":
		return "–"
	case c.why != "":
		return "no (fails)"
	case c.out == "yes":
		return "**yes**"
	}
	return "no"
}

func (t table) figures(b *strings.Builder, language string) {
	fmt.Fprintf(b, "## %s\n\n| peer | version |", titles[language])
	columns := []job{}
	for _, j := range jobs {
		if j.kind != "probe" {
			columns = append(columns, j)
			fmt.Fprintf(b, " %s, %s |", j.title, j.unit)
		}
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	for _, p := range peers {
		if p.language != language {
			continue
		}
		fmt.Fprintf(b, "| %s | %s |", p.name, t.versions[p.key()])
		for _, j := range columns {
			fmt.Fprintf(b, " %s |", t.cells[p.key()][j.name])
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

// verdict returns the rank of wexec in each column, with the peers before it.
func (t table) verdict() string {
	var b strings.Builder
	b.WriteString("## Ranking\n\n| column | JavaScript | Python |\n|---|---|---|\n")
	for _, j := range jobs {
		if j.kind == "probe" {
			continue
		}
		fmt.Fprintf(&b, "| %s |", j.title)
		for _, language := range []string{js, py} {
			fmt.Fprintf(&b, " %s |", t.standing(j, language))
		}
		b.WriteString("\n")
	}
	return b.String() + "\n"
}

func (t table) standing(j job, language string) string {
	wexec := t.cells["wexec/"+language][j.name]
	if !wexec.known {
		return "not measured"
	}
	var before []string
	others, best, rival := 0, 0.0, ""
	for _, p := range peers {
		c := t.cells[p.key()][j.name]
		if p.language != language || strings.HasPrefix(p.name, "wexec") || !c.known {
			continue
		}
		others++
		ratio := wexec.value / c.value // more than 1: the other is better
		if j.kind == "rate" {
			ratio = 1 / ratio
		}
		if ratio > 1 {
			before = append(before, fmt.Sprintf("%s (%.1fx)", p.name, ratio))
		}
		if ratio > best {
			best, rival = ratio, p.name
		}
	}
	if len(before) == 0 {
		return fmt.Sprintf("1 of %d; next: %s (%.1fx)", others+1, rival, 1/best)
	}
	return fmt.Sprintf("%d of %d, behind %s", len(before)+1, others+1, strings.Join(before, ", "))
}

func (t table) failures() string {
	var b strings.Builder
	for _, p := range peers {
		by := map[string][]string{}
		for _, j := range jobs {
			if c := t.cells[p.key()][j.name]; c.why != "" && !c.known && j.kind != "probe" {
				by[c.why] = append(by[c.why], j.title)
			}
		}
		for why, names := range by {
			fmt.Fprintf(&b, "- %s (%s), %s: `%s`", p.name, titles[p.language], strings.Join(names, ", "), strings.ReplaceAll(why, "`", "'"))
			if p.note != "" {
				b.WriteString("; " + p.note)
			}
			b.WriteString("\n")
		}
	}
	for _, n := range t.notes {
		b.WriteString("- " + n + "\n")
	}
	return b.String()
}
