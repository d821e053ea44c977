package engine

import (
	"sync/atomic"
	"testing"
)

// Where every call of a program may be reused, its value is kept all the same
// only if neither chance nor the time can be in it.
func TestNeitherChanceNorTheTimeIsAnsweredFromTheCache(t *testing.T) {
	var calls atomic.Int64
	table := cachingTable(t, &calls, "1h")
	e := newReal(t, Config{})
	run := func(t *testing.T, language, code string) (*Result, string) {
		t.Helper()
		call := map[string]string{JavaScript: "await tools.x.get({});\n", Python: "from tools import x\nx.get()\n"}[language]
		var first *Result
		for range 2 {
			res, err := e.Run(t.Context(), Request{Language: language, Code: call + code, Table: table})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = res
				if res.Cache != "miss" {
					t.Fatalf("a first run is a %s", res.Cache)
				}
				continue
			}
			return first, res.Cache
		}
		panic("unreachable")
	}
	for name, c := range map[string]struct{ language, code string }{
		"sum":              {JavaScript, "return [1, 2, 3].reduce((a, b) => a + b)"},
		"sum in Python":    {Python, "return sum([1, 2, 3])"},
		"words in Python":  {Python, "import re, json\nreturn re.findall('[a-z]+', 'one two')"},
		"sorting, mapping": {JavaScript, "const m = new Map(); for (const w of 'b a b'.split(' ')) m.set(w, (m.get(w) ?? 0) + 1); return [...m].sort()"},
	} {
		t.Run(name, func(t *testing.T) {
			if res, cache := run(t, c.language, c.code); cache != "hit" {
				t.Errorf("the same again is a %s: %s", cache, res.Value)
			}
		})
	}
	for name, c := range map[string]struct{ language, code string }{
		"Math.random":             {JavaScript, "return Math.random()"},
		"Math.random, escaped":    {JavaScript, `return M\u0061th.random()`},
		"Math.random, escaped 2":  {JavaScript, `return M\u{61}th.random()`},
		"Math.random, destruct":   {JavaScript, "const { random } = Math; return random()"},
		"Math, by a computed key": {JavaScript, `return globalThis["Ma" + "th"].random()`},
		"a computed constructor":  {JavaScript, `return (() => {})["con" + "structor"]("return Ma" + "th.random()")()`},
		"crypto":                  {JavaScript, "return crypto.randomUUID()"},
		"Date.now":                {JavaScript, "return Date.now()"},
		"Date.now, escaped":       {JavaScript, `return \u0044ate.now()`},
		"performance":             {JavaScript, "return performance.now()"},
		"console.time":            {JavaScript, "console.time('a'); for (let i = 0; i < 1e6; i++); console.timeEnd('a')"},
		"a file's age":            {JavaScript, "return new File([], 'a').lastModified"},
		"a stack's":               {JavaScript, "return new (async () => {}).constructor('return Ma' + 'th.random()')()"},
		"an event":                {JavaScript, "const e = new Event('a'); for (const k in e) if (k.startsWith('tim')) return e[k]; return 'none'"},
		"a boundary":              {JavaScript, "const f = new FormData(); f.append('a', 'b'); return await new Response(f).text()"},
		"an import":               {JavaScript, "const c = await import('node:crypto'); return c.randomUUID()"},
		"random":                  {Python, "import random\nreturn random.random()"},
		"random of another":       {Python, "import statistics\nreturn statistics.random.random()"},
		"random, in wide letters": {Python, "import statistics\nreturn statistics.\uff52andom.random()"},
		"uuid":                    {Python, "import uuid\nreturn str(uuid.uuid4())"},
		"time":                    {Python, "import time\nreturn time.time()"},
		"time of the loop":        {Python, "import asyncio\nreturn asyncio.new_event_loop().time()"},
		"time, in wide letters":   {Python, "import asyncio\nreturn asyncio.new_event_loop().t\uff49me()"},
		"datetime":                {Python, "from datetime import datetime\nreturn str(datetime.now())"},
		"urandom":                 {Python, "import os\nreturn os.urandom(8).hex()"},
		"by an expression":        {Python, "return eval('__imp' + 'ort__(\"random\").random()')"},
	} {
		t.Run(name, func(t *testing.T) {
			if res, cache := run(t, c.language, c.code); cache == "hit" {
				t.Errorf("it was answered from the cache: %s %s", res.Value, res.Stdout)
			}
		})
	}
}
