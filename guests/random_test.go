package guests_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/wexec/wexec/engine"
)

// TestFreshRunsDrawDifferentNumbers: 500 runs, each in a fresh instance of one
// frozen memory, draw 500 different numbers from every source of each language;
// deterministic runs draw those of their seed.
func TestFreshRunsDrawDifferentNumbers(t *testing.T) {
	e := newEngine(t)
	const runs = 500
	for language, sources := range map[string][]string{
		"javascript": {"Math.random()", "crypto.randomUUID()", "crypto.getRandomValues(new Uint32Array(4))"},
		"python":     {"random.random()", "random.Random().random()", "str(uuid.uuid4())", "secrets.token_hex(8)", "os.urandom(8).hex()", "random.SystemRandom().random()"},
	} {
		code := "return ["
		for _, s := range sources {
			code += s + ", "
		}
		code += "]"
		if language == "python" {
			code = "import os, random, secrets, uuid\n" + code
		}
		draw := func(r engine.Request) []any {
			off := false
			r.Language, r.Code, r.Cache = language, code, &off
			res, err := e.Run(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			var numbers []any
			if err := json.Unmarshal(res.Value, &numbers); err != nil {
				t.Fatal(err)
			}
			return numbers
		}
		seen := make([]map[string]bool, len(sources))
		for i := range seen {
			seen[i] = map[string]bool{}
		}
		for range runs {
			for i, number := range draw(engine.Request{}) {
				seen[i][fmt.Sprint(number)] = true
			}
		}
		for i, numbers := range seen {
			if len(numbers) != runs {
				t.Errorf("%s: %d runs drew %d different numbers from %s", language, runs, len(numbers), sources[i])
			}
		}
		first := fmt.Sprint(draw(engine.Request{Deterministic: true, Seed: 1}))
		for range 10 {
			if again := fmt.Sprint(draw(engine.Request{Deterministic: true, Seed: 1})); again != first {
				t.Errorf("%s: one seed gave\n%s\n%s", language, first, again)
			}
		}
		if other := fmt.Sprint(draw(engine.Request{Deterministic: true, Seed: 2})); other == first {
			t.Errorf("%s: two seeds gave %s", language, other)
		}
	}
}
