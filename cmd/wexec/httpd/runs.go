package httpd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/service/workspaces"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/workspace"
)

// maxWait is how long a request may wait for a run.
const maxWait = 10 * time.Minute

type submitInput struct {
	Wait *time.Duration `query:"wait" doc:"how long to wait for the result; 30s unless told, 0 answers at once"`
	Dry  bool           `query:"dry" doc:"answer tool calls with samples, call no tool"`
	Key  string         `header:"Idempotency-Key" doc:"a request with the key of an earlier one gives the run of that one, for 24 hours"`
	Body service.Program
}

// submitted is a run that may go on without its caller.
type submitted struct{ *service.Run }

// status is 200 with a result, or 202.
func (s submitted) status() int {
	if s.State == store.StateDone {
		return http.StatusOK
	}
	return http.StatusAccepted
}

func submit(s *Server, c *call, in submitInput) (submitted, error) {
	in.Body.Dry = in.Body.Dry || in.Dry
	wait := 30 * time.Second
	if in.Wait != nil {
		wait = min(*in.Wait, maxWait)
	}
	release, err := s.hold(c.who, in.Key)
	if err != nil {
		return submitted{}, err
	}
	defer release()
	run, err := s.service.Submit(c.context(), c.who, service.Submission{Program: in.Body, Key: in.Key, Trigger: "api"}, wait)
	if err == nil {
		accessOf(c.context()).about(run.RunID)
	}
	return submitted{run}, workspaceError(err)
}

// workspaceError has the status of an error about a workspace: 404 where there is no such
// workspace, and 409 where it is in use, has ended, or its folder changed too.
func workspaceError(err error) error {
	switch {
	case fault.CodeOf(err) == fault.UsageConflict: // a key of another request
		return statusError{err, http.StatusUnprocessableEntity}
	case fault.CodeOf(err) != fault.UsageWorkspace:
	case errors.Is(err, workspaces.ErrUnknown):
		return statusError{err, http.StatusNotFound}
	case errors.Is(err, workspace.ErrInUse), errors.Is(err, workspaces.ErrEnded), errors.As(err, new(*workspace.ConflictError)):
		return statusError{err, http.StatusConflict}
	}
	return err
}

// hold keeps a second request with the same key out until the first is answered.
func (s *Server) hold(who service.Principal, key string) (release func(), err error) {
	if key == "" {
		return func() {}, nil
	}
	held := who.Tenant + "\x00" + who.ID + "\x00" + key
	if _, taken := s.keys.LoadOrStore(held, true); taken {
		return nil, fault.New(fault.UsageConflict, "the first request with the idempotency key %.60q is not answered yet", key).WithHint("wait for it, and send this one again")
	}
	return func() { s.keys.Delete(held) }, nil
}

type runsInput struct {
	Limit    int       `query:"limit" doc:"how many runs; 50 unless told, at most 1,000"`
	Cursor   string    `query:"cursor" doc:"next of the page before; empty for the first"`
	State    string    `query:"state" enum:"queued|running|waiting|parked|done" doc:"runs in this state"`
	Status   string    `query:"status" doc:"runs with this status of the result"`
	Tool     string    `query:"tool" doc:"runs that called this tool"`
	Skill    string    `query:"skill" doc:"runs of this skill"`
	Actor    string    `query:"actor" doc:"runs of the token with this name"`
	Language string    `query:"language" doc:"javascript, typescript or python"`
	Since    time.Time `query:"since" doc:"accepted at this time or later"`
	Until    time.Time `query:"until" doc:"accepted before this time"`
	Words    string    `query:"q" doc:"words in the intent, the code or the error"`
}

// runsPage is a page of runs, the newest first.
type runsPage struct {
	Runs []*service.Run `json:"runs"`
	Next string         `json:"next,omitempty"`
}

func listRuns(s *Server, c *call, in runsInput) (page runsPage, err error) {
	page.Runs, page.Next, err = s.service.List(c.context(), c.who, store.Filter{State: store.State(in.State), Status: in.Status, Actor: in.Actor, Language: in.Language,
		Skill: in.Skill, Tool: in.Tool, Words: in.Words, Since: in.Since, Until: in.Until, Before: in.Cursor, Limit: in.Limit})
	return page, err
}

type runInput struct {
	ID string `path:"id" doc:"the id of the run"`
}

func getRun(s *Server, c *call, in runInput) (*service.Run, error) {
	run, err := s.service.Get(c.context(), c.who, in.ID)
	if err == nil {
		accessOf(c.context()).about(run.RunID)
	}
	return run, err
}

// cancelled says whether a run had not ended.
type cancelled struct {
	RunID     string `json:"run_id"`
	Cancelled bool   `json:"cancelled" jsonschema:"false if the run had ended"`
}

func cancelRun(s *Server, c *call, in runInput) (cancelled, error) {
	ok, err := s.service.Cancel(c.context(), c.who, in.ID)
	if err == nil {
		accessOf(c.context()).about(in.ID)
	}
	return cancelled{in.ID, ok}, err
}

func resumeRun(s *Server, c *call, in runInput) (*service.Run, error) {
	run, err := s.service.Resume(c.context(), c.who, in.ID)
	if err == nil {
		accessOf(c.context()).about(run.RunID)
	}
	return run, err
}

type signalInput struct {
	ID   string          `path:"id" doc:"the id of the run"`
	Name string          `path:"name" doc:"what the program waits for"`
	Body json.RawMessage // what the program gets; null without a body
}

// signalled names the signal that a run got.
type signalled struct {
	RunID  string `json:"run_id"`
	Name   string `json:"name"`
	Number int64  `json:"number" jsonschema:"how many signals with the name the run had before"`
}

func signalRun(s *Server, c *call, in signalInput) (signalled, error) {
	number, err := s.service.Signal(c.context(), c.who, in.ID, in.Name, in.Body)
	if err == nil {
		accessOf(c.context()).about(in.ID)
	}
	return signalled{in.ID, in.Name, number}, err
}

type eventsInput struct {
	ID     string `path:"id" doc:"the id of the run"`
	Last   string `header:"Last-Event-ID" doc:"the number of the last event that was received"`
	Follow *bool  `query:"follow" doc:"false: send the events that there are, and end"`
}

// keepAlive is how often an event stream without events has a comment, so that
// proxies do not close it.
const keepAlive = 15 * time.Second

// streamEvents sends the events of a run until its end.
func streamEvents(s *Server, c *call) error {
	var in eventsInput
	if err := readInput(c, reflect.ValueOf(&in).Elem()); err != nil {
		return err
	}
	var after int64
	if in.Last != "" {
		var err error
		if after, err = strconv.ParseInt(in.Last, 10, 64); err != nil || after < 0 {
			return invalid("Last-Event-ID: must be the number of an event")
		}
	}
	id, follow := in.ID, in.Follow == nil || *in.Follow
	if _, err := s.service.Get(c.context(), c.who, id); err != nil {
		return err
	}
	accessOf(c.context()).about(id)
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	flow := http.NewResponseController(c.w)
	for begun := false; ; begun = true {
		events, end, err := s.nextEvents(c, id, after, follow)
		if err != nil && !begun {
			return err
		}
		if err != nil || c.context().Err() != nil {
			return nil // the client connects again, and learns why
		}
		var b strings.Builder
		for _, e := range events {
			fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: %s\n\n", e.Number, e.Type, e.Data)
			after = e.Number
		}
		end = end || len(events) == 0 && !follow
		if len(events) == 0 {
			b.WriteString(": waiting\n\n")
		}
		_ = flow.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := c.w.Write([]byte(b.String())); err != nil || flow.Flush() != nil || end {
			return nil
		}
	}
}

// nextEvents returns events of a run, if there are some or else if it may wait for them,
// at most for keepAlive.
func (s *Server) nextEvents(c *call, id string, after int64, wait bool) ([]store.Event, bool, error) {
	if !wait {
		return service.KeptEvents(c.context(), s.service.Store(), c.who.Tenant, id, after)
	}
	// The pause ends the waiting only: a query that is slow at that moment does not end the stream.
	pause, cancel := contextUntil(c.context(), s.ending, keepAlive)
	defer cancel()
	return s.service.Events(c.context(), c.who, id, after, pause.Done())
}
