package httpd

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

type approvalsInput struct {
	State  string `query:"state" enum:"waiting|approved|denied|expired" doc:"waiting unless told"`
	Limit  int    `query:"limit" doc:"how many questions; 50 unless told, at most 1,000"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

type approvalsPage struct {
	Approvals []service.Approval `json:"approvals"`
	Next      string             `json:"next,omitempty"`
}

// limitOf bounds the length of a page.
func limitOf(asked int) int {
	if asked == 0 {
		return 50
	}
	return min(asked, 1000)
}

func listApprovals(s *Server, c *call, in approvalsInput) (page approvalsPage, err error) {
	switch state := store.Answer(in.State); state {
	case "", store.AnswerWaiting, store.AnswerApproved, store.AnswerDenied, store.AnswerExpired:
		page.Approvals, page.Next, err = s.service.Approvals(c.context(), c.who, store.ApprovalFilter{State: state, After: in.Cursor, Limit: limitOf(in.Limit)})
		return page, err
	}
	return page, invalid("state: must be waiting, approved, denied or expired, not %.40q", in.State)
}

type decideInput struct {
	ID   string `path:"id" doc:"the id of the question"`
	Body struct {
		Decision string `json:"decision" jsonschema:"approve or deny"`
		Reason   string `json:"reason,omitempty" jsonschema:"the program sees it if the call is denied"`
		Always   bool   `json:"always,omitempty" jsonschema:"write always_rule into the policy, so that the next call is not a question; needs the scope admin"`
	}
}

func decide(s *Server, c *call, in decideInput) (service.Approval, error) {
	if in.Body.Decision != "approve" && in.Body.Decision != "deny" {
		return service.Approval{}, invalid("decision must be approve or deny, not %.40q", in.Body.Decision)
	}
	if len(in.Body.Reason) > 2000 {
		return service.Approval{}, invalid("reason has more than 2,000 bytes")
	}
	return s.service.Decide(c.context(), c.who, in.ID, service.Answering{Approve: in.Body.Decision == "approve", Always: in.Body.Always, Reason: in.Body.Reason, Via: "api"})
}

// tool is a tool as the API shows it.
type tool struct {
	catalogue.Match
	ID   string `json:"id"`
	Path string `json:"path" jsonschema:"where programs find its declaration"`
}

type toolsPage struct {
	Tools []tool   `json:"tools"`
	Total int      `json:"total" jsonschema:"how many were found"`
	Left  []string `json:"left_out,omitempty" jsonschema:"why tools of a server are missing"`
}

type toolsInput struct {
	Category string `query:"category" doc:"a server: only its tools"`
	Limit    int    `query:"limit" doc:"how many tools; 50 unless told, at most 1,000"`
}

func listTools(s *Server, c *call, in toolsInput) (toolsPage, error) {
	return s.tools(c, catalogue.Query{Server: in.Category, Limit: limitOf(in.Limit)}, 0)
}

type searchInput struct {
	Words    string  `query:"q" doc:"what the tool should do"`
	Limit    int     `query:"limit" doc:"how many tools; 50 unless told, at most 1,000"`
	MinScore float64 `query:"min_score" doc:"leave out tools with a lower score"`
}

func searchTools(s *Server, c *call, in searchInput) (toolsPage, error) {
	return s.tools(c, catalogue.Query{Text: in.Words, Limit: limitOf(in.Limit)}, in.MinScore)
}

// tools searches the tools that the principal's programs may call.
func (s *Server) tools(c *call, q catalogue.Query, least float64) (toolsPage, error) {
	found, failed, err := s.service.Tools(c.context(), c.who, q)
	if err != nil {
		return toolsPage{}, err
	}
	page := toolsPage{Tools: []tool{}, Total: found.Total, Left: failed}
	for _, m := range found.Tools {
		if m.Score >= least {
			page.Tools = append(page.Tools, toolOf(m))
		}
	}
	return page, nil
}

func toolOf(m catalogue.Match) tool {
	server, name, _ := strings.Cut(m.Name, ".")
	return tool{Match: m, ID: m.Name, Path: "/mcp-servers/" + server + "/" + name + ".ts"}
}

type toolInput struct {
	ID       string `path:"id" doc:"server.tool"`
	Language string `query:"language" enum:"javascript|typescript|python" doc:"of the declaration"`
}

func getTool(s *Server, c *call, in toolInput) (tool, error) {
	m, err := s.service.Tool(c.context(), c.who, in.ID, in.Language)
	if err != nil {
		return tool{}, err
	}
	return toolOf(m), nil
}

type usageInput struct {
	By    string    `query:"by" enum:"day|actor|tool|skill|model" doc:"day unless told"`
	Since time.Time `query:"since" doc:"from this time on"`
	Until time.Time `query:"until" doc:"before this time; now unless told"`
}

// used is what runs, calls or skills used.
type used struct {
	Key    string  `json:"key" jsonschema:"the day in UTC, or the name"`
	Count  int64   `json:"count"`
	Failed int64   `json:"failed"`
	Fuel   int64   `json:"fuel"`
	Tokens int64   `json:"tokens"`
	Money  float64 `json:"money" jsonschema:"in the currency of the prices"`
	MS     int64   `json:"ms"`
}

type usagePage struct {
	Usage []used `json:"usage"`
}

func usage(s *Server, c *call, in usageInput) (usagePage, error) {
	kind, by := "run", store.ByDay
	switch in.By {
	case "", "day":
	case "actor":
		by = store.ByActor
	case "tool", "skill", "model":
		kind, by = in.By, store.ByName
	default:
		return usagePage{}, invalid("by: must be day, actor, tool, skill or model, not %.40q", in.By)
	}
	if in.Until.IsZero() {
		in.Until = time.Now().Add(time.Minute)
	}
	sums, err := s.service.Store().Usage(c.context(), c.who.Tenant, kind, by, in.Since, in.Until)
	page := usagePage{Usage: []used{}}
	for _, u := range sums {
		page.Usage = append(page.Usage, used{u.Key, u.Count, u.Failed, u.Fuel, u.Tokens, float64(u.Money) / 1e6, u.Time.Milliseconds()})
	}
	return page, err
}

type tokensPage struct {
	Tokens []store.Token `json:"tokens"`
}

func listTokens(s *Server, c *call, _ none) (tokensPage, error) {
	all, err := s.service.Store().Tokens(c.context(), c.who.Tenant)
	return tokensPage{all}, err
}

type createTokenInput struct {
	Body struct {
		Name    string        `json:"name"`
		Tenant  string        `json:"tenant,omitempty" jsonschema:"the tenant of the caller unless told; only the tenant default makes tokens of others"`
		Scopes  []store.Scope `json:"scopes"`
		Tools   []string      `json:"tools,omitempty" jsonschema:"patterns of the tools that its programs may call"`
		Expires *time.Time    `json:"expires,omitempty"`
		Type    string        `json:"type,omitempty" jsonschema:"agent or person; agent unless told"`
		Quotas  store.Quotas  `json:"quotas,omitzero" jsonschema:"quotas of its runs, in addition to those of the tenant"`
		Model   string        `json:"model,omitempty" jsonschema:"the model of its holder, which gives the cost of runs its price"`
	}
}

// createdToken has the token, which cannot be shown again.
type createdToken struct {
	ID    string `json:"id"`
	Token string `json:"token"`
}

func createToken(s *Server, c *call, in createTokenInput) (createdToken, error) {
	b := in.Body
	t := store.Token{Tenant: c.who.Tenant, Name: b.Name, Type: b.Type, Scopes: b.Scopes, Tools: b.Tools, Quotas: b.Quotas, Model: b.Model}
	if b.Expires != nil {
		t.Expires = *b.Expires
	}
	if t.Type == "" {
		t.Type = store.TypeAgent
	}
	if b.Tenant != "" && b.Tenant != t.Tenant {
		if c.who.Tenant != service.DefaultTenant {
			return createdToken{}, fault.New(fault.DeniedScope, "a token of the tenant %s makes tokens of that tenant only", c.who.Tenant)
		}
		if s.service.Tenant(b.Tenant) == nil {
			return createdToken{}, fault.New(fault.UsageFlag, "there is no tenant %.60q", b.Tenant)
		}
		t.Tenant = b.Tenant
	}
	if err := mayGive(c.who, &t); err != nil {
		return createdToken{}, err
	}
	secret, id, err := s.service.CreateToken(c.context(), t)
	return createdToken{id, secret}, err
}

// mayGive returns why a principal cannot make a token. A token gives no scope, tool,
// quota or lifetime beyond its own. An agent's token makes no token that could answer
// for it.
func mayGive(who service.Principal, t *store.Token) (err error) {
	for _, scope := range t.Scopes {
		if !who.Has(scope) {
			return fault.New(fault.DeniedScope, "a token without the scope %s cannot give it", scope)
		}
	}
	answers := t.Type == store.TypePerson || slices.Contains(t.Scopes, store.ScopeApprove) || slices.Contains(t.Scopes, store.ScopeAdmin)
	if who.Type != store.TypePerson && answers {
		return fault.New(fault.DeniedScope, "an agent's token cannot make the token of a person, or one with the scope %s or %s", store.ScopeApprove, store.ScopeAdmin).
			WithHint("use the token of a person, or wexec token create on the server")
	}
	if t.Expires.IsZero() {
		t.Expires = who.Expires
	}
	if !who.Expires.IsZero() && t.Expires.After(who.Expires) {
		return fault.New(fault.DeniedScope, "a token that expires at %s cannot make one that expires later", who.Expires.UTC().Format(time.RFC3339))
	}
	if t.Quotas, err = t.Quotas.Under(who.Quotas); err != nil {
		return err
	}
	if who.Tools == nil {
		return nil
	}
	if t.Tools == nil {
		t.Tools = who.Tools
	}
	for _, pattern := range t.Tools {
		if !slices.Contains(who.Tools, pattern) {
			return fault.New(fault.DeniedScope, "a token that may call %s cannot give %.60q", strings.Join(who.Tools, ", "), pattern)
		}
	}
	return nil
}

type tokenInput struct {
	ID string `path:"id" doc:"the id of the token"`
}

type revoked struct {
	ID string `json:"id"`
}

func revokeToken(s *Server, c *call, in tokenInput) (revoked, error) {
	err := s.service.RevokeToken(c.context(), c.who, in.ID)
	if errors.Is(err, fault.UsageToken) {
		err = statusError{err, http.StatusNotFound}
	}
	return revoked(in), err
}

// contextUntil returns a context that ends with parent, when done is closed, or
// after some time.
func contextUntil(parent context.Context, done <-chan struct{}, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(parent, most)
	go func() {
		select {
		case <-done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
