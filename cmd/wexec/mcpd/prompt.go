package mcpd

import (
	"fmt"
	"strings"
)

// Example is one program in the texts for models.
type Example struct {
	Language string
	Code     string
}

// Examples are the programs in the texts for models. Tests run each.
func Examples() []Example {
	return []Example{
		{"javascript", `const commits = await tools.github.list_commits({ limit: 1000 });
const by = Object.groupBy(commits, c => c.author.login);
return Object.entries(by).map(([who, list]) => ({ who, commits: list.length }));`},
		{"javascript", `const [issues, chat] = await Promise.all([tools.jira.search({ limit: 500 }), tools.slack.history({ channel: "general" })]);
return { issues: issues.total, messages: chat.length };`},
		{"python", `from tools import github
commits = github.list_commits(limit=1000)
return {"commits": len(commits), "authors": len({c["author"]["login"] for c in commits})}`},
	}
}

// serverList lists at most limit servers.
func serverList(servers []string, limit int) string {
	switch {
	case len(servers) == 0:
		return "none is connected"
	case len(servers) > limit:
		return fmt.Sprintf("%s and %d more", strings.Join(servers[:limit], ", "), len(servers)-limit)
	}
	return strings.Join(servers, ", ")
}

// Sentence is one part of the description of execute_code.
type Sentence struct{ Name, Text string }

// Sentences are the parts of the description of execute_code, in order. A part is
// there because programs fail whose writer does not know it: tests/firsttries has
// such programs for each.
func Sentences(servers []string) []Sentence {
	e := Examples()
	return []Sentence{
		{"purpose", "Run one program for anything that needs more than one tool call, or whose data you need not read yourself: filter, join and count in code, return only what you need."},
		{"javascript", "JavaScript/TypeScript (the body of an async function; return the answer):\n" + e[0].Code},
		{"python", "Python (return, or the answer as last expression):\n" + e[2].Code},
		{"finding", `Find tools with search_tools here, or in code: (await searchTools("words")).tools, search_tools("words")["tools"].`},
		{"answers", "Answers are parsed JSON."},
		{"errors", "A failed call throws ToolError, a denied one PolicyError."},
		{"grants", "No network, files or packages unless granted."},
		{"personal", "Values like [EMAIL_1] stand for personal data: pass them on unchanged."},
		{"servers", "Servers: " + serverList(servers, 40) + "."},
	}
}

// Description is the description of execute_code.
func Description(servers []string) string {
	var lines []string
	for _, s := range Sentences(servers) {
		lines = append(lines, s.Text)
	}
	return strings.Join(lines, "\n")
}

// frames has a format for the prompt of each family of models.
var frames = map[string]string{
	"claude": "<code_execution>\n%s\n</code_execution>",
	"gpt":    "# Code execution\n\n%s",
	"gemini": "## Code execution\n\n%s",
}

// Families lists the families of models that [Prompt] supports.
func Families() []string { return []string{"claude", "gpt", "gemini"} }

// Prompt returns a system prompt for a family of models that says when to write a
// program, in at most budget tokens by [Estimate]; zero is 600. The prompt is
// empty if the budget is too small.
func Prompt(family string, servers []string, budget int) (prompt string, ok bool) {
	frame, ok := frames[family]
	if !ok {
		return "", false
	}
	if budget <= 0 {
		budget = 600
	}
	budget -= Estimate(frame)
	text := `You have execute_code. Prefer one program over several tool calls: it calls tools, keeps their answers out of your context, and returns one small value.
Use it if an answer is large, if calls depend on each other, or if there are many. Do not use it for a single call whose short answer you want to read, or for thinking.
Find tools first (search_tools), read the declarations of those you need (describe_tools), then write the program. If a call fails, read code and hint, fix the program, run it again.
`
	for _, e := range Examples() {
		example := "\n" + e.Language + ":\n" + e.Code + "\n"
		if Estimate(text+example) > budget {
			break
		}
		text += example
	}
	if len(servers) > 0 {
		text += "\nServers: " + serverList(servers, 20) + "."
	}
	for Estimate(text) > budget { // without its last line
		text = text[:strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1]
		if text == "" {
			return "", true
		}
	}
	return fmt.Sprintf(frame, strings.TrimSpace(text)), true
}

// Estimate is a rough number of tokens of English and code, rather too high.
func Estimate(text string) int { return (2*len(text) + 6) / 7 }
