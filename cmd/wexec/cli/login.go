package cli

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/units"
)

func (a *app) loginCommand() *cli.Command {
	return &cli.Command{
		Name: "login", Usage: "log in to an HTTP server, log out, or show logins", ArgsUsage: "[SERVER]",
		Description: "Prints a URL to open in a browser, and waits until the browser is redirected to this machine. The token is stored under\n" +
			"the server's URL in a file that only you can read, and is renewed automatically.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "status", Usage: "show where you are logged in"},
			&cli.BoolFlag{Name: "logout", Usage: "delete the login"},
			&cli.BoolFlag{Name: "no-browser", Usage: "print the URL and open no browser"},
			&cli.StringFlag{Name: "client-id", Usage: "`ID`: of a client that was registered by hand"},
			&cli.StringFlag{Name: "client-secret-file", Usage: "`FILE`: the secret of that client", TakesFile: true},
			&cli.IntFlag{Name: "port", Usage: "`PORT`: of this machine, for the redirect (default any)"},
			&cli.StringFlag{Name: "wait", Usage: "`DURATION`: how long to wait for the login", Value: "5m"},
			jsonFlag()}, settingFlags()...),
		Action: a.login,
	}
}

func (a *app) login(ctx *cli.Context) error {
	settings, err := a.settings(ctx)
	if err != nil {
		return err
	}
	if ctx.Args().Len() > 1 {
		return fault.New(fault.UsageFlag, "mcp login takes one server")
	}
	name := ctx.Args().First()
	if ctx.Bool("status") || (name == "" && !ctx.Bool("logout")) {
		return a.loginStatus(ctx, settings, name)
	}
	server, err := serverNamed(settings, name)
	if err != nil {
		return err
	}
	grants := a.Env.Grants()
	if ctx.Bool("logout") {
		found, err := grants.Forget(server)
		switch {
		case err != nil:
			return err
		case found:
			a.term.Note("logged out of %s: the token was deleted here, and stays valid at the server until it expires", server.Name)
		default:
			a.term.Note("you are not logged in to %s", server.Name)
		}
		return nil
	}
	o := upstream.LoginOptions{Client: ctx.String("client-id"), Port: ctx.Int("port"), Version: a.Version}
	if file := ctx.String("client-secret-file"); file != "" {
		data, err := readFile(a.path(file))
		if err != nil {
			return err
		}
		o.Secret = strings.TrimSpace(string(data))
	}
	wait, err := units.ParseDuration(ctx.String("wait"))
	if err != nil {
		return fault.New(fault.UsageFlag, "--wait: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx.Context, wait)
	defer cancel()
	o.Show = func(address string) {
		a.term.Print("open this URL and grant access:\n\n  %s\n", terminal.Visible(address))
		if a.canAsk() && !ctx.Bool("no-browser") {
			openBrowser(address)
		}
		if a.canAsk() {
			a.term.Note("if the browser is on another machine, paste the URL of its last page here")
		}
	}
	if a.canAsk() {
		o.Paste = func(context.Context) (string, error) { return terminal.ReadLine(a.Stdin) }
	}
	tools, err := grants.Login(waiting, server, o)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		row, err := loginRowOf(grants, server)
		if err != nil {
			return err
		}
		return a.printJSON(row)
	}
	a.term.Note("logged in to %s, which offers %s", server.Name, terminal.Count(tools, "tool"))
	return nil
}

// serverNamed returns a configured server.
func serverNamed(s *config.Settings, name string) (upstream.Server, error) {
	if name == "" {
		return upstream.Server{}, fault.New(fault.UsageFlag, "name a server").WithHint("list the servers with wexec mcp login --status")
	}
	at := slices.IndexFunc(s.Servers, func(o upstream.Server) bool { return o.Name == name })
	if at >= 0 {
		return s.Servers[at], nil
	}
	var names []string
	for _, o := range s.Servers {
		if o.URL != "" {
			names = append(names, o.Name)
		}
	}
	err := fault.New(fault.UsageConfig, "unknown server %q", name)
	if len(names) == 0 {
		return upstream.Server{}, err.WithHint(noHTTPServer)
	}
	return upstream.Server{}, commandline.Suggest(err, name, names)
}

const noHTTPServer = "no HTTP server is configured: set --mcp FILE"

// loginRow is the login at one HTTP server.
type loginRow struct {
	Server  string     `json:"server"`
	URL     string     `json:"url"`
	State   string     `json:"state"` // in, expired, out
	Renews  bool       `json:"renews,omitempty"`
	Expires *time.Time `json:"expires,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Scopes  []string   `json:"scopes,omitempty"`
}

func loginRowOf(grants *upstream.Grants, s upstream.Server) (loginRow, error) {
	l, err := grants.Status(s)
	row := loginRow{Server: s.Name, URL: s.URL, State: "out", Renews: l.Renews, Scopes: l.Scopes}
	if !l.Since.IsZero() {
		row.State, row.Since = "expired", &l.Since
	}
	if l.In {
		row.State = "in"
	}
	if !l.Expires.IsZero() {
		row.Expires = &l.Expires
	}
	return row, err
}

func (a *app) loginStatus(ctx *cli.Context, settings *config.Settings, name string) error {
	if name != "" {
		if _, err := serverNamed(settings, name); err != nil {
			return err
		}
	}
	rows := []loginRow{}
	for _, s := range settings.Servers {
		if s.URL == "" || (name != "" && s.Name != name) {
			continue
		}
		row, err := loginRowOf(a.Env.Grants(), s)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"logins": rows})
	}
	if len(rows) == 0 {
		a.term.Note(noHTTPServer)
	}
	for _, r := range rows {
		detail := "wexec mcp login " + r.Server
		switch {
		case r.State == "in" && r.Renews:
			detail = "renewed automatically"
		case r.State == "in" && r.Expires != nil:
			detail = "until " + r.Expires.Local().Format("2006-01-02 15:04")
		case r.State == "in":
			detail = ""
		}
		a.printf("%s\n", strings.TrimRight(fmt.Sprintf("%-8s %-20s %-40s %s", r.State, r.Server, r.URL, detail), " "))
	}
	return nil
}

// openBrowser opens an http URL in a browser if there is one. The caller prints
// the URL in any case.
func openBrowser(address string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(name, args...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
