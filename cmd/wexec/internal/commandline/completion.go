package commandline

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// Complete lists what can follow on a command line whose last word is
// incomplete. flagValues lists the values of a flag, arguments those of a
// command, given as its names from the top; either may return nil.
func Complete(commands []*cli.Command, words []string, flagValues, arguments func(name string) []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	var flags []cli.Flag
	var path []string
	for _, word := range words[:len(words)-1] {
		if c := lookup(commands, word); c != nil {
			commands, flags, path = c.Subcommands, c.Flags, append(path, c.Name)
		}
	}
	var all []string
	switch before := words[max(0, len(words)-2)]; {
	case len(words) > 1 && strings.HasPrefix(before, "-") && takesValue(flags, before):
		all = flagValues(strings.TrimLeft(before, "-"))
	case strings.HasPrefix(last, "-"):
		for _, f := range flags {
			for _, name := range f.Names() {
				all = append(all, Dashed(name))
			}
		}
	default:
		for _, c := range commands {
			if !c.Hidden {
				all = append(all, c.Name)
			}
		}
		all = append(all, arguments(strings.Join(path, " "))...)
	}
	var out []string
	for _, word := range all {
		if strings.HasPrefix(word, last) {
			out = append(out, word)
		}
	}
	return out
}

// CompletionScripts are the scripts that shells load, by the shell's name. They
// call "wexec complete" with the words of the command line.
func CompletionScripts() map[string]string {
	return map[string]string{
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
}
