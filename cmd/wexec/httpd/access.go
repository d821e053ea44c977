package httpd

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/internal/telemetry"
)

// access is a line of the access log. It has what the server knows of a request, and
// nothing that a client wrote: no path, query, header or body.
type access struct {
	http.ResponseWriter
	status int
	bytes  int64
	token  string // its id
	run    string
}

// accessOf returns the line of a request, or nil if there is no log.
func accessOf(ctx context.Context) *access {
	a, _ := ctx.Value(accessKey{}).(*access)
	return a
}

type accessKey struct{}

// by notes who made the request; a may be nil.
func (a *access) by(token string) {
	if a != nil {
		a.token = token
	}
}

// about notes the run of the request; a may be nil.
func (a *access) about(run string) {
	if a != nil {
		a.run = run
	}
}

// WriteHeader implements http.ResponseWriter.
func (a *access) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *access) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap returns what [http.ResponseController] controls.
func (a *access) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// logged writes a line to the log for each request.
func logged(log *slog.Logger, next http.Handler) http.Handler {
	if log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, a := time.Now(), &access{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), accessKey{}, a))
		defer func() {
			_, route, ok := strings.Cut(r.Pattern, " ")
			if !ok {
				route = r.Pattern
			}
			line := []slog.Attr{slog.String("method", method(r.Method)), slog.String("route", route), slog.Int("status", a.status),
				slog.Int64("ms", time.Since(began).Milliseconds()), slog.Int64("bytes", a.bytes)}
			add := func(name, value string) {
				if value != "" {
					line = append(line, slog.String(name, value))
				}
			}
			add("token", a.token)
			add("run", a.run)
			if span := trace.SpanContextFromContext(telemetry.WithParent(context.Background(), r.Header.Get(telemetry.Header))); span.HasTraceID() {
				add("trace", span.TraceID().String())
			}
			log.LogAttrs(r.Context(), slog.LevelInfo, "request", line...)
		}()
		next.ServeHTTP(a, r)
	})
}

// method returns a method of HTTP, or "other": a client may send any word.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}
