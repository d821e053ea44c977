// Command compare does the same jobs twice with the same tools: as plain tool
// calls, whose definitions and answers all pass through a model's context, and
// as one program. It counts tokens exactly, round trips and wall time, prints a
// table and writes docs/understand/compare.md and docs/understand/compare.svg.
//
//	go run ./internal/tools/compare [-only WORD] [-out DIR] [-trip 800ms] [-tests=false]
//
// No model takes part. What one would write, the calls and the program, is
// fixed here; the time it would take is simulated.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"
)

// trip is one message from the tools to a model and back, with the model's
// answer.
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

// compare is what the jobs share.
type compare struct {
	ctx   context.Context
	work  string // a folder for what is built and recorded, removed at the end
	trip  time.Duration
	words *codec.Codec // o200k
}

func command() error {
	only := flag.String("only", "", "do only jobs whose name has this word, and write nothing")
	out := flag.String("out", "docs/understand", "the `FOLDER` for compare.md and compare.svg")
	wait := flag.Duration("trip", trip, "a model's round trip")
	tests := flag.Bool("tests", true, "run the corpora of privacy and search too")
	flag.Parse()
	work, err := os.MkdirTemp("", "wexec-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	c := &compare{ctx: context.Background(), work: work, trip: *wait, words: codec.NewO200kBase()}
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
		return errors.New("no job has this word in its name")
	}
	fmt.Print(table(outcomes))
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

// build makes the demo server.
func (c *compare) build() error {
	cmd := exec.CommandContext(c.ctx, "go", "build", "-o", c.demo(), "./examples/demo-server")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the demo server does not build (run this from the top of the tree): %w\n%s", err, out)
	}
	return nil
}

func (c *compare) demo() string {
	name := "demo-server"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(c.work, name)
}

// count is how many o200k tokens the texts have.
func (c *compare) count(texts ...string) (int, error) {
	sum := 0
	for _, t := range texts {
		n, err := c.words.Count(t)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// outcome is a job done both ways.
type outcome struct {
	job            job
	plain, program side
	estimate       estimate
}

// side is what one way of doing a job cost.
type side struct {
	definitions int // tokens of the tools' definitions
	written     int // tokens of the calls, or of the program
	read        int // tokens of the answers
	calls       int // calls the model makes
	turns       int // messages of the model, the closing one included
	tools       time.Duration
	wall        time.Duration // with the simulated round trips
}

func (s side) tokens() int { return s.definitions + s.written + s.read }

// estimate is the engine's own count beside the exact one.
type estimate struct {
	in, exactIn   int
	out, exactOut int
}

func off(estimated, exact int) float64 {
	if exact == 0 {
		return 0
	}
	return float64(estimated)/float64(exact) - 1
}

// saved is the share of tokens that stay out of the context.
func (o outcome) saved() float64 {
	return 1 - float64(o.program.tokens())/float64(o.plain.tokens())
}

// faster is the share of wall time that is saved.
func (o outcome) faster() float64 {
	return 1 - float64(o.program.wall)/float64(o.plain.wall)
}

// do does a job both ways and checks that both come to the same answer.
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
		return o, fmt.Errorf("the two ways do not agree: %w", err)
	}
	return o, nil
}

// missed says which goals were not reached.
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
			all = append(all, fmt.Errorf("%s: the estimate of what the tools said is off by %+.1f %%, the goal is %.0f %%", o.job.name, 100*d, 100*estimateGoal))
		}
	}
	for _, k := range corpora {
		if k.err != nil {
			all = append(all, fmt.Errorf("%s: %w", k.name, k.err))
		}
	}
	return errors.Join(all...)
}

const (
	timeGoal     = 0.60
	estimateGoal = 0.05
)
