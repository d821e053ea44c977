package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/datafolder"
	"github.com/wexec/wexec/cmd/wexec/internal/sessioncmd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

func (a *app) sessionCommand() *cli.Command {
	return sessioncmd.Commands{Env: a.Env, Term: a.term, Stdout: a.Stdout, Version: a.Version, PrintJSON: a.printJSON, Settings: a.settings}.Session()
}

// openSession makes a request one of a session in the data folder.
func (a *app) openSession(name string, req *engine.Request) (engine.Images, error) {
	id, err := datafolder.SessionID(name)
	if err != nil {
		return nil, err
	}
	folder, err := sessioncmd.Folder(a.Env)
	if err != nil {
		return nil, err
	}
	req.Session, req.Tenant = id.Name, id.Tenant
	return folder.Sessions(), nil
}

// sleeping puts the session of a request to sleep after each run.
func (a *app) sleeping(run runner, host *config.Host) runner {
	return func(ctx context.Context, req engine.Request) (*engine.Result, error) {
		res, err := run(ctx, req)
		if fault.CodeOf(err) == fault.UsageSession { // it is not awake
			return res, err
		}
		switch slept := host.Engine.Sleep(context.WithoutCancel(ctx), engine.SessionID{Tenant: req.Tenant, Actor: req.Actor.ID, Name: req.Session}); {
		case slept == nil:
		case err != nil && fault.CodeOf(slept) == fault.UsageSession: // it ended with the run
			a.term.Note("%s: %s", slept, fault.HintOf(slept))
		case err == nil:
			code := fault.CodeOf(slept)
			res.Status, res.Error = engine.StatusError, &engine.Error{Code: code, Class: code.Class(), Message: slept.Error(), Hint: fault.HintOf(slept)}
			return res, res.Error
		default:
			a.term.Error(slept)
		}
		return res, err
	}
}
