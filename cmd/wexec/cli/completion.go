package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
)

func (d *door) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print the completion script of a shell", ArgsUsage: "bash|zsh|fish|powershell",
		Action: func(ctx *cli.Context) error {
			if ctx.Args().Len() == 0 {
				return fault.New(fault.UsageFlag, "name the shell: bash, zsh, fish or powershell").WithHint("for bash: source <(wexec completion bash)")
			}
			script, ok := completionScripts[ctx.Args().First()]
			if !ok {
				return fault.New(fault.UsageFlag, "there is no completion for %q", ctx.Args().First()).
					WithHint("one of bash, zsh, fish, powershell; for bash: source <(wexec completion bash)")
			}
			_, err := fmt.Fprint(d.inv.Stdout, script)
			return err
		},
	}
}

// completeCommand is what the scripts call: it prints what may follow.
func (d *door) completeCommand() *cli.Command {
	return &cli.Command{
		Name: "complete", Hidden: true, SkipFlagParsing: true,
		Action: func(ctx *cli.Context) error {
			for _, c := range d.completions(ctx.App.Commands, ctx.Args().Slice()) {
				fmt.Fprintln(d.inv.Stdout, c)
			}
			return nil
		},
	}
}

// completions lists what may stand in place of the last word. The names of
// tools and servers come from what was learned before; nothing is started.
func (d *door) completions(commands []*cli.Command, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	var flags []cli.Flag
	command := ""
	for _, w := range words[:len(words)-1] {
		for _, c := range commands {
			if c.HasName(w) {
				commands, flags, command = c.Subcommands, c.Flags, c.Name
				break
			}
		}
	}
	var all []string
	if before := words[max(0, len(words)-2)]; len(words) > 1 && takesValue(flags, before) {
		all = d.valuesOf(strings.TrimLeft(before, "-"))
	} else if strings.HasPrefix(last, "-") {
		for _, f := range flags {
			for _, n := range f.Names() {
				all = append(all, dashed(n))
			}
		}
	} else {
		for _, c := range commands {
			if !c.Hidden {
				all = append(all, c.Name)
			}
		}
		switch {
		case words[0] == "tools" && slices.Contains([]string{"show", "list", "pin"}, command), words[0] == "policy" && command == "explain":
			all = append(all, config.KnownTools(d.inv.Env)...)
		case command == "completion":
			all = append(all, slices.Sorted(maps.Keys(completionScripts))...)
		}
	}
	var out []string
	for _, w := range all {
		if strings.HasPrefix(w, last) {
			out = append(out, w)
		}
	}
	return out
}

// valuesOf lists what may stand behind a flag; nothing where that is anything,
// or a file, which shells know better.
func (d *door) valuesOf(flag string) []string {
	switch flag {
	case "allow-tool", "deny-tool", "tool":
		return config.KnownTools(d.inv.Env)
	case "l", "language":
		return []string{"js", "ts", "py"}
	case "lang":
		return []string{"ts", "py"}
	case "client":
		return []string{"claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini"}
	case "detail":
		return []string{"name", "summary", "full"}
	case "level":
		return []string{"strict", "balanced", "relaxed"}
	case "trigger":
		return []string{"cli", "mcp", "api", "schedule"}
	case "type":
		return []string{"start", "decision", "call", "privacy", "end"}
	case "effect":
		return []string{"allow", "ask", "deny"}
	case "model":
		return mcpd.Families()
	case "kind", "fail-on":
		var out []string
		for _, k := range privacy.Kinds() {
			out = append(out, string(k.Kind))
		}
		return out
	}
	return nil
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

var completionScripts = map[string]string{
	"bash": `_wexec() {
  local IFS=$'\n'
  COMPREPLY=($(wexec complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _wexec wexec
`,
	"zsh": `#compdef wexec
_wexec() {
  local -a found
  found=(${(f)"$(wexec complete "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)"})
  if (( ${#found} )); then compadd -a found; else _files; fi
}
compdef _wexec wexec
`,
	"fish": `function __wexec_complete
  set -l words (commandline -opc) (commandline -ct)
  wexec complete $words[2..-1] 2>/dev/null
end
complete -c wexec -a '(__wexec_complete)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName wexec -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '' }
  wexec complete @words 2>$null | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`,
}
