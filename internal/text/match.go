package text

import (
	"bytes"
	"context"
	"io"
	"regexp"
)

// maxPiece is how many bytes of a text are searched between two checks of a context.
const maxPiece = 4 << 10

// Match reports whether a pattern matches a text, until the context ends.
func Match(ctx context.Context, pattern *regexp.Regexp, s []byte) (bool, error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if len(s) <= maxPiece {
		return pattern.Match(s), nil
	}
	found := pattern.MatchReader(&runes{ctx: ctx, text: bytes.NewReader(s)})
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return found, nil
}

// runes reads a text until a context ends.
type runes struct {
	ctx  context.Context
	text *bytes.Reader
	read int
}

// ReadRune implements [io.RuneReader].
func (r *runes) ReadRune() (rune, int, error) {
	if r.read++; r.read%(maxPiece/4) == 0 && r.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return r.text.ReadRune()
}
