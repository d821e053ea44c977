package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/review"
	"github.com/wexec/wexec/review/syntax"
)

// Reviewing is a program to review, and what is known about its run. Only Language and
// Code are required.
type Reviewing struct {
	Language, Code string
	Intent         string
	Actor          Actor
	Profile        string               // empty, or review.Cars
	Tools          *catalogue.Catalogue // that the program may call
}

const (
	maxReviews = 4 << 20 // bytes of reviews that are kept
	reviewTime = 10 * time.Second
)

// Review tells what a program is going to do and how risky that is. A program that
// cannot be reviewed within its limits gets a review that says so. Equal programs are
// reviewed once.
func (e *Engine) Review(ctx context.Context, r Reviewing) (*review.Assessment, error) {
	language, err := Language(r.Language)
	if err != nil {
		return nil, err
	}
	tools := ""
	if r.Tools != nil {
		tools = r.Tools.Digest()
	}
	h := sha256.New()
	for _, part := range []string{language, r.Profile, tools, r.Intent, r.Code} {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	key := hex.EncodeToString(h.Sum(nil))
	if data, ok := e.reviews.Get(key); ok {
		var a review.Assessment
		err := json.Unmarshal(data, &a)
		return &a, err
	}
	leave, err := e.Core(ctx, r.Actor.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	a, err := e.review(ctx, language, r)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil, fault.New(fault.Internal, "keep a review: %w", err)
	}
	e.reviews.Put(key, data, int64(len(data)))
	return &a, nil
}

// review reviews a program on the core of the caller.
func (e *Engine) review(ctx context.Context, language string, r Reviewing) (review.Assessment, error) {
	limited, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	tree, err := e.compiler.syntax(limited, language, r.Code)
	if err == nil {
		a := review.Assess(limited, []*syntax.Tree{tree}, review.Context{Profile: r.Profile, Intent: r.Intent, Tools: r.Tools, Parser: parser{e.compiler}})
		if err = limited.Err(); err == nil {
			return a, nil
		}
	}
	var s *guests.SyntaxError
	switch {
	case ctx.Err() != nil:
		return review.Assessment{}, fault.New(fault.Cancelled, "review the program: %w", context.Cause(ctx))
	case limited.Err() != nil:
		return review.Unparsed("it takes too long"), nil
	case errors.As(err, &s), fault.CodeOf(err).Class() == fault.ClassLimit:
		return review.Unparsed(err.Error()), nil
	}
	return review.Assessment{}, err
}

// parser parses code in strings, on the core of the review.
type parser struct{ *compiler }

// Parse implements review.Parser.
func (p parser) Parse(ctx context.Context, language, source string) (*syntax.Tree, error) {
	return p.syntax(ctx, language, source)
}

// review reviews the program if the policy depends on it. A replay needs none.
func (j *job) review(ctx context.Context) error {
	p, r := j.table.Policy(), &j.req
	if j.world != nil || r.Check || !p.Reviews() {
		return nil
	}
	if r.Plugin != "" {
		a := review.Unparsed("a plugin is compiled code")
		j.reviewed = &a
		return nil
	}
	tools, _ := j.table.Catalogue(ctx) // a server that fails has no tools that can be called
	var err error
	j.reviewed, err = j.e.Review(ctx, Reviewing{r.Language, r.Code, r.Intent, r.Actor, p.ReviewProfile(), tools})
	return err
}

// reviewOf returns a review as the gate takes it.
func reviewOf(a *review.Assessment) *hostfns.Review {
	if a == nil {
		return nil
	}
	out := &hostfns.Review{Level: string(a.Level), Findings: []string{}, Capabilities: policy.Capabilities(a.Capabilities)}
	for _, f := range a.Findings {
		out.Findings = append(out.Findings, fmt.Sprintf("%d:%d: %s: %s: %s", f.Line, f.Column, f.Level, f.Rule, f.Message))
		out.Rules = append(out.Rules, f.Rule)
	}
	slices.Sort(out.Rules)
	out.Rules = slices.Compact(out.Rules)
	return out
}

// showReview puts the review into the result, without personal data.
func (j *job) showReview() {
	if j.reviewed == nil {
		return
	}
	show := func(s string) string { return j.tools.Egress("review", s) }
	a := *j.reviewed
	a.Findings = slices.Clone(a.Findings)
	for i := range a.Findings {
		a.Findings[i].Message = show(a.Findings[i].Message)
	}
	c := &a.Capabilities
	for _, list := range []*[]string{&c.Tools, &c.Hosts, &c.Files, &c.Skills, &c.Unresolved} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = show((*list)[i])
		}
	}
	j.res.Review = &a
}
