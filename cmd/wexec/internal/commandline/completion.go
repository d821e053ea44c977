package commandline

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// Candidate is a word that can follow on a command line.
type Candidate struct{ Word, Doc string }

// Complete lists what can follow on a command line whose last word is
// incomplete. flagValues lists the values of a flag of a command, arguments those of
// a command, given as its names from the top and the flags that are set; either may
// return nil. A flag may have its value after "=", in one word or, as bash has it, in
// three.
func Complete(commands []*cli.Command, words []string, flagValues func(command, flag string) []string, arguments func(command string, flags []string) []Candidate) []Candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	last, inWord := words[len(words)-1], ""
	switch n := len(words); {
	case n > 2 && words[n-2] == "=":
		words = append(words[:n-2:n-2], last)
	case n > 1 && last == "=":
		last, words = "", append(words[:n-1:n-1], "")
	case strings.HasPrefix(last, "-") && strings.Contains(last, "="):
		flag, _, _ := strings.Cut(last, "=")
		inWord, words = flag+"=", append(words[:n-1:n-1], flag, last)
	}
	var flags []cli.Flag
	var path []string
	for _, word := range words[:len(words)-1] {
		if c := lookup(commands, word); c != nil {
			commands, flags, path = c.Subcommands, c.Flags, append(path, c.Name)
		}
	}
	var all []Candidate
	switch before := words[max(0, len(words)-2)]; {
	case len(words) > 1 && strings.HasPrefix(before, "-") && takesValue(flags, before):
		for _, word := range flagValues(strings.Join(path, " "), strings.TrimLeft(before, "-")) {
			all = append(all, Candidate{Word: inWord + word})
		}
	case strings.HasPrefix(last, "-"):
		for _, f := range flags {
			doc := ""
			if d, ok := f.(cli.DocGenerationFlag); ok {
				doc = describe(f, d).usage
			}
			for _, name := range f.Names() {
				all = append(all, Candidate{Dashed(name), doc})
			}
		}
	default:
		for _, c := range commands {
			if !c.Hidden {
				all = append(all, Candidate{c.Name, c.Usage})
			}
		}
		all = append(all, arguments(strings.Join(path, " "), flagsIn(flags, words))...)
	}
	var out []Candidate
	for _, c := range all {
		if strings.HasPrefix(c.Word, last) {
			out = append(out, c)
		}
	}
	return out
}

// flagsIn returns the words that are flags or their values.
func flagsIn(flags []cli.Flag, words []string) (set []string) {
	for i := 0; i < len(words)-1; i++ {
		word := words[i]
		if !strings.HasPrefix(word, "-") {
			continue
		}
		set = append(set, word)
		if takesValue(flags, word) {
			i++
			set = append(set, words[i])
		}
	}
	return set
}

// Candidates are words without descriptions.
func Candidates(words []string) []Candidate {
	var all []Candidate
	for _, word := range words {
		all = append(all, Candidate{Word: word})
	}
	return all
}

// CompletionScripts are the scripts that shells load, by the shell's name. They
// call "wexec complete --described" with the words of the command line, which
// prints a word, a tab and its description on each line. Bash shows what it
// inserts, so it gets descriptions only where it lists several words.
func CompletionScripts() map[string]string {
	return map[string]string{
		"bash": `_wexec() {
  local IFS=$'\n' found
  found=($(wexec complete --described "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  if (( ${#found[@]} == 1 || COMP_TYPE == 37 || COMP_TYPE == 42 )); then
    COMPREPLY=("${found[@]%%$'\t'*}")
  else
    COMPREPLY=("${found[@]//$'\t'/  -- }")
  fi
}
complete -o default -F _wexec wexec
`,
		"zsh": `#compdef wexec
_wexec() {
  local -a found
  local line
  for line in "${(@f)$(wexec complete --described "${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}"; do
    [[ -n $line ]] || continue
    line=${line//:/\\:}
    found+=("${line/$'\t'/:}")
  done
  if (( ${#found} )); then _describe wexec found; else compset -P '-*='; _files; fi
}
compdef _wexec wexec
`,
		"fish": `function __wexec_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (wexec complete --described $words[2..-1] 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else
    set -l flag (string match -r -- '^-[^=]*=' $words[-1])
    __fish_complete_path (string replace -r -- '^-[^=]*=' '' $words[-1]) | string replace -r '^' -- "$flag"
  end
end
complete -c wexec -f -a '(__wexec_complete)'
`,
		"powershell": `Register-ArgumentCompleter -Native -CommandName wexec -ScriptBlock {
  param($word, $ast, $position)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '' }
  wexec complete --described @words 2>$null | ForEach-Object {
    $name, $doc = $_ -split [char]9, 2
    if (-not $doc) { $doc = $name }
    [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $doc)
  }
}
`,
	}
}
