package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/cmd/wexec/internal/door"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// Bounds of requests and connections.
const (
	maxHeader     = 16 << 10
	maxBody       = 8 << 20
	maxBodies     = 128 << 20 // of all requests that are answered
	maxPending    = 512       // connections without a valid token
	perAddress    = 32        // of them, of one address without a request
	maxAdmitted   = 1024
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 30 * time.Second
)

// Options configure a [Server]. Service is required.
type Options struct {
	Service *service.Service
	Logger  *slog.Logger
	Access  *slog.Logger // gets a record for each request; nil: none
	// Proxied says that all connections come from a proxy, and have its address.
	Proxied bool
}

// Server is the HTTP API of a service.
type Server struct {
	o        Options
	service  *service.Service
	document []byte
	handler  http.Handler
	keys     sync.Map     // idempotency keys of requests that are not answered
	bodies   atomic.Int64 // bytes of the requests that are answered
	ending   chan struct{}
	mcp      sync.Map // *agents by tenant and tools
}

// route is a way into the API. All routes are in one table, from which the OpenAPI
// document is made as well.
type route struct {
	method, path string
	scope        store.Scope // empty: any token
	summary      string
	operation    string       // its name in generated clients; empty: operationID makes it
	in, out      reflect.Type // of parameters and body, and of the answer; nil: none
	status       int          // of a success
	also         []int        // further statuses of a success
	media        string       // of the answer; empty: JSON
	streams      bool         // the body is content of any type and size
	serve        func(*Server, *call) error
}

// call is a request on its way through a route.
type call struct {
	w     http.ResponseWriter
	r     *http.Request
	who   service.Principal
	route route
}

func (c *call) context() context.Context { return c.r.Context() }

// typed makes the route of a function. The fields of In are parameters by their tags
// path, query and header; a field Body is the body.
func typed[In, Out any](method, path string, scope store.Scope, summary string, f func(*Server, *call, In) (Out, error)) route {
	return route{method: method, path: path, scope: scope, summary: summary, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), status: http.StatusOK,
		serve: func(s *Server, c *call) error {
			var in In
			if err := readInput(c, reflect.ValueOf(&in).Elem()); err != nil {
				return err
			}
			out, err := f(s, c, in)
			if err != nil {
				return err
			}
			status := c.route.status
			if other, ok := any(out).(interface{ status() int }); ok {
				status = other.status()
			}
			return writeJSON(c.w, status, out)
		}}
}

// inputOf is the type of the parameters of a route.
func inputOf[In any]() reflect.Type { return reflect.TypeFor[In]() }

// none is the type of a route without parameters.
type none struct{}

// readInput reads the parameters and the body of a request.
func readInput(c *call, into reflect.Value) error {
	query := c.r.URL.Query()
	known := map[string]bool{}
	for i := range into.NumField() {
		field, value := into.Type().Field(i), into.Field(i)
		if field.Name == "Body" {
			if err := readBody(c.r, value.Addr().Interface()); err != nil {
				return err
			}
			continue
		}
		name, text := field.Tag.Get("path"), c.r.PathValue(field.Tag.Get("path"))
		switch {
		case name != "":
		case field.Tag.Get("query") != "":
			name = field.Tag.Get("query")
			known[name] = true
			if len(query[name]) > 1 {
				return invalid("the parameter %s is given twice", name)
			}
			text = query.Get(name)
			if words := field.Tag.Get("enum"); words != "" && query.Has(name) && !slices.Contains(strings.Split(words, "|"), text) {
				return invalid("%s: must be one of %s", name, strings.ReplaceAll(words, "|", ", "))
			}
		default:
			name = field.Tag.Get("header")
			text = c.r.Header.Get(name)
		}
		if text == "" {
			if query.Has(name) && (value.Kind() != reflect.String || field.Tag.Get("enum") != "") {
				return invalid("%s: must not be empty", name)
			}
			continue
		}
		if of := field.Tag.Get("enum"); of != "" && !slices.Contains(strings.Split(of, "|"), text) {
			return invalid("%s must be %s, not %.40q", name, strings.ReplaceAll(of, "|", ", "), text)
		}
		if err := setText(value, text); err != nil {
			return invalid("%s: %s", name, err)
		}
	}
	for name := range query {
		if !known[name] {
			return invalid("unknown parameter %.60q", name)
		}
	}
	// A connection whose deadline passes cancels its requests, and this one may wait long.
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	return nil
}

func invalid(format string, args ...any) error { return fault.New(fault.UsageFlag, format, args...) }

// setText parses a parameter.
func setText(v reflect.Value, text string) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch to := v.Addr().Interface().(type) {
	case *time.Time:
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return errors.New("must be a time of RFC 3339, such as 2026-05-01T12:00:00Z")
		}
		*to = at
	case *time.Duration:
		d, err := time.ParseDuration(text)
		if seconds, numberErr := strconv.ParseFloat(text, 64); err != nil && numberErr == nil && seconds < 1e6 {
			d, err = time.Duration(seconds*float64(time.Second)), nil
		}
		if err != nil || d < 0 {
			return errors.New("must be a duration, such as 30s")
		}
		*to = d
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("must be true or false")
		}
		*to = b
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return errors.New("must be a number")
		}
		*to = n
	case *int, *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return errors.New("must be a whole number, at least 0")
		}
		v.SetInt(n)
	default:
		v.SetString(text)
	}
	return nil
}

// readBody decodes a JSON body that has no unknown fields and nothing after it. A body
// that can be any JSON may be left out.
func readBody(r *http.Request, into any) error {
	data, err := io.ReadAll(r.Body)
	_, optional := into.(*json.RawMessage)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fault.New(fault.UsageFlag, "the body is larger than %d bytes", tooLarge.Limit)
	case err != nil:
		return fault.New(fault.UsageFlag, "the body did not arrive")
	case len(strings.TrimSpace(string(data))) == 0 && optional:
		return nil
	case len(strings.TrimSpace(string(data))) == 0:
		return fault.New(fault.UsageFlag, "the request has no body").WithHint("send a JSON object")
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fault.New(fault.UsageFlag, "the body cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if d.More() {
		return fault.New(fault.UsageFlag, "the body has more than one JSON value")
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fault.New(fault.Internal, "encode the answer: %w", err)
	}
	answer(w, "application/json", status, data)
	return nil
}

// answer writes JSON to a client that takes it at leastRate.
func answer(w http.ResponseWriter, mediaType string, status int, data []byte) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout + time.Duration(len(data))*time.Second/leastRate))
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

// Problem is an error of the API as RFC 9457 describes it.
type Problem struct {
	Type   string     `json:"type"`
	Title  string     `json:"title"`
	Status int        `json:"status"`
	Detail string     `json:"detail"`
	Code   fault.Code `json:"code"`
	Hint   string     `json:"hint,omitempty"`

	retry time.Duration // after it the request may be sent again
}

// statusError is an error with a status other than that of its code.
type statusError struct {
	error
	status int
}

// Unwrap returns the error.
func (e statusError) Unwrap() error { return e.error }

// problemOf is the problem of an error.
func problemOf(err error) Problem {
	p := Problem{Type: "about:blank", Code: fault.CodeOf(err), Detail: err.Error(), Hint: fault.HintOf(err)}
	p.Status = statusOf(p.Code)
	if other, ok := errors.AsType[statusError](err); ok {
		p.Status = other.status
	}
	switch p.Code { // what failed inside is for the log
	case fault.Internal:
		p.Detail, p.Hint = "the server failed to answer; its log says why", ""
	case fault.StoreUnavailable:
		p.Detail, p.Hint = "the store does not answer; the log of the server says why", "send the request again in some seconds"
	}
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		p.retry = retryAfter
	}
	if over, ok := errors.AsType[*store.OverQuota](err); ok {
		p.retry = over.Retry
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// statusOf is the HTTP status of a code.
func statusOf(code fault.Code) int {
	switch code {
	case fault.DeniedToken:
		return http.StatusUnauthorized
	case fault.DeniedScope:
		return http.StatusForbidden
	case fault.UsageRun, fault.UsageProfile, fault.ToolUnknown:
		return http.StatusNotFound
	case fault.UsageConflict:
		return http.StatusConflict
	case fault.LimitArtifact:
		return http.StatusRequestEntityTooLarge
	case fault.LimitBusy, fault.LimitQuota:
		return http.StatusTooManyRequests
	case fault.StoreUnavailable, fault.AuditUnavailable, fault.UpstreamUnavailable:
		return http.StatusServiceUnavailable
	}
	switch code.Class() {
	case fault.ClassUsage:
		return http.StatusBadRequest
	case fault.ClassDenied:
		return http.StatusForbidden
	case fault.ClassCancelled:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// retryAfter is how long a client waits before it sends a request again, unless the
// error says more.
const retryAfter = 5 * time.Second

func writeProblem(w http.ResponseWriter, err error) {
	writeProblemOf(w, problemOf(err))
}

func writeProblemOf(w http.ResponseWriter, p Problem) {
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="wexec"`)
	}
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retry.Seconds()))))
	}
	data, _ := json.Marshal(p) // strings and a number always have a JSON form
	answer(w, "application/problem+json", p.Status, data)
}

// admit returns who makes a request, and gives its connection a place.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (service.Principal, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return service.Principal{}, fault.New(fault.DeniedToken, "the request has no bearer token").WithHint("set the header Authorization: Bearer TOKEN")
	}
	kind, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(kind, "bearer") {
		return service.Principal{}, fault.New(fault.DeniedToken, "the request has no bearer token").WithHint("set the header Authorization: Bearer TOKEN")
	}
	return s.admitToken(w, r, strings.TrimSpace(token))
}

// admitToken returns who has the token of a request, and gives its connection a place.
func (s *Server) admitToken(w http.ResponseWriter, r *http.Request, token string) (service.Principal, error) {
	who, err := s.service.Authenticate(r.Context(), token)
	if err != nil {
		return who, err
	}
	if c := door.Of(r); c != nil && !c.Admit() {
		return who, fault.New(fault.LimitBusy, "too many connections are open")
	}
	w.Header().Del("Connection")
	accessOf(r.Context()).by(who.ID)
	return who, nil
}
