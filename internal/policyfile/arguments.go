package policyfile

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
)

// programArgument returns the name of an argument that is a program: then what
// the tool does depends on the call. It returns "" if there is none.
func programArgument(t catalogue.Tool) string {
	var s schema
	if json.Unmarshal(t.InputSchema, &s) != nil {
		return ""
	}
	about := strings.ToLower(t.Server + " " + t.Name + " " + t.Title + " " + t.Description)
	return s.program(about, 4)
}

// schema is what is read of a JSON Schema.
type schema struct {
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
}

// program looks for the argument, depth levels down. about describes the tool.
func (s schema) program(about string, depth int) string {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if isProgram(name, about+" "+strings.ToLower(p.Description)) {
			return name
		}
		if depth == 0 {
			continue
		}
		if found := p.program(about, depth-1); found != "" {
			return found
		}
		if p.Items != nil {
			if found := p.Items.program(about, depth-1); found != "" {
				return found
			}
		}
	}
	return ""
}

// isProgram reports whether an argument is a program by its name. A query is one
// if the tool is of a database. Only code as the whole name counts, since codes of
// countries and currencies are no programs.
func isProgram(name, about string) bool {
	words := catalogue.Words(name)
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	return has("sql", "command", "commands", "cmd", "script", "scripts", "javascript") || strings.EqualFold(name, "code") ||
		has("query", "queries") && mentionsDatabase(about)
}

func mentionsDatabase(about string) bool {
	return slices.ContainsFunc([]string{"sql", "database", "postgres", "mongo", "duckdb", "bigquery", "snowflake", "clickhouse", "redis", "cypher", "neo4j", "dynamodb"},
		func(word string) bool { return strings.Contains(about, word) })
}
