package main

import (
	"fmt"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/wexec/wexec/internal/tools/machine"
)

// grouped formats a number with commas.
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

// table formats the outcomes for a terminal.
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

// document formats docs/understand/compare.md.
func (c *compare) document(all []outcome, corpora []corpus) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Tool calls and programs compared

`+"`make compare`"+` does the same jobs twice with the same MCP servers: with plain tool calls, and with one program in wexec. This page and the picture are its output of %s, on %s.

![Tokens in the context, plain calls and one program](compare.svg)

| job | tokens, plain | tokens, program | saved | goal | turns, plain | turns, program | time, plain | time, program | saved |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`, time.Now().UTC().Format("2 January 2006"), built())
	for _, o := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.0f %% | %d | %d | %s | %s | %s |\n", o.job.name, grouped(o.plain.tokens()), grouped(o.program.tokens()),
			o.savedText(), 100*o.job.goal, o.plain.turns, o.program.turns, seconds(o.plain.wall), seconds(o.program.wall), o.fasterText())
	}
	fmt.Fprintf(&b, `
The goal for time is %.0f %% less.

## Method

- **Tokens** are exact o200k counts of the definitions of the tools (name, description, input schema), of what the model writes (calls, or searches and the program), and of the answers that it reads. Each is counted once. A client that resends the conversation in each turn pays for plain calls many times. The final message is the same on both sides and is not counted.
- **Turns** are messages of the model, including the final one. Each adds a simulated %d ms to the measured time of the tools. The time to generate tokens is not counted; plain calls need more.
- **Time of the tools** is measured. Servers are connected and the guest is compiled before the measurement. The program runs with a policy, tokens for personal data, and a full audit log.
- **No model is involved.** Both sides are what a model without mistakes would do. Each job checks that both sides give the same answer; the status report compares its three counts.
- **The plain client** requests the next page of a list after the previous one, and makes up to %d independent calls in a turn. A client that requests all pages at the same time needs fewer turns but as many tokens.
- Tokens are counted even when they exceed the context of any model.

| job | the plain client | definitions | calls written | answers read | definitions, program | written, program | read, program |
|---|---|---:|---:|---:|---:|---:|---:|
`, 100*timeGoal, c.trip.Milliseconds(), together)
	for _, o := range all {
		fmt.Fprintf(&b, "| %s | %s: %s calls | %s | %s | %s | %s | %s | %s |\n", o.job.name, o.job.how, grouped(o.plain.calls),
			grouped(o.plain.definitions), grouped(o.plain.written), grouped(o.plain.read),
			grouped(o.program.definitions), grouped(o.program.written), grouped(o.program.read))
	}
	b.WriteString(c.money(countsOf(all)))
	fmt.Fprintf(&b, `
## The estimate in each result

`+"`usage.tokens_in_tools` and `usage.tokens_out`"+` are estimates, because loading the exact tokenizer takes longer than most programs run. The goal for the answers of tools is an error of at most %.0f %%.

| job | answers, estimate | exact | error | result, estimate | exact | error |
|---|---:|---:|---:|---:|---:|---:|
`, 100*estimateGoal)
	for _, o := range all {
		e := o.estimate
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %+.1f %% |\n", o.job.name, grouped(e.in), grouped(e.exactIn), e.text(),
			grouped(e.out), grouped(e.exactOut), 100*off(e.out, e.exactOut))
	}
	if len(corpora) > 0 {
		fmt.Fprintf(&b, "\n## Privacy and search\n\nOutput of the tests with labelled examples, from the same run.\n\n```text%s```\n", corporaText(corpora))
	}
	return b.String()
}

// built describes this machine and the commit.
func built() string {
	out, err := exec.Command("git", "describe", "--tags", "--always").Output()
	if err != nil {
		return machine.Describe()
	}
	return machine.Describe() + ", wexec " + strings.TrimSpace(string(out))
}
