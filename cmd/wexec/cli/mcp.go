package cli

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/otlp"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

func (a *app) mcpCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "http", Usage: "`ADDR`: serve many clients over HTTP at this address (127.0.0.1:7350), not one over stdio"},
		&cli.StringFlag{Name: "token-file", Usage: "`FILE`: the bearer token of HTTP clients (default WEXEC_HTTP_TOKEN, or a random token that is printed)", TakesFile: true},
		&cli.StringSliceFlag{Name: "allow-host", Usage: "`NAME`: a host name under which HTTP clients reach this server; repeatable"},
		&cli.StringSliceFlag{Name: "allow-origin", Usage: "`ORIGIN`: a web site whose pages may call, such as https://app.example.com; repeatable"},
		&cli.StringFlag{Name: "oauth-issuer", Usage: "`URL`: accept access tokens of this authorization server"},
		&cli.StringFlag{Name: "oauth-resource", Usage: "`URL`: the URL of this server in access tokens (default the address it listens at)"},
		&cli.StringSliceFlag{Name: "oauth-scope", Usage: "`SCOPE`: a scope that access tokens must have; repeatable"},
		&cli.IntFlag{Name: "max-clients", Usage: "`N`: serve at most N HTTP clients at once", Value: 64},
		&cli.IntFlag{Name: "max-pending", Usage: "`N`: keep at most N connections of one address that have sent no request; -1 behind a proxy, which has one address", Value: 32},
		&cli.StringFlag{Name: "profile", Usage: "`NAME`: serve the tools of this profile of wexec.yaml only; over HTTP, /mcp/p/NAME has those of each profile"},
		&cli.StringFlag{Name: "project", Category: configurationFlags, Usage: "`DIR`: run as if started in this folder, with its wexec.yaml and policy.yaml", TakesFile: true},
	}
	return &cli.Command{
		Name:        "mcp",
		Usage:       "serve programs to agents as an MCP server, over stdio or HTTP",
		Flags:       slices.Concat(flags, settingFlags(), limitFlags()),
		Subcommands: []*cli.Command{a.installCommand(), a.importCommand(), a.loginCommand()},
		Action:      a.serve,
	}
}

func (a *app) serve(ctx *cli.Context) error {
	if ctx.Args().Len() > 0 {
		return commandline.Unknown(ctx.Args().First(), "mcp ", ctx.Command.Subcommands)
	}
	if dir := ctx.String("project"); dir != "" {
		dir = a.path(dir)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fault.New(fault.UsageFile, "open the project: %s is not a folder", dir)
		}
		env := *a.Env
		env.Dir = dir
		a.Env = &env
	}
	settings, err := a.settings(ctx)
	if err != nil {
		return err
	}
	stamp := settings.Stamp(a.Env)
	logger := terminal.Logger(a.term, settings.Log)
	tracing, stop := otlp.Start(a.Env, a.Version, logger)
	defer stop()
	host, err := settings.Open(ctx.Context, config.Options{Env: a.Env, Version: a.Version, Logger: logger, Tracing: tracing})
	if err != nil {
		return err
	}
	defer func() { _ = host.Close() }()
	servers := &profileServers{host: host, made: map[string]*mcpd.Server{}, options: mcpd.Options{
		Engine: host.Engine, Limits: settings.Limits, Env: a.Env.Map(), Dir: a.Env.Dir,
		Asker: host.Approvals, Logger: logger, Version: a.Version, Notice: settings.Untrusted,
	}}
	server, err := servers.get(ctx.String("profile"))
	if err != nil {
		return err
	}
	defer a.reload(ctx, settings, stamp, host, servers, logger)()
	if ctx.IsSet("http") {
		return a.serveHTTP(ctx, server, func(name string) (*mcpd.Server, error) {
			if only := ctx.String("profile"); only != "" && name != only {
				return nil, fault.New(fault.UsageProfile, "this server has the profile %s only", only)
			}
			return servers.get(name)
		})
	}
	if a.canAsk() {
		a.term.Note("this MCP server reads JSON-RPC from standard input and is started by a client (press Ctrl-C to stop)")
	}
	return server.Stdio(ctx.Context, a.Stdin, a.Stdout)
}

// profileServers are the servers of the profiles that clients use; "" is that of all
// tools.
type profileServers struct {
	host *config.Host

	mu      sync.Mutex
	options mcpd.Options // of each, apart from its table
	made    map[string]*mcpd.Server
}

// get returns the server of a profile.
func (p *profileServers) get(name string) (*mcpd.Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	table, err := p.host.Narrowed(config.Subset{Profile: name})
	if err != nil {
		return nil, err
	}
	if p.made[name] == nil {
		o := p.options
		o.Table = table
		p.made[name] = mcpd.New(o)
	}
	return p.made[name], nil
}

// update makes new runs of all servers use the host's present tables. The server of a
// profile that is gone keeps its last one, without clients over HTTP.
func (p *profileServers) update(limits policy.Limits, notice string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.options.Limits, p.options.Notice = limits, notice
	for name, server := range p.made {
		if table, err := p.host.Narrowed(config.Subset{Profile: name}); err == nil {
			server.Update(mcpd.State{Table: table, Limits: limits, Notice: notice})
		}
	}
}

// reloadInterval is how often the files of the configuration are checked.
const reloadInterval = time.Second

// reload makes a server use the configuration as it is after a file has changed
// or SIGHUP has come, until stop is called. While the files cannot be used, the
// last configuration stays and agents are told why. stamp is that of settings.
func (a *app) reload(ctx *cli.Context, settings *config.Settings, stamp string, host *config.Host, servers *profileServers, logger *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ticks := time.NewTicker(reloadInterval)
	ending, done := make(chan struct{}), make(chan struct{})
	update := func() {
		before := settings.Stamp(a.Env)
		next, err := a.settings(ctx)
		if err == nil {
			err = host.Reload(next)
		}
		stamp = before
		var notice string
		if err != nil {
			logger.Error("the changed configuration is not used", "error", err)
			notice = "the changed configuration is not used, the last one still applies: " + err.Error()
		} else {
			if settings.Stamp(a.Env) == before { // else a file changed meanwhile
				stamp = next.Stamp(a.Env)
			}
			logger.Info("the configuration is reloaded")
			settings, notice = next, next.Untrusted
		}
		servers.update(settings.Limits, notice)
	}
	go func() {
		defer close(done)
		for {
			select {
			case <-ending:
				return
			case <-hangups:
				update()
			case <-ticks.C:
				if settings.Stamp(a.Env) != stamp {
					update()
				}
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		ticks.Stop()
		close(ending)
		<-done
	}
}

func (a *app) serveHTTP(ctx *cli.Context, server *mcpd.Server, profiles func(name string) (*mcpd.Server, error)) error {
	issuer := ctx.String("oauth-issuer")
	if issuer == "" && (ctx.IsSet("oauth-resource") || ctx.IsSet("oauth-scope")) {
		return fault.New(fault.UsageFlag, "--oauth-resource and --oauth-scope need an issuer").WithHint("set --oauth-issuer URL")
	}
	token, err := a.httpToken(ctx.String("token-file"))
	if err != nil {
		return err
	}
	random := token == "" && issuer == "" && !ctx.IsSet("token-file")
	if random {
		token = rand.Text()
	}
	l, err := listen(ctx.Context, ctx.String("http"))
	if err != nil {
		return err
	}
	a.term.Print("MCP over HTTP at http://%s%s", l.Addr(), mcpd.Path)
	if random {
		a.term.Print("every request needs the header  Authorization: Bearer %s", token)
	}
	hosts := ctx.StringSlice("allow-host")
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		a.term.Warn("other machines can reach this address, and HTTP does not encrypt the token: put a TLS proxy in front of it")
		if tcp.IP.IsUnspecified() && len(hosts) == 0 {
			a.term.Hint("set the host name that clients use: --allow-host NAME")
		}
	}
	o := mcpd.HTTPOptions{Token: token, Profile: profiles, Hosts: hosts, Origins: ctx.StringSlice("allow-origin"), Sessions: ctx.Int("max-clients"), Pending: ctx.Int("max-pending")}
	if issuer != "" {
		o.OAuth = &mcpd.OAuth{Issuer: issuer, Resource: ctx.String("oauth-resource"), Scopes: ctx.StringSlice("oauth-scope")}
		if o.OAuth.Resource == "" {
			o.OAuth.Resource = "http://" + l.Addr().String() + mcpd.Path
		}
		a.term.Print("every request needs an access token of %s for %s", issuer, o.OAuth.Resource)
	}
	return server.HTTP(ctx.Context, l, o)
}

// listen opens an address. Without a host, only this machine can reach it.
func listen(ctx context.Context, address string) (net.Listener, error) {
	if _, err := strconv.ParseUint(address, 10, 16); err == nil {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fault.New(fault.UsageFlag, "--http: invalid address %q", address).WithHint("use HOST:PORT, or PORT for this machine only")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fault.New(fault.UsageFlag, "listen at %s: %w", address, err)
	}
	return l, nil
}

// httpToken is the bearer token in a file or in the environment, or "".
func (a *app) httpToken(file string) (string, error) {
	if file == "" {
		token, _ := a.Env.Lookup("WEXEC_HTTP_TOKEN")
		return token, nil
	}
	path := a.path(file)
	data, err := readFile(path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		a.term.Warn("other users can read %s: run chmod 600 %s", file, file)
	}
	return strings.TrimSpace(string(data)), nil
}

func (a *app) promptCommand() *cli.Command {
	families := strings.Join(mcpd.Families(), ", ")
	return &cli.Command{
		Name: "prompt", Usage: "print a system prompt that teaches a model to write programs",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "`FAMILY`: " + families, Value: "claude"},
			&cli.IntFlag{Name: "budget", Usage: "`N`: use at most N tokens", Value: 600}}, settingFlags()...),
		Action: func(ctx *cli.Context) error {
			settings, err := a.settings(ctx)
			if err != nil {
				return err
			}
			var servers []string
			for _, s := range settings.Servers {
				servers = append(servers, s.Name)
			}
			text, ok := mcpd.Prompt(ctx.String("model"), servers, ctx.Int("budget"))
			if !ok {
				return commandline.Suggest(fault.New(fault.UsageFlag, "--model: unknown family %q", ctx.String("model")), ctx.String("model"), mcpd.Families())
			}
			if text == "" {
				return fault.New(fault.UsageFlag, "--budget %d is too small for the prompt", ctx.Int("budget")).WithHint("200 tokens fit it without examples, 600 with all of them")
			}
			a.printf("%s\n", text)
			return nil
		},
	}
}
