package approvals

import (
	"context"
	"errors"

	"github.com/wexec/wexec/hostfns"
)

// First asks all of its askers at once and returns the first reply. Askers that have
// nobody to ask are ignored.
type First []hostfns.Asker

// Ask implements hostfns.Asker.
func (f First) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		reply hostfns.Reply
		err   error
	}
	answers := make(chan answer, len(f))
	for _, asker := range f {
		go func() {
			reply, err := asker.Ask(ctx, q)
			answers <- answer{reply, err}
		}()
	}
	err := hostfns.ErrNobody
	for range f {
		a := <-answers
		if a.err == nil {
			return a.reply, nil
		}
		if !errors.Is(a.err, hostfns.ErrNobody) {
			err = a.err
		}
	}
	return hostfns.Reply{}, err
}
