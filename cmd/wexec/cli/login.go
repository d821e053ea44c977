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

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/units"
)

func (d *door) loginCommand() *cli.Command {
	return &cli.Command{
		Name: "login", Usage: "log in at an HTTP server, log out, or see where you are logged in", ArgsUsage: "[SERVER]",
		Description: "Shows an address to open in a browser, and waits until the server sends the browser back to this machine.\n" +
			"The token is kept in a file that only you can read, by the address of the server, and is renewed by itself.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "status", Usage: "say where you are logged in"},
			&cli.BoolFlag{Name: "logout", Usage: "forget the login"},
			&cli.BoolFlag{Name: "no-browser", Usage: "open no browser, only show the address"},
			&cli.StringFlag{Name: "client-id", Usage: "`ID`: of a client that was registered by hand"},
			&cli.StringFlag{Name: "client-secret-file", Usage: "`FILE`: its secret", TakesFile: true},
			&cli.IntFlag{Name: "port", Usage: "`PORT`: of this machine, that the browser is sent back to (default any)"},
			&cli.StringFlag{Name: "wait", Usage: "`DURATION`: how long to wait for you", Value: "5m"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"}}, settingFlags()...),
		Action: d.login,
	}
}

func (d *door) login(ctx *cli.Context) error {
	settings, err := d.settings(ctx)
	if err != nil {
		return err
	}
	if ctx.Args().Len() > 1 {
		return fault.New(fault.UsageFlag, "one server at a time")
	}
	name := ctx.Args().First()
	if ctx.Bool("status") || (name == "" && !ctx.Bool("logout")) {
		return d.loginStatus(ctx, settings, name)
	}
	server, err := serverNamed(settings, name)
	if err != nil {
		return err
	}
	grants := d.inv.Env.Grants()
	if ctx.Bool("logout") {
		there, err := grants.Forget(server)
		if err != nil {
			return err
		}
		if !there {
			d.voice.note("there is no login at %s", server.Name)
			return nil
		}
		d.voice.note("logged out of %s: the token is forgotten here, and its server lets it end by itself", server.Name)
		return nil
	}
	o := upstream.LoginOptions{Client: ctx.String("client-id"), Port: ctx.Int("port"), Version: d.inv.Version}
	if file := ctx.String("client-secret-file"); file != "" {
		data, err := readBounded(d.path(file))
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
		d.voice.say("open this address and agree there:\n\n  %s\n", visibleText(address))
		if d.canAsk() && !ctx.Bool("no-browser") {
			openBrowser(address)
		}
		if d.canAsk() {
			d.voice.note("if the browser is on another machine, paste the address that it ends at here")
		}
	}
	if d.canAsk() {
		o.Paste = func(context.Context) (string, error) { return readAnswer(d.inv.Stdin) }
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
		return d.printJSON(row)
	}
	d.voice.note("logged in at %s, which offers %s", server.Name, counted(tools, "tool"))
	return nil
}

func serverNamed(s *config.Settings, name string) (upstream.Server, error) {
	if name == "" {
		return upstream.Server{}, fault.New(fault.UsageFlag, "name a server").WithHint("wexec mcp login --status lists them")
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
	err := fault.New(fault.UsageConfig, "there is no server %q", name)
	if near := catalogue.NearestOf(name, names); near != "" {
		return upstream.Server{}, err.WithHint("did you mean %s?", near)
	}
	if len(names) == 0 {
		return upstream.Server{}, err.WithHint("no server over HTTP is configured: name a file with --mcp")
	}
	return upstream.Server{}, err.WithHint("the servers over HTTP are: %s", strings.Join(names, ", "))
}

// loginRow is one HTTP server, as --status lists it.
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

func (d *door) loginStatus(ctx *cli.Context, settings *config.Settings, name string) error {
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
		row, err := loginRowOf(d.inv.Env.Grants(), s)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"logins": rows})
	}
	if len(rows) == 0 {
		d.voice.note("no server over HTTP is configured: name a file with --mcp")
		return nil
	}
	for _, r := range rows {
		detail := "wexec mcp login " + r.Server
		switch {
		case r.State == "in" && r.Renews:
			detail = "renewed by itself"
		case r.State == "in" && r.Expires != nil:
			detail = "until " + r.Expires.Local().Format("2006-01-02 15:04")
		case r.State == "in":
			detail = ""
		}
		fmt.Fprintln(d.inv.Stdout, strings.TrimRight(fmt.Sprintf("%-8s %-20s %-40s %s", r.State, r.Server, r.URL, detail), " "))
	}
	return nil
}

// openBrowser opens an address, which begins with http, where the machine has
// a browser. Where it has none nothing happens: the address is shown anyway.
func openBrowser(address string) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", address)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	default:
		cmd = exec.Command("xdg-open", address)
	}
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
