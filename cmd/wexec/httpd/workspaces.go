package httpd

import (
	"context"
	"io"
	"mime"
	"net/http"
	"reflect"
	"time"

	"github.com/wexec/wexec/service/workspaces"
)

// withWorkspaces does something with the workspaces of the caller.
func withWorkspaces[Out any](s *Server, c *call, do func(w *workspaces.Client) (Out, error)) (out Out, err error) {
	w, err := s.service.Workspaces(c.who)
	if err == nil {
		out, err = do(w)
	}
	return out, workspaceError(err)
}

type workspacesInput struct {
	Limit  int    `query:"limit" doc:"how many workspaces; 50 unless told, at most 1,000"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

type workspacesPage struct {
	Workspaces []workspaces.Layer `json:"workspaces"`
	Next       string             `json:"next,omitempty"`
}

func listWorkspaces(s *Server, c *call, in workspacesInput) (workspacesPage, error) {
	return withWorkspaces(s, c, func(w *workspaces.Client) (page workspacesPage, err error) {
		page.Workspaces, page.Next, err = w.List(c.context(), in.Cursor, limitOf(in.Limit))
		return page, err
	})
}

type createWorkspaceInput struct {
	Key  string `header:"Idempotency-Key" doc:"a request with the key of an earlier one gives the workspace of that one"`
	Body struct {
		Folder string `json:"folder" jsonschema:"one of those that the tenant names under workspaces"`
	}
}

func createWorkspace(s *Server, c *call, in createWorkspaceInput) (workspaces.Layer, error) {
	release, err := s.hold(c.who, in.Key)
	if err != nil {
		return workspaces.Layer{}, err
	}
	defer release()
	return withWorkspaces(s, c, func(w *workspaces.Client) (workspaces.Layer, error) {
		return w.Create(c.context(), in.Body.Folder, in.Key)
	})
}

type workspaceInput struct {
	ID string `path:"id" doc:"the id of the workspace"`
}

func getWorkspace(s *Server, c *call, in workspaceInput) (workspaces.Layer, error) {
	return withWorkspaces(s, c, func(w *workspaces.Client) (workspaces.Layer, error) { return w.Get(c.context(), in.ID) })
}

func acceptWorkspace(s *Server, c *call, in workspaceInput) (workspaces.Layer, error) {
	return withWorkspaces(s, c, func(w *workspaces.Client) (workspaces.Layer, error) { return w.Accept(c.context(), in.ID) })
}

func rejectWorkspace(s *Server, c *call, in workspaceInput) (workspaces.Layer, error) {
	return withWorkspaces(s, c, func(w *workspaces.Client) (workspaces.Layer, error) { return w.Reject(c.context(), in.ID) })
}

type deletedWorkspace struct {
	ID string `json:"id"`
}

func deleteWorkspace(s *Server, c *call, in workspaceInput) (deletedWorkspace, error) {
	return withWorkspaces(s, c, func(w *workspaces.Client) (deletedWorkspace, error) { return deletedWorkspace(in), w.Delete(in.ID) })
}

func diffWorkspace(s *Server, c *call) error {
	return s.stream(c, "text/plain; charset=utf-8", "", func(w *workspaces.Client, ctx context.Context, id string, to io.Writer) error {
		return w.Diff(ctx, id, to)
	})
}

func exportWorkspace(s *Server, c *call) error {
	return s.stream(c, "application/zip", ".zip", func(w *workspaces.Client, ctx context.Context, id string, to io.Writer) error {
		return w.Export(ctx, id, to)
	})
}

// stream sends the changes of a workspace. A file has an extension.
func (s *Server) stream(c *call, media, extension string, do func(w *workspaces.Client, ctx context.Context, id string, to io.Writer) error) error {
	var in workspaceInput
	if err := readInput(c, reflect.ValueOf(&in).Elem()); err != nil {
		return err
	}
	w, err := s.service.Workspaces(c.who)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-store")
	if extension != "" {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": in.ID + extension}))
	}
	to := &streamed{to: c.w, flow: http.NewResponseController(c.w)}
	if err = do(w, c.context(), in.ID, to); err != nil && to.sent > 0 {
		panic(http.ErrAbortHandler) // the client sees that the content is not complete
	}
	if err != nil {
		h.Del("Content-Disposition")
		h.Del("Cache-Control")
	}
	return workspaceError(err)
}

// streamed is content for a client that takes it at leastRate.
type streamed struct {
	to    io.Writer
	flow  *http.ResponseController
	sent  int64
	spent time.Duration // until it was taken
}

// streamSlice is how much is sent at once.
const streamSlice = 64 << 10

// Write implements io.Writer.
func (s *streamed) Write(b []byte) (done int, err error) {
	for len(b) > done {
		part := b[done:min(len(b), done+streamSlice)]
		began := time.Now()
		_ = s.flow.SetWriteDeadline(began.Add(writeTimeout + time.Duration(s.sent)*time.Second/leastRate - s.spent))
		n, err := s.to.Write(part)
		done, s.sent, s.spent = done+n, s.sent+int64(n), s.spent+time.Since(began)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
