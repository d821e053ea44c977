package terminal

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// Logger returns a logger that prints records as messages, from a level on: one
// of debug, info, warn and error. Any other name is warn.
func Logger(p *Printer, level string) *slog.Logger {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) != nil {
		l = slog.LevelWarn
	}
	return slog.New(&logHandler{p: p, level: l})
}

// logHandler prints a record as one line: "warning: what happened: the error
// (guest cpython)".
type logHandler struct {
	p     *Printer
	level slog.Level
	attrs []slog.Attr
	group string // prefix of attribute names
}

// Enabled implements slog.Handler.
func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler.
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	message, stack, details := Visible(r.Message), "", []string(nil)
	add := func(a slog.Attr) bool {
		value := Visible(a.Value.Resolve().String())
		switch {
		case a.Equal(slog.Attr{}) || value == "":
		case a.Key == "stack":
			stack = strings.TrimRight("\n"+a.Value.String(), "\n")
		case a.Key == "error":
			message += ": " + value
		default:
			details = append(details, a.Key+" "+value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(func(a slog.Attr) bool { return add(slog.Attr{Key: h.group + a.Key, Value: a.Value}) })
	if len(details) > 0 {
		message += " (" + strings.Join(details, ", ") + ")"
	}
	message += stack
	switch {
	case r.Level >= slog.LevelError:
		h.p.Print("%s %s", h.p.Paint("1;31", "error:"), message)
	case r.Level >= slog.LevelWarn:
		h.p.Warn("%s", message)
	case r.Level >= slog.LevelInfo:
		h.p.Note("%s", message)
	default:
		h.p.Print("%s %s", h.p.Paint(Dim, "debug:"), message)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		with.attrs = append(with.attrs, slog.Attr{Key: h.group + a.Key, Value: a.Value})
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *logHandler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.group += name + "."
	}
	return &with
}
