package python_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestValuesHaveTheFormOfTheTable(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"[None, True, False, 'x', 1, 1.5, 2.0, -0.0]", `[null,true,false,"x",1,1.5,2,-0]`},
		{"[2**53 - 1, 2**53, -2**53, 10**20]", `[9007199254740991,"9007199254740992","-9007199254740992","100000000000000000000"]`},
		{"10**5000 > 0 and len(str.__str__('x'))", "1"},
		{"'\\ud800'", `"\ud800"`},
		{"'é\\x7f\\n\\x01😀'", "\"é\x7f\\n\\u0001😀\""},
		{"(1, 2), range(3), {3: 1}.keys(), {'a': 1}.values()", `[[1,2],[0,1,2],[3],[1]]`},
		{"{3, 1, 2}, frozenset('ba')", `[[1,2,3],["a","b"]]`},
		{"import collections\ncollections.deque([1]), collections.Counter('aab'), collections.OrderedDict(a=1), collections.defaultdict(int, a=2)", `[[1],{"a":2,"b":1},{"a":1},{"a":2}]`},
		{"import types\ntypes.SimpleNamespace(a=1), types.MappingProxyType({'b': 2})", `[{"a":1},{"b":2}]`},
		{"from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: list\nP(1, [P(2, [])])", `{"x":1,"y":[{"x":2,"y":[]}]}`},
		{"from collections import namedtuple\nnamedtuple('P', 'x y')(1, 2)", `{"x":1,"y":2}`},
		{"import enum\nclass C(enum.Enum):\n    A = 'a'\nclass I(enum.IntEnum):\n    B = 2\n{C.A: C.A, 'i': I.B}", `{"a":"a","i":2}`},
		{"import datetime as d\nz = d.timezone.utc\n[d.datetime(2026, 1, 2, 3, 4, 5, tzinfo=z), d.datetime(2026, 1, 2, 3, 4, 5, 6), d.date(2026, 1, 2), d.time(3, 4), d.timedelta(minutes=1.5)]", `["2026-01-02T03:04:05Z","2026-01-02T03:04:05.000006","2026-01-02","03:04:00",90]`},
		{"from decimal import Decimal\nfrom fractions import Fraction\n[Decimal('12.50'), Fraction(1, 3)]", `["12.50","1/3"]`},
		{"import uuid, pathlib, ipaddress\n[uuid.UUID(int=1), pathlib.Path('/a/b'), ipaddress.ip_address('10.0.0.1')]", `["00000000-0000-0000-0000-000000000001","/a/b","10.0.0.1"]`},
		{"b'hi', bytearray(b'hi'), memoryview(b'hi')", `[{"$bytes":"aGk="},{"$bytes":"aGk="},{"$bytes":"aGk="}]`},
		{"{1: 'a', 2.5: 'b', True and None: 'c', False: 'd'}", `{"1":"a","2.5":"b","null":"c","false":"d"}`},
		{"import datetime, uuid\n{datetime.date(2026, 1, 2): 1, uuid.UUID(int=2): 2}", `{"2026-01-02":1,"00000000-0000-0000-0000-000000000002":2}`},
		{"ValueError('no')", `{"name":"ValueError","message":"no"}`},
		{"class S(str): pass\nclass I(int): pass\nclass L(list): pass\nclass D(dict): pass\n[S('s'), I(3), L([1]), D(a=1)]", `["s",3,[1],{"a":1}]`},
		{"import array\narray.array('i', [1, 2])", `[1,2]`},
		{"x = [1]\n[x, x]", `[[1],[1]]`},
	} {
		if got := run(t, c.code).value(t); got != c.want {
			t.Errorf("%s\ngave %s, want %s", c.code, got, c.want)
		}
	}
}

func TestAValueWithoutAFormNamesItsPlace(t *testing.T) {
	for _, c := range []struct{ code, message, hint string }{
		{"return {'items': [1, {'owner': object()}]}", "value.items[1].owner is an object", ""},
		{"return [float('nan')]", "value[0] is nan", "None"},
		{"return {'a b': float('-inf')}", "value['a b'] is -inf", ""},
		{"import decimal\nreturn decimal.Decimal('Infinity')", "value is Infinity", ""},
		{"return (i for i in range(3))", "value is a generator", "list("},
		{"return map(str, [1])", "value is a map", "list("},
		{"return [print]", "value[0] is the function print", "print(…)"},
		{"return int", "value is the class int", "int(…)"},
		{"import json\nreturn json", "value is the module json", ""},
		{"return tools.github.list_commits", "value is the function list_commits", "list_commits(…)"},
		{"return [tools.aio.github.a()]", "never awaited", "await github.a(…)"},
		{"return {(1, 2): 3}", "value has the key (1, 2), a tuple", "string"},
		{"return {1: 'a', '1': 'b'}", "two keys that are both '1'", ""},
		{"a = [1]\na.append(a)\nreturn a", "value[1] closes a cycle: it is value again", ""},
		{"a = {}\na['x'] = {'y': a}\nreturn a", "value.x.y closes a cycle", ""},
		{"a = []\nfor _ in range(1000):\n    a = [a]\nreturn a", "more than 900 levels", ""},
		{"class A:\n    def __init__(self):\n        self.x = 1\nreturn A()", "value is an A", "vars(x)"},
		{"return 1j", "value is a complex", "x.real"},
		{"import re\nreturn re.compile('a')", "value is a Pattern", ""},
	} {
		f := run(t, c.code).fault(t)
		if f.Code != "guest.result" || !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%s\ngave %s %q, hint %q; want %q, %q", c.code, f.Code, f.Message, f.Hint, c.message, c.hint)
		}
	}
}

func TestALastExpressionWithoutAFormIsNoValue(t *testing.T) {
	for code, note := range map[string]string{
		"import argparse\nargparse.ArgumentParser().add_argument('--x')": "",
		"import logging\nlogging.getLogger('a')":                         "",
		"float('nan')":                                                   "",
		"print":                                                          "",
		"import re\nre.compile('a')":                                     "",
		"{(1, 2): 3}":                                                    "",
		"tools.github.list_commits":                                      "",
		"async def main():\n    return object()\nmain()":                 "",
		"[1, print]":                                                     "the program has no value: value[1] is the function print, which has no JSON form\n",
		"a = [1]\na.append(a)\na":                                        "the program has no value: value[1] closes a cycle",
	} {
		h := run(t, code)
		if h.kind != outcomeNone || !strings.Contains(h.stderr.String(), note) || (note == "" && h.stderr.Len() > 0) {
			t.Errorf("%s: outcome %d %s, standard error %q; want none with %q", code, h.kind, h.document, &h.stderr, note)
		}
	}
}

// TestValuesHaveTheSameEdgesInEveryDirection: numbers and depths, as in the test
// of the same name for JavaScript.
func TestValuesHaveTheSameEdgesInEveryDirection(t *testing.T) {
	const numbers = `[0,-0,1e-7,0.000001,0.1,1.5,100,1e+21,123456789012345680000,1.2345e+22,1.7976931348623157e+308,5e-324]`
	written := strings.Replace(numbers, "-0,", "-0.0,", 1)
	written = strings.Replace(written, "123456789012345680000", "123456789012345680000.0", 1)
	echo := func(h *host) {
		h.handle = func(_, args string) answer { return answer{kind: answerJSON, data: args} }
	}
	if got := run(t, "return tools.github.text(v="+written+")", func(h *host) {
		h.handle = func(_, args string) answer { return answer{kind: answerText, data: args} }
	}).value(t); got != fmt.Sprintf("%q", `{"v":`+numbers+"}") {
		t.Errorf("arguments: %s, want %s", got, numbers)
	}
	if got := run(t, "return "+written).value(t); got != numbers {
		t.Errorf("numbers: %s, want %s", got, numbers)
	}
	for depth, right := range map[int]bool{900: true, 901: false} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		h := run(t, "return tools.github.b()", func(h *host) {
			h.handle = func(string, string) answer { return answer{kind: answerJSON, data: deep} }
		})
		if right {
			if h.value(t) != deep {
				t.Errorf("an answer of %d levels: %d %.80s", depth, h.kind, h.document)
			}
		} else if f := h.fault(t); f.Code != "tool.failed" || f.Message != "the answer is nested more than 900 levels deep" {
			t.Errorf("an answer of %d levels: %+v", depth, f)
		}
		h = run(t, fmt.Sprintf("v = []\nfor _ in range(%d):\n    v = [v]\ntools.github.echo(*v)\nreturn True", depth-1), echo)
		if right && h.value(t) != "true" {
			t.Errorf("arguments of %d levels: %d %.80s", depth, h.kind, h.document)
		} else if !right && h.fault(t).Code != "tool.invalid_args" {
			t.Errorf("arguments of %d levels: %s", depth, h.document)
		}
	}
	for args, want := range map[string]any{"[null]": nil, "[{}]": "absent"} {
		got := run(t, "return [args]", func(h *host) {
			if h.input["args"] = want; want == "absent" {
				delete(h.input, "args")
			}
		}).value(t)
		if got != args {
			t.Errorf("args is %s, want %s", got, args)
		}
	}
}
