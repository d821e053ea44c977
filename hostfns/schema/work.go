package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wexec/wexec/internal/jsonschema"
	"github.com/wexec/wexec/internal/text"
)

// Fault is a value that does not match the schema.
type Fault struct {
	Path    string // "args.labels[2]"
	Problem string // "expected a string, got a number"
	values  []any  // the values that the schema lists
	names   []string
	depth   int
	types   jsonschema.Types // expected; set if only the type is wrong
}

// Error returns the path, the problem and what is allowed.
func (f *Fault) Error() string {
	msg := f.Path + ": " + f.Problem
	if allowed := f.Allowed(); len(allowed) > 0 {
		msg += "; allowed: " + strings.Join(allowed, ", ")
	}
	return msg
}

// Allowed returns the values or names that the schema lists, as JSON, a few and
// short.
func (f *Fault) Allowed() []string {
	var out []string
	n := len(f.values) + len(f.names)
	for i := range min(n, 20) {
		var v any
		if i < len(f.values) {
			v = f.values[i]
		} else {
			v = f.names[i-len(f.values)]
		}
		if b, err := json.Marshal(v); err == nil {
			out = append(out, clip(string(b)))
		}
	}
	if n > 20 {
		out = append(out, fmt.Sprintf("and %d more", n-20))
	}
	return out
}

// ErrTooMuch is returned for a check that takes too much work. It found no fault
// so far.
var ErrTooMuch = errors.New("the check of the schema takes too much work")

// Work bounds the work of a check. A unit is about a byte of a value that is
// read; a schema that is applied to a value is a few. The units of the same check are the
// same everywhere.
type Work struct {
	// Size is the length of the value as JSON. Large values may take more work.
	Size int
	// Spender receives the units as they are done. Nil: they are not counted.
	Spender Spender
}

// A Spender receives units of work, some thousands at a time. Its error ends the
// work.
type Spender interface{ Spend(units int) error }

const (
	maxWork  = 4 << 20  // units of a check
	maxFor   = 16       // additional units for each byte of the value
	visit    = 4        // units of a schema applied to a value
	interval = 16 << 10 // units between two calls of the Spender
)

type check struct {
	path    []byte
	later   []string
	hiding  bool // secrets, and masked is the value as a fault may show it
	masked  any
	hidden  bool // the name of a step into the value is secret; path ends before it
	depth   int  // steps into the value
	work    Work
	done    int   // units
	counted int   // units that the Spender has received
	err     error // why the check ended
}

// spend counts units before they are done. It returns false if the check has to
// end: then every result is of no use.
func (c *check) spend(units int) bool {
	if c.done += units; c.done-c.counted >= interval && c.err == nil {
		c.flush()
	}
	return c.err == nil
}

// look ends the check if it has to end, without counting anything.
func (c *check) look() {
	if c.work.Spender != nil && c.err == nil {
		c.err = c.work.Spender.Spend(0)
	}
}

// flush passes on what was counted.
func (c *check) flush() {
	if most := maxWork + maxFor*c.work.Size; c.done > most {
		c.done, c.err = most, ErrTooMuch
	}
	units := c.done - c.counted
	c.counted = c.done
	if c.work.Spender != nil && units > 0 {
		if err := c.work.Spender.Spend(units); err != nil {
			c.err = err
		}
	}
}

func (c *check) fault(format string, args ...any) *Fault {
	c.spend(visit + len(c.path))
	path := string(c.path)
	if c.hidden {
		path = "a member of " + path
	}
	return &Fault{Path: path, Problem: fmt.Sprintf(format, args...), depth: c.depth}
}

// quote quotes the name of a property of the current value, unless it is secret.
func (c *check) quote(name string) string {
	if c.hiding {
		members, _ := c.masked.(map[string]any)
		if _, ok := members[name]; !ok {
			return "<hidden>"
		}
	}
	return strconv.Quote(clip(name))
}

// shows reports whether a fault may quote a string of the value.
func (c *check) shows(v string) bool { return !c.hiding || c.masked == any(v) }

// clip shortens text that a server chose.
func clip(s string) string { return text.ClipRunes(s, 80) }
