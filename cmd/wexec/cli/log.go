package cli

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// logger says what the engine and the servers have to tell, from the configured
// level on, as the command says everything else.
func (d *door) logger(level string) *slog.Logger {
	return slog.New(&spokenLog{voice: d.voice, level: logLevel(level)})
}

func logLevel(name string) slog.Level {
	var l slog.Level
	if l.UnmarshalText([]byte(name)) != nil {
		return slog.LevelWarn
	}
	return l
}

// spokenLog writes records as lines for people: "warning: what happened (guest
// cpython)". An error that a record carries stands behind a colon.
type spokenLog struct {
	voice *voice
	level slog.Level
	attrs []slog.Attr
	group string
}

// Enabled reports whether a level is told at all.
func (l *spokenLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// Handle says one record.
func (l *spokenLog) Handle(_ context.Context, r slog.Record) error {
	text, stack, facts := visibleText(r.Message), "", []string(nil)
	add := func(a slog.Attr) bool {
		value := visibleText(a.Value.Resolve().String())
		switch {
		case a.Equal(slog.Attr{}) || value == "":
		case a.Key == "stack":
			stack = strings.TrimRight("\n"+a.Value.String(), "\n")
		case a.Key == "error":
			text += ": " + value
		default:
			facts = append(facts, a.Key+" "+value)
		}
		return true
	}
	for _, a := range l.attrs {
		add(a)
	}
	r.Attrs(func(a slog.Attr) bool { return add(slog.Attr{Key: l.group + a.Key, Value: a.Value}) })
	if len(facts) > 0 {
		text += " (" + strings.Join(facts, ", ") + ")"
	}
	text += stack
	switch {
	case r.Level >= slog.LevelError:
		l.voice.say("%s %s", l.voice.paint("1;31", "error:"), text)
	case r.Level >= slog.LevelWarn:
		l.voice.warn("%s", text)
	case r.Level >= slog.LevelInfo:
		l.voice.note("%s", text)
	default:
		l.voice.say("%s %s", l.voice.paint("2", "debug:"), text)
	}
	return nil
}

// WithAttrs is the handler with facts that every record has.
func (l *spokenLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *l
	more.attrs = slices.Clone(l.attrs)
	for _, a := range attrs {
		more.attrs = append(more.attrs, slog.Attr{Key: l.group + a.Key, Value: a.Value})
	}
	return &more
}

// WithGroup is the handler with a name before those of later facts.
func (l *spokenLog) WithGroup(name string) slog.Handler {
	more := *l
	if name != "" {
		more.group += name + "."
	}
	return &more
}
