package httpd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// click clicks on an element by mouse.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q)", selector))
	b.do(chromedp.Click(selector))
}

// open opens a page.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url + path))
	b.until(`document.readyState === "complete"`)
}

// TestPeopleUsePages does the main deed of each page by mouse and by keyboard, in two
// browsers that see what the other one does.
func TestPeopleUsePages(t *testing.T) {
	if testing.Short() {
		t.Skip("short: drives two browsers")
	}
	a, runs := seeded(t)
	one, two := openBrowser(t, a, "owner"), openBrowser(t, a, "admin")
	question := func(run string) string {
		for _, q := range a.approvals("waiting") {
			if q.Run == runs[run] {
				return fmt.Sprintf("[id=%q]", q.ID)
			}
		}
		t.Fatal("no question of " + run)
		return ""
	}
	mail, refund := question("mail"), question("refund")

	// An answer by mouse shows in the other browser, and so does one by key.
	one.open("/approvals")
	two.open("/approvals")
	two.until(`document.querySelectorAll("[data-question]").length === 2`)
	one.until(`document.querySelector("#live").textContent === "This page is live."`)
	two.click(mail + ` button[data-key="d"]`)
	one.until(`document.querySelectorAll("[data-question]").length === 1 && document.querySelector("#answered .badge").textContent === "denied"`)
	one.do(chromedp.KeyEvent("j"))
	one.until(fmt.Sprintf("document.activeElement === document.querySelector(%q)", refund))
	one.do(chromedp.KeyEvent("a"))
	two.until(`!document.querySelector("[data-question]")`)
	if a.ended(runs["mail"]).Status != "denied" || a.ended(runs["refund"]).Status != "ok" {
		t.Error("the answers did not reach the runs")
	}

	// A value is shown on request.
	var run shownRun
	body, _ := json.Marshal(map[string]string{"language": "js", "code": shopMail})
	a.call("agent", "POST", "/v1/runs", string(body)).is(202, &run)
	one.until(`document.querySelector("[data-question]")`) // by the stream
	one.click(`form[action$="/reveal"] button`)
	one.until(`document.querySelector(".args").textContent.includes("ada@engine.example")`)
	one.click(`button[value="approve"]`)
	one.until(`location.pathname === "/approvals"`)
	if a.ended(run.RunID).Status != "ok" {
		t.Error("the call was not made")
	}

	// A call opens by mouse at its bar, and by keyboard in its row; its rule leads to the line.
	one.open("/runs/" + runs["report"])
	one.until(`!document.querySelector("#call-2").closest("details").open`)
	one.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('svg a[href="#call-2"]').scrollIntoView()`))
	one.click(`svg a[href="#call-2"] text`)
	one.until(`document.querySelector("#call-2").closest("details").open`)
	one.do(chromedp.Focus("#c1 summary"), chromedp.KeyEvent("\r"))
	one.until(`document.querySelector("#call-1").closest("details").open`)
	one.click(`#call-2 a[href^="/policy"]`)
	one.until(`location.hash === "#L3" && document.querySelector("#L3").textContent.includes("crm.*")`)

	// A search in the value, and another run, by keyboard.
	one.open("/runs/" + runs["report"])
	one.do(chromedp.Focus("input[name=find]"), chromedp.KeyEvent("hopper\r"))
	one.until(`document.querySelector(".found li")?.textContent.includes("[1].name")`)
	one.do(chromedp.Focus(".actions button"), chromedp.KeyEvent("\r"))
	one.until(`location.search.startsWith("?with=") && document.querySelector("#state .good")`)
	one.until(`document.querySelector("#compared") || (location.reload(), false)`)

	// A run that goes on shows its output as it comes in both browsers, and stops.
	a.call("agent", "POST", "/v1/runs?wait=0", `{"language":"js","code":"for (let i = 0; ; i++) { console.log('step ' + i); await new Promise(r => setTimeout(r, 300)) }"}`).is(202, &run)
	one.open("/runs/" + run.RunID)
	two.open("/runs/" + run.RunID)
	two.until(`document.querySelector("#output pre")?.textContent.includes("step 3")`)
	one.click(`.actions .danger`)
	two.until(`document.querySelector("#state .note.bad")`)

	// Filters by keyboard and by mouse.
	one.open("/runs")
	one.do(chromedp.Focus("input[name=q]"), chromedp.KeyEvent("owe us money\r"))
	one.until(`location.search.includes("q=owe+us") && document.querySelectorAll("#runs tbody tr").length === 2`)
	one.open("/runs?status=denied")
	one.until(`[...document.querySelectorAll("#runs tbody tr")].every(r => r.textContent.includes("denied"))`)
	one.click(`.filters a[href="/runs"]`)
	one.until(`location.search === ""`)
	one.open("/tools")
	one.do(chromedp.Focus("input[name=q]"), chromedp.KeyEvent("refund\r"))
	one.until(`location.search.includes("refund")`)
	one.click(`a[href*="tool=billing.refund"]`)
	one.until(`document.querySelector("#h-open")`)
	one.open("/usage")
	one.click(`a[href="/usage?by=tool"]`)
	one.until(`document.querySelector("tbody").textContent.includes("crm.customers")`)
	one.open("/audit")
	one.do(chromedp.Focus("button[name=verify]"), chromedp.KeyEvent("\r"))
	one.until(`document.querySelector(".note.good")`)
}

// TestPagesWithoutScripts signs in, answers and filters in a browser without JavaScript.
func TestPagesWithoutScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("short: drives a browser")
	}
	a, runs := seeded(t)
	b := openBrowser(t, a, "owner")
	b.ask("Emulation.setScriptExecutionDisabled", map[string]any{"value": true})
	b.open("/approvals")
	if n := len(a.approvals("waiting")); n != 2 {
		t.Fatal(n)
	}
	b.do(chromedp.Click(`[data-question] button[value="approve"]`))
	until(t, "the answer is there", func() bool { return len(a.approvals("waiting")) == 1 })
	b.open("/runs/" + runs["report"] + "?find=ada")
	b.until(`document.querySelector(".found li") && document.querySelector("[data-copy]").hidden`)
	b.do(chromedp.Click(`.calls summary`))
	b.until(`document.querySelector(".calls details").open`)
	b.open("/runs")
	b.do(chromedp.Click(`.filters button`))
	b.until(`location.search.includes("status=")`)
}

// hostile starts a server on which each text that others write is an attack, and returns
// the id of a run.
func hostile(t *testing.T, attack string) (a *api, run string) {
	t.Helper()
	a = newAPI(t, shop(t))
	secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: attack, Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin, store.ScopeReveal}})
	if err != nil {
		t.Fatal(err)
	}
	a.tokens["owner"] = secret
	who, err := a.service.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	code := "// " + attack + "\nconsole.log(args.a); console.error(args.a);\n" +
		"try { await tools.billing.refund({amount: 1, [args.a]: args.a, deep: {[args.a]: [args.a]}}) } catch (e) { console.log(e.message) }\n" +
		"try { await tools.crm[args.a]({}) } catch (e) { console.log(e.message) }\n" +
		"const e = new Error(args.a); e.name = args.a; if (args.fail) throw e;\nreturn { [args.a]: args.a, long: args.a.repeat(200) }"
	for _, fail := range []bool{true, false} {
		p := service.Program{Language: "javascript", Code: code, File: "a.js", Intent: attack, Args: inJSON(t, map[string]any{"a": attack, "fail": fail}), Argv: []string{attack}, Input: attack, Session: ""}
		started, err := a.service.Submit(t.Context(), who, service.Submission{Program: p, Trigger: "api"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		run = started.RunID
		until(t, "the run asks", func() bool { return len(a.approvals("waiting")) == 1 })
		if fail {
			a.call("owner", "POST", "/v1/approvals/"+a.approvals("waiting")[0].ID, string(inJSON(t, map[string]any{"decision": "deny", "reason": attack}))).is(200)
			a.ended(run)
		}
	}
	return a, run
}

// TestPagesAreForEverybody reads each page, of a shop and of a hostile run, on a narrow
// and a wide screen, in light and dark, as assistive technology does. Nothing moves while
// a page loads.
func TestPagesAreForEverybody(t *testing.T) {
	if testing.Short() {
		t.Skip("short: reads each page in a browser several times")
	}
	const attack = `</code></pre></title><img src=x onerror="window.attacked=1"><script>window.attacked=1</script>"'><svg onload="window.attacked=1">` + "\u202egnp.exe\u0007"
	shopped, runs := seeded(t)
	attacked, waiting := hostile(t, attack)
	_, list := attacked.visit("owner", "GET", "/runs?status=error", nil)
	at := strings.Index(list, `href="/runs/01`)
	if at < 0 {
		t.Fatal("no run failed")
	}
	failed := list[at+len(`href="/runs/`):][:26]
	axe, err := os.ReadFile(filepath.Join(testenv.NPM(t), "node_modules", "axe-core", "axe.min.js"))
	for _, of := range []struct {
		a     *api
		paths []string
	}{
		{shopped, []string{"/runs/" + runs["report"] + "?records=1&find=ada", "/runs/" + runs["broken"], "/runs/" + runs["mail"], "/runs/" + runs["report"] + "?with=" + runs["python"], "/policy?file=policy.yaml", "/audit?verify=1", "/tools?tool=billing.refund", "/usage?by=tool", "/runs/nothing"}},
		{attacked, []string{"/runs/" + waiting, "/runs/" + failed + "?records=1&find=img", "/tools?q=" + "%3Cimg%20src%3Dx%3E"}},
	} {
		b := openBrowser(t, of.a, "owner")
		for _, path := range append(of.paths, pagePaths...) {
			for _, width := range []int64{360, 1600} {
				b.do(chromedp.EmulateViewport(width, 900))
				b.open(path)
				b.until(fits)
				shift, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](`new Promise(done => { let sum = 0; new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value }).observe({ type: "layout-shift", buffered: true }); requestAnimationFrame(() => requestAnimationFrame(() => done(sum))) })`, chromedp.EvalAwaitPromise))
				if err != nil || shift > 0 {
					t.Errorf("%s moves by %v at %d: %v", path, shift, width, err)
				}
			}
			if err != nil {
				continue // no axe-core
			}
			for _, scheme := range []string{"light", "dark"} {
				b.scheme(scheme)
				b.audit(string(axe), path+" "+scheme)
			}
		}
	}
}

// TestATimelineOf500Calls is small enough to send, and shows all.
func TestATimelineOf500Calls(t *testing.T) {
	f := shop(t)
	f["tenants/default/policy.yaml"] += "limits: {tool_calls: 600}\n"
	a := newAPI(t, f)
	began := time.Now()
	id := a.done(service.Program{Language: "javascript", Code: "for (let i = 0; i < 50; i++) await Promise.all(Array.from({length: 10}, (_, j) => tools.crm.notes({id: i * 10 + j, text: 'a note about the customer ' + i + ' ' + j})));"})
	t.Log("the run took", time.Since(began))
	sent, body := 0, ""
	for i, path := range append([]string{"/runs/" + id}, assetsOf(t, a)...) {
		n, text := a.sent("admin", path)
		if sent += n; i == 0 {
			body = text
		}
	}
	if sent > 100_000 {
		t.Errorf("the page and its assets have %d bytes", sent)
	}
	if calls := strings.Count(body, `href="#call-`); calls != 500 || strings.Count(body, "<details") < 500 {
		t.Errorf("the page shows %d calls", calls)
	}
}
