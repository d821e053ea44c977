package httpd

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// shopPolicy lets the agents of a shop read, and has them ask before they act.
const shopPolicy = `version: 1
tools:
  allow: ["crm.*", billing.invoices]
  ask:
    - {tool: mail.send, message: Mails to customers are read by a person first.}
    - {tool: billing.refund, when: args.amount > 100, message: A refund of more than 100 needs a person.}
    - {tool: billing.refund}
  deny: [crm.delete_customer]
pii:
  mode: tokenize
  reveal_to: [mail.send]
risk:
  high: {limits: {time: 60s}}
audit: {code: full, inputs: full, outputs: full}
`

// shop starts the servers of a shop and returns the files of its tenant.
func shop(t *testing.T) files {
	t.Helper()
	web := map[string]string{}
	serve := func(name string, tools map[string]func(args map[string]any) any) {
		server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
		for tool, answer := range tools {
			mcp.AddTool(server, &mcp.Tool{Name: tool, Description: shopTools[tool]}, func(_ context.Context, _ *mcp.CallToolRequest, args map[string]any) (*mcp.CallToolResult, any, error) {
				text, err := json.Marshal(answer(args))
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil, err
			})
		}
		s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		t.Cleanup(s.Close)
		t.Cleanup(s.CloseClientConnections)
		web[name] = s.URL
	}
	customers := []map[string]any{
		{"id": 41, "name": "Ada Lovelace", "email": "ada@engine.example", "plan": "team", "overdue": true},
		{"id": 42, "name": "Grace Hopper", "email": "grace@navy.example", "plan": "solo", "overdue": false},
		{"id": 43, "name": "Alan Turing", "email": "alan@park.example", "plan": "team", "overdue": true},
	}
	serve("crm", map[string]func(map[string]any) any{
		"customers": func(map[string]any) any { return customers },
		"notes": func(a map[string]any) any {
			return map[string]any{"id": a["id"], "notes": []string{"likes engines", "asked for an invoice"}}
		},
		"delete_customer": func(map[string]any) any { return "deleted" },
	})
	serve("billing", map[string]func(map[string]any) any{
		"invoices": func(map[string]any) any {
			var all []map[string]any
			for i := range 240 {
				all = append(all, map[string]any{"number": 2026000 + i, "customer": 41 + i%3, "amount": 19 + i%7*40, "paid": i%5 != 0, "text": "Subscription, one month, as agreed"})
			}
			return all
		},
		"refund": func(a map[string]any) any { return map[string]any{"refunded": a["amount"]} },
	})
	serve("mail", map[string]func(map[string]any) any{"send": func(map[string]any) any { return map[string]any{"sent": true} }})
	var servers []string
	for name, url := range web {
		servers = append(servers, fmt.Sprintf(`%q: {"type": "http", "url": %q}`, name, url))
	}
	return files{"tenants/default/mcp.json": `{"mcpServers": {` + strings.Join(servers, ", ") + `}}`, "tenants/default/policy.yaml": shopPolicy}
}

var shopTools = map[string]string{"customers": "Lists the customers with name, mail and plan.", "notes": "Reads the notes about a customer.",
	"delete_customer": "Deletes a customer.", "invoices": "Lists invoices with amount and state.", "refund": "Pays an amount back.", "send": "Sends a mail."}

// Programs of the shop.
const (
	shopReport = `// Which customers owe us money?
const [customers, invoices] = await Promise.all([tools.crm.customers({}), tools.billing.invoices({})]);
const open = invoices.filter(i => !i.paid);
console.log(open.length + " invoices are not paid");
const owed = customers.map(c => ({
  name: c.name, mail: c.email,
  owes: open.filter(i => i.customer === c.id).reduce((sum, i) => sum + i.amount, 0),
}));
for (const c of customers.slice(0, 2)) await tools.crm.notes({ id: c.id });
return owed.sort((a, b) => b.owes - a.owes);`
	shopMail = `const [first] = await tools.crm.customers({});
return await tools.mail.send({ to: first.email, subject: "Your invoices", text: "Dear " + first.name + ", three invoices are open. Please pay them this month." });`
	shopRefund = `return await tools.billing.refund({ customer: args.customer, amount: args.amount, reason: args.reason });`
	shopBroken = `const customers = await tools.crm.customers({});
const byPlan = {};
for (const c of customers) {
  byPlan[c.plan.name].push(c);
}
return byPlan;`
	shopDenied = `for (const c of await tools.crm.customers({})) {
  if (c.overdue) await tools.crm.delete_customer({ id: c.id });
}`
	shopPython = "from tools import crm\n\nplans = {}\nfor c in crm.customers():\n    plans[c['plan']] = plans.get(c['plan'], 0) + 1\nprint('plans:', plans)\nplans\n"
)

// seeded starts a server of the shop on whose pages there is something to see: runs of
// all kinds and two questions. It returns ids of runs by name.
func seeded(t *testing.T) (a *api, runs map[string]string) {
	t.Helper()
	a = newAPI(t, shop(t))
	runs = map[string]string{}
	secret, _, err := a.service.CreateToken(t.Context(), store.Token{Tenant: "default", Name: "ada", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin, store.ScopeReveal}})
	if err != nil {
		t.Fatal(err)
	}
	a.tokens["owner"] = secret
	who, err := a.service.Authenticate(t.Context(), a.tokens["agent"])
	if err != nil {
		t.Fatal(err)
	}
	start := func(name string, p service.Program) {
		if p.Language == "" {
			p.Language = "javascript"
		}
		run, err := a.service.Submit(t.Context(), who, service.Submission{Program: p, Trigger: "api"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		runs[name] = run.RunID
		until(t, name+" ends or waits", func() bool {
			run, err := a.service.Get(t.Context(), who, run.RunID)
			return err == nil && (run.State == store.StateDone || run.State == store.StateWaiting)
		})
	}
	for range 2 {
		start("python", service.Program{Language: "python", Intent: "Count customers by plan", Code: shopPython})
		start("small", service.Program{Intent: "Refund a broken keyboard", Code: shopRefund, Args: json.RawMessage(`{"customer":42,"amount":35,"reason":"The keyboard arrived broken."}`)})
		a.call("admin", "POST", "/v1/approvals/"+a.approvals("waiting")[0].ID, `{"decision":"approve"}`).is(200)
		a.ended(runs["small"])
	}
	start("denied", service.Program{Intent: "Clean up customers that do not pay", Code: shopDenied})
	start("broken", service.Program{Intent: "Group customers by plan", Code: shopBroken})
	start("report", service.Program{Intent: "Which customers owe us money?", Code: shopReport, Args: json.RawMessage(`{"month":"2026-05","mail":"boss@shop.example"}`)})
	start("refund", service.Program{Intent: "Refund the order of last week", Code: shopRefund, Args: json.RawMessage(`{"customer":42,"amount":240,"reason":"The parcel arrived broken, and the customer sent pictures."}`)})
	start("mail", service.Program{Intent: "Remind a customer of open invoices", Code: shopMail})
	for name, want := range map[string]engine.Status{"report": "ok", "broken": "error", "denied": "denied", "python": "ok", "small": "ok"} {
		if run := a.ended(runs[name]); run.Status != string(want) {
			t.Fatalf("%s: %+v", name, run)
		}
	}
	return a, runs
}
