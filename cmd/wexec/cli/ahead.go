package cli

import (
	"strings"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/guests"
)

// ahead begins to load the guest that a run is going to need, beside reading
// the command line and the configuration. What is given tells which; a wrong
// guess costs the time of loading it and nothing else.
func (d *door) ahead() (end func()) {
	if args := d.inv.Args; len(args) > 2 && args[1] == "run" && !asksHelp(args) {
		d.early = d.inv.Env.Ahead(likelyLanguage(args[2:]))
	}
	return func() {
		if d.early != nil {
			_ = d.early.Close()
		}
	}
}

// likelyLanguage is the language that -l says or else a file's name, or "".
func likelyLanguage(args []string) string {
	byFile := ""
	for i, a := range args {
		name, value, joined := strings.Cut(a, "=")
		switch name {
		case "--":
			return byFile
		case "-l", "--l", "-language", "--language":
			if !joined && i+1 < len(args) {
				value = args[i+1]
			}
			language, _ := engine.Language(value)
			return language
		}
		if language, ok := guests.LanguageOfFile(a); ok && byFile == "" {
			byFile = language
		}
	}
	return byFile
}
