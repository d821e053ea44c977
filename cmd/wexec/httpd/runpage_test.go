package httpd

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/wexec/wexec/service"
)

// TestThePageOfARunTellsWhatHappened reads the pages of runs of a shop.
func TestThePageOfARunTellsWhatHappened(t *testing.T) {
	a, runs := seeded(t)
	has := func(who, path string, wants ...string) string {
		t.Helper()
		res, body := a.visit(who, "GET", path, nil)
		if res.StatusCode != 200 {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s for %s does not have %q", path, who, want)
			}
		}
		for _, secret := range []string{"ada@engine.example", "boss@shop.example"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s for %s shows %s", path, who, secret)
			}
		}
		return body
	}
	report := "/runs/" + runs["report"]
	// Calls open to the decision, the arguments and the shape of the answer, the rule leads
	// to its line, and limits follow what was used.
	has("admin", report, `href="#call-1"`, `id="call-1"`, `href="/policy?file=policy.yaml#L3"`, `[{amount: number, customer: number, number: number, paid: boolean, text: string}]`,
		"Used and allowed", "100,000,000,000", "month", `data-copy="/runs/`, "[EMAIL_1]")
	if body := has("reader", report, "not kept"); strings.Contains(body, "/policy?") || strings.Contains(body, "amount: number") {
		t.Error("a reader sees what needs the scope admin")
	}
	has("admin", "/policy?file=policy.yaml", `id="L3"`, "crm.*")
	for path, status := range map[string]int{"/policy?file=policy.yaml": 403, "/policy?file=../../wexec.yaml": 403} {
		if res, _ := a.visit("reader", "GET", path, nil); res.StatusCode != status {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if res, _ := a.visit("admin", "GET", "/policy?file=../../seal.key", nil); res.StatusCode == 200 {
		t.Error("a page shows a file of another kind")
	}
	has("admin", "/runs/"+runs["broken"], `class="failed" value="4"`, "The run failed here")
	has("admin", "/runs/"+runs["small"], "approved by ada through api", "The keyboard arrived broken")
	// The records of the run, with a verification.
	has("admin", report+"?records=1", "The chain is whole", "billing.invoices policy.yaml:3")
	if body := has("reader", report+"?records=1"); strings.Contains(body, "Audit records") {
		t.Error("a reader sees records")
	}
	// A search finds what is deep in the value, and nothing else.
	has("reader", report+"?find=ada+love", "[2].name", "Ada Lovelace</span></li>")
	has("reader", report+"?find=EMAIL_1", "[2].mail")
	has("reader", report+"?find=nobody", "Nothing in the value is like that")
	// A run that was made again is compared with the earlier one.
	res, _ := a.visit("agent", "POST", report+"/again", url.Values{})
	again := res.Header.Get("Location")
	if !strings.HasSuffix(again, "?with="+runs["report"]) {
		t.Fatal(again)
	}
	a.ended(strings.TrimSuffix(strings.TrimPrefix(again, "/runs/"), "?with="+runs["report"]))
	if body := has("agent", again, "Compared with", "billing.invoices, crm.notes × 2"); !strings.Contains(body, "Value</th>") {
		t.Error("the page does not compare the values")
	}
	if res, _ := a.visit("other", "GET", report+"?with="+runs["small"], nil); res.StatusCode != 404 {
		t.Error(res.StatusCode)
	}
}

// TestAReviewIsMarkedInTheProgram shows what a review found at the line where it is.
func TestAReviewIsMarkedInTheProgram(t *testing.T) {
	a := newAPI(t, shop(t))
	id := a.done(service.Program{Language: "javascript", Code: "const a = 1;\neval(args.code);\na", Args: json.RawMessage(`{"code":"2"}`)})
	_, body := a.visit("reader", "GET", "/runs/"+id, nil)
	if !regexp.MustCompile(`(?s)<li id="L2" class="noted" value="2">.*?class="remark`).MatchString(body) {
		t.Error("the finding is not at its line")
	}
}
