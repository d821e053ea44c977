package engine

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/timing"
)

// worst are programs that do their best not to end, and the codes they may
// end with.
var worst = []struct {
	language, name, code string
	codes                []fault.Code
}{
	{JavaScript, "empty loop", "while(true){}", nil},
	{JavaScript, "loop that catches", "while(true){try{throw 1}catch(e){}}", nil},
	{JavaScript, "catastrophic regex", `/^(a+)+$/.test("a".repeat(40)+"b")`, nil},
	{JavaScript, "hostile comparator", "const a=Array.from({length:1e5},(_, i)=>i);for(;;)a.sort(()=>Math.random()-0.5)", nil},
	{JavaScript, "promise storm", "const f=()=>{Promise.resolve().then(f);Promise.resolve().then(f)};f();await new Promise(()=>{})", nil},
	{JavaScript, "timers", "const f=()=>{setTimeout(f,0);setTimeout(f,0)};f();await new Promise(r=>setTimeout(r,1e9))", nil},
	{JavaScript, "toJSON recursion", "const o={toJSON(){return JSON.stringify(o)}};for(;;){try{JSON.stringify(o)}catch{}}", nil},
	{JavaScript, "gigantic string", `let s="x";for(;;){s+=s}`, []fault.Code{fault.LimitMemory, fault.GuestException}},
	{JavaScript, "gigantic array", `const a=[];for(;;)a.push(new Array(1e6).fill(7))`, nil},
	{JavaScript, "sparse array", `const a=[];a[4294967294]=1;a.sort();a.reverse();for(;;);`, nil},
	{JavaScript, "BigInt", "let n=2n;for(;;)n=n**2n", []fault.Code{fault.LimitMemory, fault.LimitTime, fault.LimitFuel, fault.GuestException}},
	{JavaScript, "endless sleep", "await new Promise(r=>setTimeout(r,1e9))", nil},
	{JavaScript, "output", "for(;;)console.log('x'.repeat(1000))", []fault.Code{fault.LimitOutput}},
	{JavaScript, "generators", "function*g(){yield*g()};for(;;){try{g().next()}catch{}}", nil},
	{Python, "empty loop", "while True: pass", nil},
	{Python, "except BaseException", "while True:\n  try:\n    while True: pass\n  except BaseException: pass", nil},
	{Python, "a huge power", "9**9**8", nil},
	{Python, "huge list", "a=[0]\nwhile True: a+=a", []fault.Code{fault.LimitMemory, fault.GuestException}},
	{Python, "catastrophic regex", "import re\nre.match('(a+)+$', 'a'*40+'b')", nil},
	{Python, "__del__ recursion", "class A:\n  def __del__(self): A()\nA()\nwhile True: A()", nil},
	{Python, "sort with a hostile key", "class K:\n  def __lt__(self,o):\n    while True: pass\nsorted([K(),K()])", nil},
	{Python, "generators", "def g():\n  while True: yield 1\nlist(g())", []fault.Code{fault.LimitMemory, fault.LimitTime, fault.LimitFuel, fault.GuestException}},
	{Python, "endless sleep", "import time\ntime.sleep(1e6)", nil},
	{Python, "output", "while True: print('x'*1000)", []fault.Code{fault.LimitOutput}},
	{Python, "int from digits", "import sys\nsys.set_int_max_str_digits(0)\nint('9'*10**7)", nil},
}

func TestTheWorstProgramsAreStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("short: takes tens of seconds")
	}
	e := newReal(t, Config{})
	for _, w := range worst {
		t.Run(w.language+"/"+w.name, func(t *testing.T) {
			want, limit := w.codes, 500*time.Millisecond
			if want == nil {
				want = []fault.Code{fault.LimitTime, fault.LimitFuel, fault.LimitMemory}
			} else if !slices.Contains(want, fault.LimitTime) {
				limit = time.Minute // it reaches another limit first, on a busy machine too
			}
			timing.Within(t, time.Second, "ended after its deadline", func() time.Duration {
				begun := time.Now()
				res, err := e.Run(context.Background(), Request{Language: w.language, Code: w.code,
					Limits: Limits{Time: limit, Memory: 128 << 20}})
				took := time.Since(begun)
				code := fault.CodeOf(err)
				t.Logf("%s after %s (%s)", code, took.Round(time.Millisecond), err)
				if !slices.Contains(want, code) {
					t.Errorf("ended with %s, value %s: %v", code, res.Value, err)
				}
				if res.Usage.Fuel == 0 {
					t.Error("no fuel was counted")
				}
				return took - limit
			})
		})
	}
}
