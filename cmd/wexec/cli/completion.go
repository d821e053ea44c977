package cli

import (
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

func (a *app) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print the completion script of a shell", ArgsUsage: "bash|zsh|fish|powershell",
		Action: func(ctx *cli.Context) error {
			name := ctx.Args().First()
			script, ok := commandline.CompletionScripts()[name]
			switch {
			case ok:
				a.printf("%s", script)
				return nil
			case name == "":
				return fault.New(fault.UsageFlag, "name the shell: bash, zsh, fish or powershell").WithHint("for bash: source <(wexec completion bash)")
			}
			return fault.New(fault.UsageFlag, "unknown shell %q", name).WithHint("use one of bash, zsh, fish, powershell; for bash: source <(wexec completion bash)")
		},
	}
}

// completeCommand is called by the completion scripts with the words of a
// command line, and prints what can follow.
func (a *app) completeCommand() *cli.Command {
	return &cli.Command{
		Name: "complete", Hidden: true, SkipFlagParsing: true,
		Action: func(ctx *cli.Context) error {
			for _, word := range commandline.Complete(ctx.App.Commands, ctx.Args().Slice(), a.flagValues, a.argumentValues) {
				a.printf("%s\n", word)
			}
			return nil
		},
	}
}

// argumentValues lists known arguments of a command. Tools are those that were
// connected last; no server is started.
func (a *app) argumentValues(command string) []string {
	switch command {
	case "tools list", "tools show", "tools pin", "policy explain":
		return config.SavedToolNames(a.Env)
	case "completion":
		return slices.Sorted(maps.Keys(commandline.CompletionScripts()))
	}
	return nil
}

// flagValues lists the values of a flag. It returns nil for files, which shells
// complete.
func (a *app) flagValues(flag string) []string {
	switch flag {
	case "allow-tool", "deny-tool", "tool":
		return config.SavedToolNames(a.Env)
	case "l", "language":
		return []string{"js", "ts", "py"}
	case "lang":
		return []string{"ts", "py"}
	case "client":
		return clientNames
	case "detail":
		return []string{"name", "summary", "full"}
	case "level":
		return []string{"strict", "balanced", "relaxed"}
	case "trigger":
		return triggers
	case "type":
		return recordTypes
	case "effect":
		return effects
	case "model":
		return mcpd.Families()
	case "kind", "fail-on":
		return kindNames()
	}
	return nil
}
