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
	values := func(_, flag string) []string { return []string{flag + "-value"} }
	arguments := func(command string, flags []string) []Candidate {
		return []Candidate{{Word: strings.Join(append([]string{"argument of " + command}, flags...), " ")}}
	}
	for line, want := range map[string]string{
		"":                   "run version tools",
		"to":                 "tools",
		"tools ":             "list",
		"tools list --l":     "--limit --lang",
		"tools list --lang ": "lang-value",
		"tools list ar":      "argument of tools list",

		"tools list x --lang a --limit=3 --json ar": "argument of tools list --lang a --limit=3 --json",

		"tools list --lang=":     "--lang=lang-value",
		"tools list --lang=x":    "",
		"tools list --lang =":    "lang-value",
		"tools list --lang = la": "lang-value",
	} {
		words := strings.Split(line, " ")
		var got []string
		for _, c := range Complete(testApp().Commands, words, values, arguments) {
			word := c.Word
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

func TestCompletionDescribesCommandsAndFlags(t *testing.T) {
	none := func(string, []string) []Candidate { return nil }
	noValues := func(string, string) []string { return nil }
	for line, want := range map[string]Candidate{"tools ": {"list", "list tools"}, "tools list --lim": {"--limit", "print at most N tools (default 10)"}} {
		got := Complete(testApp().Commands, strings.Split(line, " "), noValues, none)
		if len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestPresentWrapsAndPaints(t *testing.T) {
	const text = "wexec x: do it\n\n  wexec x [flags]\n\nOne sentence that was\nbroken before.\n\nFlags:\n  --limit N  print at most that many lines\n  --json     print JSON\n"
	if got := Present(text, 0, nil); got != text {
		t.Errorf("without a terminal: %q", got)
	}
	mark := func(s string) string { return "<" + s + ">" }
	want := "wexec x: do it\n\n  wexec x [flags]\n\nOne sentence that was broken\nbefore.\n\n<Flags:>\n" +
		"  <--limit N>  print at most\n             that many lines\n  <--json>     print JSON\n"
	if got := Present(text, 30, mark); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestVoidFlagsSayWhy(t *testing.T) {
	void := []Void{{Flags: []string{"limit"}, With: "json", Why: "JSON has everything"}, {Flags: []string{"lang"}, Without: "limit", Why: "no limit is set"}}
	for args, want := range map[string]string{
		"":                   "",
		"--limit 3":          "",
		"--json --limit 3":   "--limit has no effect with --json: JSON has everything",
		"--json":             "",
		"--lang x":           "--lang has no effect without --limit: no limit is set",
		"--lang x --limit 1": "",
	} {
		app, got := testApp(), ""
		list := app.Commands[2].Subcommands[0]
		list.Action = func(ctx *cli.Context) error {
			got = strings.Join(VoidFlags(ctx, void), "|")
			return nil
		}
		if err := app.Run(append([]string{"wexec", "tools", "list"}, strings.Fields(args)...)); err != nil || got != want {
			t.Errorf("%q: %q, %v", args, got, err)
		}
	}
}
