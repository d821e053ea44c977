package python_test

import (
	"strings"
	"testing"
)

// TestYAMLIsReadAndWrittenAsByPyYAML: the values and texts are those of PyYAML 6.
func TestYAMLIsReadAndWrittenAsByPyYAML(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nb:\n  - x\n  - y: 2\n    z: [1, 2, {q: r}]\nc: {a: b, 'd': \"e\\n\"}\n", `{"a":1,"b":["x",{"y":2,"z":[1,2,{"q":"r"}]}],"c":{"a":"b","d":"e\n"}}`},
		{"- - 2\n  - 3\n-\n  - 4\n- a: b\n  c: d\n", `[[2,3],[4],{"a":"b","c":"d"}]`},
		{"x: |\n  one\n   two\n\n  three\ny: >\n  one\n  two\n\n  three\n   four\nz: |-\n  a\nw: >+\n  b\n\n", `{"x":"one\n two\n\nthree\n","y":"one two\nthree\n four\n","z":"a","w":"b\n\n"}`},
		{"a: &x\n  k: 1\nb:\n  <<: *x\n  m: 2\nc: *x\n", `{"a":{"k":1},"b":{"m":2,"k":1},"c":{"k":1}}`},
		{"[yes, 'no', ~, 012, 0x1F, 1e3, 1.5e+3, 2026-01-02, http://x.y/z, a:b, '1', 12:30:45, -1]", `[true,"no",null,10,31,"1e3",1500,"2026-01-02","http://x.y/z","a:b","1",45045,-1]`},
		{"a: one\n  two\nb: \"x\n  y\n\n  z\"\nc: [1,\n  2, # c\n  3]\n", `{"a":"one two","b":"x y\nz","c":[1,2,3]}`},
		{"on:\n  push:\n    branches: [ main ]\njobs:\n  build:\n    steps:\n      - uses: a/b@v4\n      - run: |\n          npm ci\n        env:\n          A: ${{ x }}\n",
			`{"true":{"push":{"branches":["main"]}},"jobs":{"build":{"steps":[{"uses":"a/b@v4"},{"run":"npm ci\n","env":{"A":"${{ x }}"}}]}}}`},
		{"# only a comment\n", ``},
	} {
		got := run(t, "import yaml\nreturn yaml.safe_load(args)", func(h *host) { h.input["args"] = c.text })
		if c.want == "" && got.kind == outcomeNone {
			continue
		}
		if v := got.value(t); v != c.want {
			t.Errorf("%q gave %s, want %s", c.text, v, c.want)
		}
	}
	for _, text := range []string{"a: b: c", "a: [1, 2", "\ta: 1", "a:\n  b: 1\n c: 2", "- a\nb: 1", "x: @a", "a: *no", "--- 1\n--- 2", "a: - 1", "!!python/object:os.system x", strings.Repeat("[", 100000)} {
		f := run(t, "import yaml\nyaml.load(args, Loader=yaml.FullLoader)", func(h *host) { h.input["args"] = text }).fault(t)
		if f.Name != "YAMLError" && f.Name != "RecursionError" {
			t.Errorf("%.40q is %s: %s", text, f.Name, f.Message)
		}
	}
	for code, want := range map[string]string{
		`yaml.dump({"b": 1, "a": [1, {"x": None}], "c": {}})`:                                "a:\n- 1\n- x: null\nb: 1\nc: {}\n",
		`yaml.safe_dump([1, [2, [3]], {"a": {"b": True}}], sort_keys=False)`:                 "- 1\n- - 2\n  - - 3\n- a:\n    b: true\n",
		`yaml.dump({"s": ["yes", "1", "", "a: b", "it's", "é", "key:", "-a", "1:30", "~"]})`: "s:\n- 'yes'\n- '1'\n- ''\n- 'a: b'\n- it's\n- \"\\xE9\"\n- 'key:'\n- -a\n- '1:30'\n- '~'\n",
		`yaml.dump({"b": ["x, y"], "a": 1.5}, default_flow_style=True)`:                      "{a: 1.5, b: ['x, y']}\n",
		`yaml.dump("text")`: "text\n...\n",
	} {
		h := run(t, "import yaml\nprint("+code+", end='')")
		if got := h.stdout.String(); got != want {
			t.Errorf("%s gave %q, want %q", code, got, want)
		}
	}
}

// TestDatesAreThoseOfDateutil: the results are those of dateutil 2.9.
func TestDatesAreThoseOfDateutil(t *testing.T) {
	const start = "from datetime import date, datetime, timezone\nfrom dateutil import parser, tz\nfrom dateutil.relativedelta import relativedelta, FR, MO\n" +
		"from dateutil.parser import parse\nbase = datetime(2026, 3, 4)\n"
	for code, want := range map[string]string{
		"date(2026, 1, 31) + relativedelta(months=1)":                              `"2026-02-28"`,
		"date(2024, 2, 29) + relativedelta(years=1)":                               `"2025-02-28"`,
		"datetime(2026, 1, 31, 5) + relativedelta(months=13, hours=30)":            `"2027-03-01T11:00:00"`,
		"date(2026, 5, 1) + relativedelta(day=31, weekday=FR(-1))":                 `"2026-05-29"`,
		"date(2026, 5, 6) + relativedelta(weekday=MO(2))":                          `"2026-05-18"`,
		"str(relativedelta(date(2026, 2, 28), date(2024, 2, 29)))":                 `"relativedelta(years=+2)"`,
		"parse('2026-01-02T03:04:05Z')":                                            `"2026-01-02T03:04:05Z"`,
		"parser.isoparse('2026-01-02 03:04:05.123456+02:00')":                      `"2026-01-02T03:04:05.123456+02:00"`,
		"parse('January 5, 2026 10:30 PM'), parse('5 Jan 2026')":                   `["2026-01-05T22:30:00","2026-01-05T00:00:00"]`,
		"parse('01/02/2026'), parse('31/12/2025'), parse('2/1/26', dayfirst=True)": `["2026-01-02T00:00:00","2025-12-31T00:00:00","2026-01-02T00:00:00"]`,
		"parse('Tuesday, 3 March 2026 at 5pm'), parse('3pm', default=base)":        `["2026-03-03T17:00:00","2026-03-04T15:00:00"]`,
		"str(tz.gettz('Europe/Berlin'))":                                           `"Europe/Berlin"`,
	} {
		if got := run(t, start+"return "+strings.Replace("("+code+")", "()", "", 1)).value(t); got != want {
			t.Errorf("%s gave %s, want %s", code, got, want)
		}
	}
	if f := run(t, start+"parse('no date')").fault(t); f.Name != "ParserError" {
		t.Errorf("parse of other text is %+v", f)
	}
}

// TestAPackageComesBeforeTheSubset: what a person installed is what a program gets.
func TestAPackageComesBeforeTheSubset(t *testing.T) {
	got := run(t, "import yaml, dateutil\ntry:\n    import dateutil.parser\nexcept ImportError:\n    return [yaml.own, dateutil.own]", func(h *host) {
		h.files = map[string]string{"packages/yaml.py": "own = 1\n", "packages/dateutil/__init__.py": "own = 2\n"}
		h.input["packages"] = "/packages"
	}).value(t)
	if got != "[1,2]" {
		t.Errorf("the value is %s, want [1,2]", got)
	}
}

// TestHintsForArraysRun: what a hint says instead of numpy or pandas is a program that
// gives the result.
func TestHintsForArraysRun(t *testing.T) {
	const rows = "rows = [{'id': i, 'team': 'ab'[i % 2], 'month': 'm', 'amount': i + 1.0} for i in range(4)]\n" +
		"others = [{'id': 1, 'name': 'x'}]\ntext = 'a,b\\n1,2\\n'\nxs, ys = [1, 2, 3], [2, 4, 6]\n"
	for _, c := range []struct{ use, want string }{
		{"import pandas as pd\npd.DataFrame(x).groupby('team')['amount'].sum()", `{"a":4,"b":6}`},
		{"import pandas as pd\npd.DataFrame(x).groupby(['team'])[['amount']].mean()", `{"a":2,"b":3}`},
		{"import pandas as pd\npd.DataFrame(x).groupby('team')['amount'].count()", `{"a":2,"b":2}`},
		{"import pandas as pd\npd.DataFrame(x).groupby('team').size()", `{"a":2,"b":2}`},
		{"import pandas as pd\npd.merge(a, b, on='id')", `[{"id":1,"team":"b","month":"m","amount":2,"name":"x"}]`},
		{"import pandas as pd\na.merge(b, left_on='x', right_on='y')", `[{"id":1,"team":"b","month":"m","amount":2,"name":"x"}]`},
		{"import pandas as pd\ndf.pivot_table(index='team', columns='month', values='amount')", `{"a":{"m":4},"b":{"m":6}}`},
		{"import pandas as pd\ndf['team'].value_counts()", `{"a":2,"b":2}`},
		{"import pandas as pd\ndf.sort_values(by='amount', ascending=False)", `[{"id":3,`},
		{"import pandas as pd\ndf.sort_values('amount')", `[{"id":0,`},
		{"from pandas import DataFrame\nDataFrame(x).describe()", `{"mean":2.5,`},
		{"import pandas as pd\npd.read_csv('/tmp/x.csv')", `[{"a":"1","b":"2"}]`},
		{"import pandas as pd\npd.DataFrame(x)", `[{"id":0,`},
		{"import numpy as np\nnp.array(x).mean()", `[2,0.816496580927726,6,1,3]`},
		{"import numpy as np\nnp.percentile(x, 95)", `2.9`},
		{"import numpy as np\nnp.corrcoef(x, y)", `1`},
		{"import numpy as np\nnp.polyfit(x, y, 1)", `2`},
		{"import numpy as np\nnp.unique(x)", `{"1":1,"2":1,"3":1}`},
		{"import numpy as np\nnp.dot(x, y)", `28`},
		{"import numpy as np\nnp.cumsum(x)", `[1,3,6]`},
		{"import numpy as np\nnp.random.rand(3)", `[`},
		{"import numpy as np\nnp.linspace(0, 1, 11)", `[0,0.1,`},
	} {
		f := run(t, c.use).fault(t)
		sentence, program, _ := strings.Cut(f.Hint, "\n")
		if f.Name != "ModuleNotFoundError" || !strings.Contains(sentence, " is not available; ") || program == "" || strings.HasSuffix(program, "…") {
			t.Errorf("%s: %+v", c.use, f)
			continue
		}
		if !strings.Contains(program, "result =") {
			program += "\nresult = rows"
		}
		if got := run(t, rows+program+"\nreturn result").value(t); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\nhas the hint\n%s\nwhich gave %s, want %s", c.use, f.Hint, got, c.want)
		}
	}
}
