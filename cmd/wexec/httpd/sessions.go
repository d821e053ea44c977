package httpd

import (
	"errors"
	"io/fs"
	"net/http"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

type sessionsPage struct {
	Sessions []engine.SessionInfo `json:"sessions"`
}

func listSessions(s *Server, c *call, _ none) (sessionsPage, error) {
	all, err := s.service.Sessions(c.context(), c.who)
	if all == nil {
		all = []engine.SessionInfo{}
	}
	return sessionsPage{all}, err
}

type sessionInput struct {
	Name string `path:"name" doc:"the name of the session"`
}

// sessionError has the status of an error about a session: 404 where there is no such
// session, and 409 where it is busy or exists.
func sessionError(err error) error {
	switch {
	case fault.CodeOf(err) != fault.UsageSession:
	case errors.Is(err, fs.ErrNotExist):
		return statusError{err, http.StatusNotFound}
	case errors.Is(err, fs.ErrExist):
		return statusError{err, http.StatusConflict}
	}
	return err
}

// session is a session after something was done with it.
func (s *Server) session(c *call, name string, err error) (engine.SessionInfo, error) {
	var info engine.SessionInfo
	if err == nil {
		info, err = s.service.Session(c.context(), c.who, name)
	}
	return info, sessionError(err)
}

func getSession(s *Server, c *call, in sessionInput) (engine.SessionInfo, error) {
	return s.session(c, in.Name, nil)
}

type createSessionInput struct {
	Body struct {
		Name     string `json:"name" jsonschema:"unique among the sessions of the actor"`
		Language string `json:"language" jsonschema:"javascript, typescript or python"`
	}
}

func createSession(s *Server, c *call, in createSessionInput) (engine.SessionInfo, error) {
	return s.session(c, in.Body.Name, s.service.CreateSession(c.context(), c.who, in.Body.Name, in.Body.Language))
}

func sleepSession(s *Server, c *call, in sessionInput) (engine.SessionInfo, error) {
	return s.session(c, in.Name, s.service.SleepSession(c.context(), c.who, in.Name))
}

func wakeSession(s *Server, c *call, in sessionInput) (engine.SessionInfo, error) {
	return s.session(c, in.Name, s.service.WakeSession(c.context(), c.who, in.Name))
}

type forkSessionInput struct {
	Name string `path:"name" doc:"the name of the session"`
	Body struct {
		Name string `json:"name" jsonschema:"of the new session"`
	}
}

func forkSession(s *Server, c *call, in forkSessionInput) (engine.SessionInfo, error) {
	return s.session(c, in.Body.Name, s.service.ForkSession(c.context(), c.who, in.Name, in.Body.Name))
}

type endedSession struct {
	Name string `json:"name"`
}

func endSession(s *Server, c *call, in sessionInput) (endedSession, error) {
	return endedSession(in), sessionError(s.service.EndSession(c.context(), c.who, in.Name))
}
