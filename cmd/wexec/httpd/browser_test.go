package httpd

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/service"
)

// browser is a tab of a real browser.
type browser struct {
	t   *testing.T
	ctx context.Context
	url string
}

// fits is true on a page that is not wider than the window, and on which no attack ran.
const fits = `document.documentElement.scrollWidth <= window.innerWidth && !window.attacked`

// openBrowser starts a browser in which a person has signed in with a token.
func openBrowser(t *testing.T, a *api, token string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium")
	}
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(stop)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &browser{t, ctx, a.url}
	b.scheme("light")
	b.do(chromedp.Navigate(a.url+"/"), chromedp.SendKeys("#token", a.tokens[token]+"\r"), chromedp.WaitVisible("#waiting"))
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// ask sends a command of the DevTools protocol to the tab.
func (b *browser) ask(method string, params map[string]any) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error { return t.Call(ctx, method, params, &struct{}{}) }))
}

// scheme makes the browser prefer light or dark pages.
func (b *browser) scheme(is string) {
	b.t.Helper()
	b.ask("Emulation.setEmulatedMedia", map[string]any{"features": []any{
		map[string]any{"name": "prefers-color-scheme", "value": is},
		map[string]any{"name": "prefers-reduced-motion", "value": "reduce"}, // a click hits what it aims at
	}})
}

// audit reads the page as assistive technology does, with axe-core.
func (b *browser) audit(axe, page string) {
	b.t.Helper()
	b.do(chromedp.EvaluateAsDevTools[chromedp.Void](axe))
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, ...v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))])))`, chromedp.EvalAwaitPromise))
	var violations [][]string
	if err != nil || json.Unmarshal([]byte(found), &violations) != nil || len(violations) > 0 {
		b.t.Errorf("%s: %v %s", page, err, strings.Join(strings.Fields(found), " "))
	}
}

// until waits until an expression is true on the page.
func (b *browser) until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if ok {
			return
		}
		if b.ctx.Err() != nil || time.Now().After(deadline) {
			at, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`location.pathname + location.search + " " + innerWidth + " " + [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest(".scroll, .code, .tree")).slice(0, 3).map(e => e.outerHTML.slice(0, 150))`))
			b.t.Fatalf("%s is not so on %s: %v", expression, at, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestPagesInABrowser signs in, sees a question arrive, answers it by keys, and follows
// the run to its end, without loading a page again. Then each page is read as people
// with assistive technology do, on a narrow and a wide screen.
func TestPagesInABrowser(t *testing.T) {
	servers, called := anyPinger(t)
	a := newAPI(t, files{"tenants/default/mcp.json": servers, "tenants/default/policy.yaml": alwaysPolicy})
	attack := `<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>` + "\u202e"
	hostile := a.done(service.Program{Language: "javascript", Intent: attack, Code: "// " + attack + "\nconsole.log(args); return {[args]: args}", Args: inJSON(t, attack)})
	b := openBrowser(t, a, "admin")
	run := a.asked(pingWith(`{n: 11}`))
	b.until(`document.querySelector("#waiting .ask")`) // by the stream
	b.do(chromedp.Navigate(b.url + "/approvals"))
	b.until(`document.querySelector("[data-question]")`)
	b.do(chromedp.KeyEvent("j"))
	b.until(`document.activeElement.hasAttribute("data-question")`)
	b.do(chromedp.KeyEvent("a"))
	b.until(`!document.querySelector("[data-question]") && document.querySelector("#answered tbody tr")`)
	if a.ended(run.RunID).Status != "ok" || called.Load() != 1 {
		t.Error("the call was not made")
	}
	var slow shownRun
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"console.log('begun'); await new Promise(r => setTimeout(r, 60000))"}`).is(202, &slow)
	b.do(chromedp.Navigate(b.url + "/runs/" + slow.RunID))
	b.until(`document.querySelector("#output pre")?.textContent.includes("begun")`)
	a.call("agent", "POST", "/v1/runs/"+slow.RunID+"/cancel", "").is(200)
	b.until(`document.querySelector("#state .note.bad")`)

	script, err := os.ReadFile(filepath.Join(testenv.NPM(t), "node_modules", "axe-core", "axe.min.js"))
	for _, path := range append([]string{"/runs/" + hostile, "/runs/" + run.RunID, "/audit?verify=1", "/tools?tool=p.ping"}, pagePaths...) {
		b.do(chromedp.EmulateViewport(360, 800), chromedp.Navigate(b.url+path))
		b.until(`document.readyState === "complete"`)
		for _, width := range []int64{360, 1600} {
			b.do(chromedp.EmulateViewport(width, 900))
			b.until(fits)
		}
		if err != nil {
			continue // no axe-core
		}
		b.audit(string(script), path)
	}
}
