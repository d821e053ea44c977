package mcpd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/policy"
)

// Options configure a [Server]. Engine and Table are required.
type Options struct {
	Engine *engine.Engine
	// Run runs a program for a user, who is "" without a login. Nil is Engine.Run.
	Run func(ctx context.Context, user string, req engine.Request) (*engine.Result, error)
	// ReadArtifact returns lines of an artifact to a user, with tokens. Nil: there is no
	// store, and the tool read_artifact is not offered.
	ReadArtifact func(ctx context.Context, user, id string, q artifacts.Query) (artifacts.Page, error)

	Table   *hostfns.Table
	Limits  policy.Limits     // the configured limits; a model may only lower them
	Notice  string            // what people have to do before tools work as they expect; shown to the agent
	Env     map[string]string // the environment, which the policy filters for programs
	Dir     string            // the folder from which relative paths of the policy start
	Asker   hostfns.Asker     // asks people whom the client cannot ask; nil: nobody
	Logger  *slog.Logger      // nil discards
	Version string
	// Keeper has the runs of users for longer than the server, which forgets a task
	// when its run has ended. Nil: runs are in memory only.
	Keeper Keeper
	// Tenant, if not empty, is whose sessions a client names: they are those of its
	// user, and outlive the connection. A profile has its own.
	Tenant, Profile string
	// AnswerWithin is how long a call waits for people before it answers with
	// status waiting. Zero is 45 s: clients give up after about a minute.
	AnswerWithin time.Duration
	// TaskAfter is when a call becomes a task, for a client that understands tasks.
	// Zero is 2 s.
	TaskAfter time.Duration
}

// Keeper has the runs of users for longer than the server.
type Keeper interface {
	// Kept returns a run of a user, or an error with the code usage.run.
	Kept(ctx context.Context, user, id string) (*Kept, error)
	// Cancel cancels it.
	Cancel(ctx context.Context, user, id string) error
}

// Kept is a run of a [Keeper].
type Kept struct {
	Result           *engine.Result
	Ended            bool // Result is its end
	Language, Intent string
	Created, Updated time.Time
	Keep             time.Duration // since Created, at least
}

// client identifies the caller of a request.
type client struct {
	session *mcp.ServerSession
	extra   *mcp.RequestExtra
}

// Server is an MCP server for any number of clients. Make one with [New].
type Server struct {
	o      Options
	mcp    *mcp.Server
	state  atomic.Pointer[State]
	runs   runs
	values values

	clientsMu sync.Mutex
	clients   map[*mcp.ServerSession]string // owners of runs, sessions and values

	requests sync.Map // id to the context of an HTTP request that is being answered
}

// State is what a server serves: the table of new runs, the configured limits, and
// what people have to do before tools work as they expect.
type State struct {
	Table  *hostfns.Table
	Limits policy.Limits
	Notice string
}

// Update changes what the server serves. Runs in flight keep their table.
func (s *Server) Update(next State) {
	last := s.state.Swap(&next)
	if !slices.Equal(last.Table.Identifiers(), next.Table.Identifiers()) {
		s.addTools() // the description names the servers
	}
}

// table is the table of new runs.
func (s *Server) table() *hostfns.Table { return s.state.Load().Table }

// withoutSession is the owner for clients of the protocol without sessions. They
// share a token or are told apart by their users, and ids of runs are random.
const withoutSession = "http"

// owner returns the name under which the runs, sessions and values of a client
// are kept. They are deleted when the client disconnects.
func (s *Server) owner(session *mcp.ServerSession, extra *mcp.RequestExtra) string {
	if session.ID() == "" && extra != nil && extra.Header.Get(requestHeader) != "" {
		if extra.TokenInfo != nil {
			return withoutSession + "/" + url.PathEscape(extra.TokenInfo.UserID)
		}
		return withoutSession
	}
	s.clientsMu.Lock()
	defer s.clientsMu.Unlock()
	name, known := s.clients[session]
	if known {
		return name
	}
	if name = session.ID(); name == "" {
		name = rand.Text()
	}
	s.clients[session] = name
	actor := actorOf(session, extra).ID
	go func() {
		_ = session.Wait()
		s.clientsMu.Lock()
		delete(s.clients, session)
		s.clientsMu.Unlock()
		s.forget(name, actor)
	}()
	return name
}

// forget deletes what belongs to a client.
func (s *Server) forget(owner, actor string) {
	s.runs.cancelIf(func(r *run) bool { return r.owner == owner }, clientLeft)
	s.values.drop(owner)
	if s.o.Tenant != "" {
		return
	}
	for _, name := range s.o.Engine.Sessions(s.table(), actor) {
		if strings.HasPrefix(name, sessionPrefix(owner)) {
			_ = s.o.Engine.EndSession(s.table(), actor, name) // a busy session ends with its run
		}
	}
}

// sessionOf returns the name of a client's session in the engine.
func (s *Server) sessionOf(owner, name string) string {
	switch {
	case name == "" || s.o.Tenant != "" && s.o.Profile == "":
		return name
	case s.o.Tenant != "":
		return s.o.Profile + "/" + name
	}
	return sessionPrefix(owner) + name
}

// maxSession bounds the name of a session.
const maxSession = 200

// checkSession refuses names that could be those of another profile.
func (s *Server) checkSession(name string) error {
	if s.o.Tenant != "" && (len(name) > maxSession || strings.ContainsRune(name, '/') || strings.ContainsFunc(name, unicode.IsControl)) {
		return invalid(fmt.Sprintf("session is a name of at most %d bytes without / and control characters", maxSession))
	}
	return nil
}

// sessionPrefix separates the sessions of clients.
func sessionPrefix(owner string) string { return "mcp/" + owner + "/" }

// requestHeader carries the id of an HTTP request to the handler of a call. What
// a client sends in it is replaced.
const requestHeader = "Wexec-Request"

// beginRequest gives an HTTP request its id.
func (s *Server) beginRequest(r *http.Request) (end func()) {
	id := rand.Text()
	r.Header.Set(requestHeader, id)
	s.requests.Store(id, r.Context())
	return func() { s.requests.Delete(id) }
}

// requestDone is closed when the HTTP request of a call has ended. It is nil for
// other transports.
func (s *Server) requestDone(extra *mcp.RequestExtra) <-chan struct{} {
	if extra == nil || extra.Header.Get(requestHeader) == "" {
		return nil
	}
	ctx, ok := s.requests.Load(extra.Header.Get(requestHeader))
	if !ok {
		ended := make(chan struct{})
		close(ended)
		return ended
	}
	return ctx.(context.Context).Done()
}

// ActorClaim is the name under which [HTTPOptions.Verify] gives the name of a user for
// records in auth.TokenInfo.Extra; without it that is the UserID.
const ActorClaim = "actor"

// actorOf returns the user who logged in, or else the client's name for itself.
func actorOf(session *mcp.ServerSession, extra *mcp.RequestExtra) engine.Actor {
	a := engine.Actor{Type: "agent", ID: userOf(extra)}
	if a.ID != "" {
		if name, ok := extra.TokenInfo.Extra[ActorClaim].(string); ok {
			a.ID = name
		}
	}
	if p := session.InitializeParams(); a.ID == "" && p != nil && p.ClientInfo != nil {
		a.ID = p.ClientInfo.Name
	}
	return a
}

// userOf returns the user who logged in, or "".
func userOf(extra *mcp.RequestExtra) string {
	if extra == nil || extra.TokenInfo == nil {
		return ""
	}
	return extra.TokenInfo.UserID
}

// invalid is the error of parameters that cannot be used.
func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// decodeParams decodes parameters and rejects unknown ones.
func decodeParams(data json.RawMessage, into any) error {
	if len(data) == 0 {
		data = json.RawMessage(`{}`)
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return invalid(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// withHint is an error's message with its hint.
func withHint(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + ": " + hint
	}
	return err.Error()
}
