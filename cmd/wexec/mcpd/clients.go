package mcpd

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clients are those that are connected, by the name under which their runs,
// sessions and kept values are filed.
type clients struct {
	mu    sync.Mutex
	names map[*mcp.ServerSession]string
}

func newClients() *clients { return &clients{names: map[*mcp.ServerSession]string{}} }

// withoutSession is the owner of what clients of the sessionless protocol do
// over HTTP. They all hold the same token, or are told apart by who logged in,
// and the ids of runs cannot be guessed.
const withoutSession = "http"

// owner says whose a request is. The first request of a client makes the
// server wait for its end.
func (s *Server) owner(session *mcp.ServerSession, extra *mcp.RequestExtra) string {
	if session.ID() == "" && extra != nil && extra.Header.Get(requestHeader) != "" {
		if extra.TokenInfo != nil {
			return withoutSession + "/" + url.PathEscape(extra.TokenInfo.UserID)
		}
		return withoutSession
	}
	actor := actorOf(session, extra).ID
	s.clients.mu.Lock()
	defer s.clients.mu.Unlock()
	name, known := s.clients.names[session]
	if known {
		return name
	}
	if name = session.ID(); name == "" {
		name = rand.Text()
	}
	s.clients.names[session] = name
	go func() {
		_ = session.Wait()
		s.clients.mu.Lock()
		delete(s.clients.names, session)
		s.clients.mu.Unlock()
		s.forgetClient(name, actor)
	}()
	return name
}

// forgetClient ends what a client has left behind.
func (s *Server) forgetClient(owner, actor string) {
	s.runs.leave(owner)
	s.kept.leave(owner)
	for _, name := range s.o.Engine.Sessions(s.o.Table, actor) {
		if strings.HasPrefix(name, sessionPrefix(owner)) {
			// One that is busy ends with its run.
			_ = s.o.Engine.EndSession(s.o.Table, actor, name)
		}
	}
}

// requestHeader carries the name of an HTTP request from the door to the
// handler of a call, so that a call knows when its client is gone. What a
// client writes there is replaced.
const requestHeader = "Wexec-Request"

// requests are the HTTP requests that are being answered.
type requests struct{ open sync.Map }

// enter gives a request its name.
func (q *requests) enter(r *http.Request) (leave func()) {
	id := rand.Text()
	r.Header.Set(requestHeader, id)
	q.open.Store(id, r.Context())
	return func() { q.open.Delete(id) }
}

// done is closed when the HTTP request behind a call has ended; nil where
// there is none.
func (q *requests) done(extra *mcp.RequestExtra) <-chan struct{} {
	if extra == nil {
		return nil
	}
	id := extra.Header.Get(requestHeader)
	if id == "" {
		return nil
	}
	ctx, ok := q.open.Load(id)
	if !ok {
		gone := make(chan struct{})
		close(gone)
		return gone
	}
	return ctx.(context.Context).Done()
}
