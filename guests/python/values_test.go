package python_test

import (
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
		{"{'items': [1, {'owner': object()}]}", "value.items[1].owner is an object", ""},
		{"[float('nan')]", "value[0] is nan", "None"},
		{"{'a b': float('-inf')}", "value['a b'] is -inf", ""},
		{"import decimal\ndecimal.Decimal('Infinity')", "value is Infinity", ""},
		{"(i for i in range(3))", "value is a generator", "list("},
		{"map(str, [1])", "value is a map", "list("},
		{"[print]", "value[0] is the function print", "print(…)"},
		{"int", "value is the class int", "int(…)"},
		{"import json\njson", "value is the module json", ""},
		{"tools.github.list_commits", "value is the function list_commits", "list_commits(…)"},
		{"[tools.aio.github.a()]", "never awaited", "await github.a(…)"},
		{"{(1, 2): 3}", "value has the key (1, 2), a tuple", "string"},
		{"{1: 'a', '1': 'b'}", "two keys that are both '1'", ""},
		{"a = [1]\na.append(a)\na", "value[1] closes a cycle: it is value again", ""},
		{"a = {}\na['x'] = {'y': a}\na", "value.x.y closes a cycle", ""},
		{"a = []\nfor _ in range(1000):\n    a = [a]\na", "more than 900 levels", ""},
		{"class A:\n    def __init__(self):\n        self.x = 1\nA()", "value is an A", "vars(x)"},
		{"1j", "value is a complex", "x.real"},
		{"import re\nre.compile('a')", "value is a Pattern", ""},
	} {
		f := run(t, c.code).fault(t)
		if f.Code != "guest.result" || !strings.Contains(f.Message, c.message) || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%s\ngave %s %q, hint %q; want %q, %q", c.code, f.Code, f.Message, f.Hint, c.message, c.hint)
		}
	}
}
