package catalogue

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func toolsOf(server string, names ...string) []Tool {
	var out []Tool
	for _, n := range names {
		out = append(out, Tool{Server: server, Name: n})
	}
	return out
}

func TestCategoriesComeFromNames(t *testing.T) {
	c := New(append(toolsOf("github",
		"list_issues", "get_issue", "addIssueComment", "create_pull_request", "list_pull_requests", "merge-pull-request",
		"get_file_contents", "search", "github_search_code", "release.delete"),
		toolsOf("memory", "create_entities", "delete_entities", "read_graph")...))
	got := ""
	for _, one := range c.Categories("") {
		got += fmt.Sprintln(one.Server, "/", one.Name, one.Tools)
	}
	want := `github / issue [addIssueComment get_issue list_issues]
github / pull request [create_pull_request list_pull_requests merge-pull-request]
github / code [github_search_code]
github / file contents [get_file_contents]
github / release [release.delete]
github / other [search]
memory / entities [create_entities delete_entities]
memory / graph [read_graph]
`
	if got != want {
		t.Errorf("categories:\n%swant:\n%s", got, want)
	}
	if n := len(c.Categories("memory")); n != 2 {
		t.Errorf("%d categories of one server, want 2", n)
	}
}

func TestEveryToolIsInOneCategory(t *testing.T) {
	names := []string{"list", "get", "a", "__", "日本語", "x1", "GETURL", "listlist", "delete.user", "of_the"}
	c := New(toolsOf("list", names...))
	seen := map[string]int{}
	for _, one := range c.Categories("list") {
		for _, n := range one.Tools {
			seen[n]++
		}
	}
	for _, n := range names {
		if seen[n] != 1 {
			t.Errorf("%q is in %d categories", n, seen[n])
		}
	}
}

func TestTheReadmeListsTheCategoriesOfServers(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, "list_"+strings.Repeat("x", i+4))
	}
	text, err := fs.ReadFile(New(append(toolsOf("big", names...), toolsOf("crm", "find_customers", "get_customer")...)).Tree(nil), "README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- crm/ (2 tools): customer 2\n", " and 24 more\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the README lacks %q:\n%s", want, text)
		}
	}
}
