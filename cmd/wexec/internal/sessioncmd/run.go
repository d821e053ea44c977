package sessioncmd

import (
	"context"

	"github.com/wexec/wexec/cmd/wexec/internal/datafolder"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

// Use makes a request one of a session in the data folder.
func Use(env *config.Environment, name string, req *engine.Request) (engine.Images, error) {
	id, err := datafolder.SessionID(name)
	if err != nil {
		return nil, err
	}
	folder, err := Folder(env)
	if err != nil {
		return nil, err
	}
	req.Session, req.Tenant = id.Name, id.Tenant
	return folder.Sessions(), nil
}

// Runner runs a request.
type Runner = func(context.Context, engine.Request) (*engine.Result, error)

// Sleeping returns a runner that puts the session of a request to sleep after the run.
func Sleeping(run Runner, host *config.Host, term *terminal.Printer) Runner {
	return func(ctx context.Context, req engine.Request) (*engine.Result, error) {
		res, err := run(ctx, req)
		if fault.CodeOf(err) == fault.UsageSession { // it is not awake
			return res, err
		}
		slept := host.Engine.Sleep(context.WithoutCancel(ctx), engine.SessionID{Tenant: req.Tenant, Actor: req.Actor.ID, Name: req.Session})
		switch code := fault.CodeOf(slept); {
		case slept == nil:
		case err == nil:
			res.Status, res.Error = engine.StatusError, &engine.Error{Code: code, Class: code.Class(), Message: slept.Error(), Hint: fault.HintOf(slept)}
			return res, res.Error
		case code == fault.UsageSession: // it ended with the run
			term.Note("%s: %s", slept, fault.HintOf(slept))
		case slept.Error() != err.Error(): // it was awake
			term.Error(slept)
		}
		return res, err
	}
}
