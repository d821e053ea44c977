package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// cacheFolder is where the examples keep compiled guests between runs.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "wexec-test")
}

func Example() {
	ctx := context.Background()
	e, err := engine.New(ctx, engine.Config{Cache: cacheFolder()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	for _, language := range []string{"javascript", "typescript", "python"} {
		res, err := e.Run(ctx, engine.Request{Language: language, Code: "6 * 7"})
		fmt.Println(language, string(res.Value), err)
	}
	// Output:
	// javascript 42 <nil>
	// typescript 42 <nil>
	// python 42 <nil>
}

// A Go function becomes a tool; its schema comes from its types. The policy
// says that programs may call it.
func Example_tool() {
	type query struct {
		Customer string `json:"customer"`
	}
	type order struct {
		ID    int     `json:"id"`
		Total float64 `json:"total"`
	}
	find := hostfns.Func("orders.find", func(_ context.Context, q query) ([]order, error) {
		return []order{{1, 12.5}, {2, 30}}, nil
	})
	rules, err := policy.FromFlags(policy.Flags{AllowTool: []string{"orders.find"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := hostfns.NewTable(rules, audit.None(), find)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer table.Close()
	ctx := context.Background()
	e, err := engine.New(ctx, engine.Config{Cache: cacheFolder(), Table: table})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	res, err := e.Run(ctx, engine.Request{Language: "javascript", Code: `
		const list = await tools.orders.find({ customer: "acme" });
		return list.reduce((sum, o) => sum + o.total, 0);`})
	fmt.Println(string(res.Value), err, res.Calls[0].Tool, res.Calls[0].Decision)
	// Output: 42.5 <nil> orders.find allow
}

func Example_limits() {
	ctx := context.Background()
	e, err := engine.New(ctx, engine.Config{Cache: cacheFolder()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	res, err := e.Run(ctx, engine.Request{
		Language: "python", Code: "print('before')\nwhile True: pass",
		Limits: engine.Limits{Time: 50 * time.Millisecond},
	})
	fmt.Println(errors.Is(err, fault.LimitTime), res.Status)
	fmt.Print(res.Stdout)
	// Output:
	// true limit
	// before
}

func Example_streaming() {
	ctx := context.Background()
	e, err := engine.New(ctx, engine.Config{Cache: cacheFolder()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	_, err = e.Run(ctx, engine.Request{
		Language: "python", Code: "for i in range(3): print('line', i)",
		Output: engine.Output{Stdout: os.Stdout},
	})
	fmt.Println(err)
	// Output:
	// line 0
	// line 1
	// line 2
	// <nil>
}

func Example_session() {
	ctx := context.Background()
	e, err := engine.New(ctx, engine.Config{Cache: cacheFolder()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	for _, code := range []string{"total = 40", "total += 2", "total"} {
		res, err := e.Run(ctx, engine.Request{Language: "python", Code: code, Session: "notebook"})
		if err != nil {
			fmt.Println(err)
			return
		}
		if res.Value != nil {
			fmt.Println(string(res.Value))
		}
	}
	fmt.Println(e.EndSession(nil, "", "notebook"))
	// Output:
	// 42
	// <nil>
}

// Each tenant has its own table: its policy, its records, its tools.
func Example_tenants() {
	ctx := context.Background()
	e, err := engine.New(ctx, engine.Config{Cache: cacheFolder()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	whoami := func(name string) hostfns.Provider {
		return hostfns.Func("account.name", func(context.Context, struct{}) (string, error) { return name, nil })
	}
	allow, err := policy.FromFlags(policy.Flags{AllowTool: []string{"account.*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tenant := range []struct {
		name  string
		rules *policy.Policy
	}{{"acme", allow}, {"globex", nil}} { // a nil policy denies everything
		table, err := hostfns.NewTable(tenant.rules, audit.None(), whoami(tenant.name))
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := e.Run(ctx, engine.Request{Language: "javascript", Code: "await tools.account.name({})", Table: table})
		fmt.Println(tenant.name, res.Status, string(res.Value), errors.Is(err, fault.DeniedTool))
		table.Close()
	}
	// Output:
	// acme ok "acme" false
	// globex denied  true
}

// Two engines of one process hold one copy of the compiled guests.
func ExampleOpenCache() {
	cache, err := engine.OpenCache(cacheFolder())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cache.Close()
	ctx := context.Background()
	for range 2 {
		e, err := engine.New(ctx, engine.Config{Shared: cache})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer e.Close()
		res, err := e.Run(ctx, engine.Request{Language: "javascript", Code: "1 + 1"})
		fmt.Println(string(res.Value), err)
	}
	// Output:
	// 2 <nil>
	// 2 <nil>
}
