package service

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// CancelKept ends a run of a tenant in a store. The process that executes it learns of
// it when it renews its lease. A run that no process executes any more ends at once. It
// reports whether the run had not ended yet.
func CancelKept(ctx context.Context, in *store.Store, tenant, id string) (bool, error) {
	if _, err := in.Run(ctx, tenant, id); err != nil {
		return false, err
	}
	ok, err := in.Cancel(ctx, tenant, id)
	if err != nil || !ok {
		return false, err
	}
	lease, lost, err := in.ClaimLost(ctx, tenant, id, rand.Text())
	if err != nil || !lost {
		return true, err
	}
	stopped := fault.New(fault.Cancelled, "the process that ran the program stopped")
	outcome, err := outcomeOf(&engine.Result{RunID: id, Status: engine.StatusError, Cache: "off", Error: errorOf(stopped)}, stopped)
	return true, errors.Join(err, in.End(ctx, lease, outcome))
}
