package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/wexec/wexec/internal/prices"
)

// compare has the state that all jobs share.
type compare struct {
	ctx    context.Context
	work   string // temporary folder
	trip   time.Duration
	tokens *codec.Codec // o200k
	prices *prices.List
}

func (c *compare) demo() string {
	name := "demo-server"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(c.work, name)
}

// count returns the number of o200k tokens of the texts.
func (c *compare) count(texts ...string) (int, error) {
	sum := 0
	for _, t := range texts {
		n, err := c.tokens.Count(t)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// outcome is the result of a job.
type outcome struct {
	job            job
	plain, program side
	estimate       estimate
}

// side is the cost of one way to do a job.
type side struct {
	definitions int // tokens of the definitions of the tools
	written     int // tokens of the calls, or of the program
	read        int // tokens of the answers
	calls       int // calls of the model
	turns       int // messages of the model, including the final one
	tools       time.Duration
	wall        time.Duration // including simulated turns
}

func (s side) tokens() int { return s.definitions + s.written + s.read }

// estimate has the estimates of the engine and the exact counts.
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

// saved returns the share of tokens that the program saves.
func (o outcome) saved() float64 {
	return 1 - float64(o.program.tokens())/float64(o.plain.tokens())
}

// faster returns the share of wall time that the program saves.
func (o outcome) faster() float64 {
	return 1 - float64(o.program.wall)/float64(o.plain.wall)
}

const (
	timeGoal     = 0.60
	estimateGoal = 0.05
)

// job is one task and both ways to do it.
type job struct {
	name    string
	how     string // description of the plain calls, for the document
	servers []string
	goal    float64 // share of tokens to save, at least
	file    string  // the program
	find    []question
	// plain makes the plain calls.
	plain func(p *plainRun) error
	// check computes the answer from the texts of the plain calls and compares it
	// with the value of the program.
	check func(answers map[string][]string, value json.RawMessage) error
}

// question is a search for a tool before the program is written.
type question struct{ query, want string }
