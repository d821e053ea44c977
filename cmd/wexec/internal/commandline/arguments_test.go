package commandline

import (
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

func testApp() *cli.App {
	return &cli.App{Name: "wexec", Commands: []*cli.Command{
		{Name: "run", Usage: "run a program", Flags: []cli.Flag{&cli.BoolFlag{Name: "json"}}},
		{Name: "version", Usage: "print the version"},
		{Name: "tools", Usage: "list tools", Subcommands: []*cli.Command{
			{Name: "list", Usage: "list tools", ArgsUsage: "[SERVER]", Flags: []cli.Flag{
				&cli.BoolFlag{Name: "json", Usage: "print JSON"},
				&cli.IntFlag{Name: "limit", Usage: "`N`: print at most N tools", Value: 10},
				&cli.StringFlag{Name: "lang", Usage: "the language"}}},
			{Name: "secret", Hidden: true},
		}},
	}}
}

func TestFlagsMoveBeforeArguments(t *testing.T) {
	for args, want := range map[string]string{
		"tools list github --json":           "tools list --json github",
		"tools list github --limit 3 more":   "tools list --limit 3 github more",
		"tools list --limit=3 github --lang": "tools list --limit=3 --lang github",
		"tools list a -- --json":             "tools list a -- --json",
		"tools list a --help --json":         "tools list --help",
		"tools lst --help":                   "tools lst",
		"tool --json --help":                 "tool",
		"run main.js --json -h":              "run main.js --json -h",
		"run --help main.js":                 "run --help",
		"--version":                          "version",
		"help run":                           "help run",
		"tools list -":                       "tools list -",
	} {
		got := Arrange(testApp(), append([]string{"wexec"}, strings.Fields(args)...), "run")
		if strings.Join(got[1:], " ") != want {
			t.Errorf("%s: got %q, want %q", args, got[1:], want)
		}
	}
}

func TestCompletionKnowsCommandsFlagsAndValues(t *testing.T) {
	values := func(flag string) []string { return []string{flag + "-value"} }
	arguments := func(command string) []string { return []string{"argument of " + command} }
	for line, want := range map[string]string{
		"":                   "run version tools",
		"to":                 "tools",
		"tools ":             "list",
		"tools list --l":     "--limit --lang",
		"tools list --lang ": "lang-value",
		"tools list ar":      "argument of tools list",
	} {
		words := strings.Split(line, " ")
		var got []string
		for _, word := range Complete(testApp().Commands, words, values, arguments) {
			if !strings.HasPrefix(word, "argument of") || words[len(words)-1] != "" {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestHelpHasNamesValuesAndDefaults(t *testing.T) {
	help := Help(testApp().Commands[2].Subcommands[0], "wexec tools ")
	for _, want := range []string{"wexec tools list: list tools\n", "\n  wexec tools list [flags] [SERVER]\n", "  --json        print JSON\n",
		"  --limit N     print at most N tools (default 10)\n", "  --lang VALUE  the language\n"} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in\n%s", want, help)
		}
	}
	if strings.Contains(Markdown(testApp()), "secret") {
		t.Error("a hidden command is documented")
	}
}
