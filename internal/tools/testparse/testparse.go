// Package testparse parses programs with the parser guest, for tests.
package testparse

import (
	"context"
	"sync"
	"testing"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/review/syntax"
)

var shared = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.New(context.Background(), engine.Config{Ready: -1, Cache: testenv.Cache()})
})

// Parser parses programs.
type Parser struct{}

// Parse returns the syntax tree of a program.
func (Parser) Parse(ctx context.Context, language, source string) (*syntax.Tree, error) {
	e, err := shared()
	if err != nil {
		return nil, err
	}
	return e.Syntax(ctx, language, source)
}

// Parse returns the syntax tree of a program, or ends the test.
func Parse(t testing.TB, language, source string) *syntax.Tree {
	t.Helper()
	tree, err := Parser{}.Parse(t.Context(), language, source)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
