// Compare does the same jobs twice with the same tools: with plain tool calls, and
// with one program. It counts tokens, round trips and wall time, prints a table,
// and writes docs/understand/compare.md and docs/understand/compare.svg. Usage:
//
//	go run ./internal/tools/compare [-only WORD] [-out DIR] [-trip 800ms] [-tests=false] [-prices]
//
// No model is involved: the calls and the programs are fixed, and the time of the
// model is simulated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/wexec/wexec/internal/prices"
)

// trip is the simulated time of one turn of the model.
const trip = 800 * time.Millisecond

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		if err := serve(context.Background(), os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "compare:", err)
			os.Exit(1)
		}
		return
	}
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func command() error {
	only := flag.String("only", "", "run only jobs with this word in their name, and write nothing")
	out := flag.String("out", "docs/understand", "the `FOLDER` for compare.md and compare.svg")
	wait := flag.Duration("trip", trip, "the time of one turn of the model")
	again := flag.Bool("prices", false, "run nothing: only calculate the money in compare.md again from its token counts")
	tests := flag.Bool("tests", true, "also run the tests with labelled examples")
	flag.Parse()
	list, err := prices.Public()
	if err != nil {
		return err
	}
	if *again {
		return priced(filepath.Join(*out, "compare.md"), list)
	}
	work, err := os.MkdirTemp("", "wexec-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	c := &compare{ctx: context.Background(), work: work, trip: *wait, tokens: codec.NewO200kBase(), prices: list}
	if err := c.build(); err != nil {
		return err
	}
	var outcomes []outcome
	for _, j := range jobs() {
		if !strings.Contains(j.name, *only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "compare: %s\n", j.name)
		o, err := c.do(j)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		outcomes = append(outcomes, o)
	}
	if len(outcomes) == 0 {
		return errors.New("no job with this word in its name")
	}
	fmt.Print(table(outcomes))
	fmt.Print(c.money(countsOf(outcomes)))
	var corpora []corpus
	if *tests {
		fmt.Fprintln(os.Stderr, "compare: the corpora of privacy and search")
		corpora = checkCorpora(c.ctx)
		fmt.Print(corporaText(corpora))
	}
	if *only != "" {
		return missed(outcomes, corpora)
	}
	if err := os.WriteFile(filepath.Join(*out, "compare.md"), []byte(c.document(outcomes, corpora)), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(*out, "compare.svg"), []byte(picture(outcomes)), 0o644); err != nil {
		return err
	}
	return missed(outcomes, corpora)
}

// build builds the demo server.
func (c *compare) build() error {
	cmd := exec.CommandContext(c.ctx, "go", "build", "-o", c.demo(), "./examples/demo-server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the demo server (run this at the top of the repository): %w\n%s", err, out)
	}
	return nil
}

// do runs a job both ways and checks that the answers are equal.
func (c *compare) do(j job) (outcome, error) {
	o := outcome{job: j}
	p, err := c.plain(j)
	if err != nil {
		return o, fmt.Errorf("as plain calls: %w", err)
	}
	o.plain = p.side
	value, err := c.program(j, &o)
	if err != nil {
		return o, fmt.Errorf("as a program: %w", err)
	}
	if err := j.check(p.answers, value); err != nil {
		return o, fmt.Errorf("different answers: %w", err)
	}
	return o, nil
}

// missed returns an error for each goal that was not reached.
func missed(outcomes []outcome, corpora []corpus) error {
	var all []error
	for _, o := range outcomes {
		if o.saved() < o.job.goal {
			all = append(all, fmt.Errorf("%s: %.2f %% of the tokens saved, the goal is %.0f %%", o.job.name, 100*o.saved(), 100*o.job.goal))
		}
		if o.faster() < timeGoal {
			all = append(all, fmt.Errorf("%s: %.0f %% of the time saved, the goal is %.0f %%", o.job.name, 100*o.faster(), 100*timeGoal))
		}
		if d := off(o.estimate.in, o.estimate.exactIn); d > estimateGoal || d < -estimateGoal {
			all = append(all, fmt.Errorf("%s: the estimate for answers is off by %+.1f %%, the goal is %.0f %%", o.job.name, 100*d, 100*estimateGoal))
		}
	}
	for _, k := range corpora {
		if k.err != nil {
			all = append(all, fmt.Errorf("%s: %w", k.name, k.err))
		}
	}
	return errors.Join(all...)
}
