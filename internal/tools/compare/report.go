package main

import (
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wexec/wexec/internal/tools/machine"
)

// grouped writes a number with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func met(ok bool) string {
	if ok {
		return ""
	}
	return " (goal missed)"
}

func (o outcome) savedText() string {
	return fmt.Sprintf("%.2f %%%s", 100*o.saved(), met(o.saved() >= o.job.goal))
}

func (o outcome) fasterText() string {
	return fmt.Sprintf("%.0f %%%s", 100*o.faster(), met(o.faster() >= timeGoal))
}

func (e estimate) text() string {
	d := off(e.in, e.exactIn)
	return fmt.Sprintf("%+.1f %%%s", 100*d, met(d <= estimateGoal && d >= -estimateGoal))
}

// table is what a terminal shows.
func table(all []outcome) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "job\ttokens, plain\tprogram\tsaved\tturns, plain\tprogram\ttime, plain\tprogram\tsaved\testimate off\t")
	for _, o := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t\n", o.job.name, grouped(o.plain.tokens()), grouped(o.program.tokens()), o.savedText(),
			o.plain.turns, o.program.turns, seconds(o.plain.wall), seconds(o.program.wall), o.fasterText(), o.estimate.text())
	}
	_ = w.Flush()
	return b.String()
}

// document is docs/understand/compare.md.
func (c *compare) document(all []outcome, corpora []corpus) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Plain tool calls and programs, side by side

`+"`make compare`"+` does the same jobs twice with the same MCP servers: as plain tool calls and as one program under wexec. This page and the picture are its output of %s, on %s.

![Tokens in the context, plain calls and one program](compare.svg)

| job | tokens, plain | tokens, program | saved | goal | turns, plain | turns, program | time, plain | time, program | saved |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`, time.Now().UTC().Format("2 January 2006"), built())
	for _, o := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f %% | %d | %d | %s | %s | %s |\n", o.job.name, grouped(o.plain.tokens()), grouped(o.program.tokens()),
			o.savedText(), 100*o.job.goal, o.plain.turns, o.program.turns, seconds(o.plain.wall), seconds(o.program.wall), o.fasterText())
	}
	fmt.Fprintf(&b, `
The goal for the time is %.0f %% less.

## What is counted

- **Tokens** are exact, o200k. On both sides: the definitions of the tools (name, description, schema of the arguments), what the model writes (calls, or searches and the program), what it reads of the answers. Each is counted once; a client that sends the whole conversation again at each turn pays the plain side's many times over. The closing message is the same in both and left out.
- **Turns** are messages of the model, the closing one included. Each takes a simulated %d ms, which is added to the measured time of the tools. How long a model takes to write is left out; the plain side writes more.
- **Time of the tools** is measured. Servers are connected and the guest is compiled before the clock runs, in both cases. The program's side is wexec with the policy, personal data turned to tokens and a full audit.
- **No model takes part.** Both sides do what a model would that makes no mistake and no detour. That both come to the same answer is checked in each job, in the status report by its three counts.
- **The plain client** asks for the next page of a list when it has the one before, and makes up to %d calls in a turn where none needs another's answer. One that asked for all pages at once would need few turns, and as many tokens.
- Tokens beyond what a context holds are counted all the same, though no model could do such a job that way.

| job | the plain client | definitions | calls written | answers read | definitions, program | written, program | read, program |
|---|---|---:|---:|---:|---:|---:|---:|
`, 100*timeGoal, c.trip.Milliseconds(), together)
	for _, o := range all {
		fmt.Fprintf(&b, "| %s | %s: %s calls | %s | %s | %s | %s | %s | %s |\n", o.job.name, o.job.how, grouped(o.plain.calls),
			grouped(o.plain.definitions), grouped(o.plain.written), grouped(o.plain.read),
			grouped(o.program.definitions), grouped(o.program.written), grouped(o.program.read))
	}
	fmt.Fprintf(&b, `
## The estimate in each result

`+"`usage.tokens_in_tools` and `usage.tokens_out`"+` are estimates, since the exact tokenizer takes longer to load than most programs run. The goal is %.0f %% of o200k for what the tools said.

| job | tools said, estimate | exact | off | result, estimate | exact | off |
|---|---:|---:|---:|---:|---:|---:|
`, 100*estimateGoal)
	for _, o := range all {
		e := o.estimate
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %+.1f %% |\n", o.job.name, grouped(e.in), grouped(e.exactIn), e.text(),
			grouped(e.out), grouped(e.exactOut), 100*off(e.out, e.exactOut))
	}
	if len(corpora) > 0 {
		fmt.Fprintf(&b, "\n## The corpora of privacy and search\n\nWhat the tests over labelled examples said in the same run.\n\n```text%s```\n", corporaText(corpora))
	}
	return b.String()
}

// built is this machine and the commit.
func built() string {
	out, err := exec.Command("git", "describe", "--tags", "--always").Output()
	if err != nil {
		return machine.Describe()
	}
	return machine.Describe() + ", wexec " + strings.TrimSpace(string(out))
}
