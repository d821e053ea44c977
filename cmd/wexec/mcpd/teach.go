package mcpd

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Example is one program that the teaching shows. The tests run each.
type Example struct {
	Language string
	Code     string
}

// Examples are the programs of the teaching texts.
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

// serverList names the servers there are, and of many only the first.
func serverList(servers []string, most int) string {
	switch {
	case len(servers) == 0:
		return "none is connected"
	case len(servers) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(servers[:most], ", "), len(servers)-most)
	}
	return strings.Join(servers, ", ")
}

// Teaching is the description of execute_code: the calling convention of both
// languages in a few lines, and the servers there are.
func Teaching(servers []string) string {
	list := serverList(servers, 40)
	e := Examples()
	return `Run one program that calls tools and returns one small answer. Use it for anything that needs more than one tool call, or whose data you need not read yourself: filter, join and count in code, return only what you need.
JavaScript/TypeScript (async body; return the answer):
` + e[0].Code + `
Python (return or last expression; from tools.aio import x to await):
` + e[2].Code + `
Tools are tools.<server>.<tool>({...}) or <server>.<tool>(name=value). Find them with search_tools here, or searchTools("words") / search_tools("words") in code. Answers are parsed JSON. A failed call throws ToolError (code, message, hint), a forbidden one PolicyError; attempt() and settle() keep other branches alive. No network, files or packages but what is granted. Values like [EMAIL_1] stand for personal data: pass them on as they are.
Servers: ` + list + `.`
}

// families are the model families a prompt is written for.
var families = map[string]string{
	"claude": "<code_execution>\n%s\n</code_execution>",
	"gpt":    "# Code execution\n\n%s",
	"gemini": "## Code execution\n\n%s",
}

// Families lists the families of models that [Prompt] knows.
func Families() []string { return []string{"claude", "gpt", "gemini"} }

// Prompt is a system prompt for a family of models, at most budget tokens by
// estimate; zero is 600. It says when to write a program and when not. It is
// empty where the budget is too small for that.
func Prompt(family string, servers []string, budget int) (string, bool) {
	frame, ok := families[family]
	if !ok {
		return "", false
	}
	if budget <= 0 {
		budget = 600
	}
	budget -= Estimate(frame)
	text := `You have execute_code. Prefer one program over several tool calls: it calls tools, keeps their answers to itself, and returns one small value.
Use it when an answer is large, when calls depend on each other, or when there are many. Do not use it for a single call whose short answer you want to read, or for thinking.
Find tools first (search_tools), read the declarations of those you need (describe_tools), then write the program. When a call fails, read code and hint, mend the program, run it again.
`
	for _, e := range Examples() {
		more := "\n" + e.Language + ":\n" + e.Code + "\n"
		if Estimate(text+more) > budget {
			break
		}
		text += more
	}
	if len(servers) > 0 {
		text += "\nServers: " + serverList(servers, 20) + "."
	}
	for Estimate(text) > budget {
		text = text[:strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1]
		if text == "" {
			return "", true
		}
	}
	return fmt.Sprintf(frame, strings.TrimSpace(text)), true
}

// Estimate is a rough count of tokens of English and code, rather too high.
func Estimate(text string) int { return (2*len(text) + 6) / 7 }

// offerPrompts offers the teaching texts.
func (s *Server) offerPrompts() {
	for _, family := range Families() {
		s.mcp.AddPrompt(&mcp.Prompt{Name: "code-mode-" + family, Description: "How to work with execute_code, for " + family + " models"},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				text, _ := Prompt(family, s.o.Table.Identifiers(), 0)
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}, nil
			})
	}
}
