package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// programs has the programs that replace plain calls.
//
//go:embed programs/*.js
var programs embed.FS

// code returns the source of the program.
func (j job) code() (string, error) {
	if strings.Contains(j.file, "/") {
		b, err := os.ReadFile(filepath.FromSlash(j.file))
		return string(b), err
	}
	b, err := programs.ReadFile("programs/" + j.file)
	return string(b), err
}

// pageSize is the maximum page size of the services.
const pageSize = 100

// together is the maximum number of independent calls in one turn.
const together = 10

type commit struct {
	Author struct{ Login string }
	Commit struct{ Author struct{ Date time.Time } }
}

type found struct {
	Total  int
	Issues []struct {
		Fields struct{ Status, Priority struct{ Name string } }
	}
}

type customer struct{ ID, Name, Email, City, Segment string }

func jobs() []job {
	return []job{
		{
			name: "1,000 commits to weekly counts by author", servers: []string{"github"}, goal: 0.99, file: "weekly.js",
			how: "commits page by page, 100 a page", plain: plainCommits, check: checkWeekly,
		},
		{
			name: "GitHub, Jira and Slack into a status report", servers: []string{"github", "jira", "slack"}, goal: 0.98,
			file: "examples/commits/commits.js",
			how:  "a page of each server in one turn, until each list ends", plain: plainReport, check: checkReport,
		},
		{
			name: "500 customers to a mail merge", servers: []string{"crm", "mail"}, goal: 0.98, file: "merge.js",
			how: "customers page by page, 100 a page; then the mails, ten calls per turn", plain: plainMerge, check: checkMerge,
		},
		{
			name: "50 MB of log lines to the ten worst errors", servers: []string{"logs"}, goal: 0.98, file: "errors.js",
			how: "lines page by page, 1,000 a page", plain: plainErrors, check: checkErrors,
		},
		{
			name: "a table of 10,000 rows joined with a second", servers: []string{"logs"}, goal: 0.98, file: "join.js",
			how: "rows page by page, 1,000 a page; the second table in the first turn", plain: plainJoin, check: checkJoin,
		},
		{
			name: "the right three of 2,000 tools found and used", goal: 0.98, file: "triage.js",
			servers: append([]string{"github", "jira", "slack", "crm", "mail", "logs"}, extraServers...),
			find: []question{
				{"search jira issues", "jira.search"},
				{"open an issue on github", "github.create_issue"},
				{"post a message to a slack channel", "slack.post_message"},
			},
			how: "all definitions in the context; issues page by page, 100 a page; then the issue, then the message", plain: plainTriage, check: checkTriage,
		},
	}
}

func commitsPage(n int) call {
	return call{"github", "list_commits", map[string]any{"owner": "acme", "repo": "shop", "limit": pageSize, "page": n}}
}

// full reports whether a list in JSON has at least size entries.
func full(text string, size int) bool {
	var list []json.RawMessage
	return json.Unmarshal([]byte(text), &list) == nil && len(list) >= size
}

func plainCommits(p *plainRun) error {
	for n := 1; ; n++ {
		texts, err := p.turn(commitsPage(n))
		if err != nil || !full(texts[0], pageSize) {
			return err
		}
	}
}

// joined concatenates pages of a list.
func joined[T any](texts []string) ([]T, error) {
	var all []T
	for _, t := range texts {
		var page []T
		if err := json.Unmarshal([]byte(t), &page); err != nil {
			return nil, err
		}
		all = append(all, page...)
	}
	return all, nil
}

// same compares the value of a program with the expected value.
func same(value json.RawMessage, want any) error {
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	var x, y any
	if err := json.Unmarshal(value, &x); err != nil {
		return fmt.Errorf("invalid JSON value %.80q: %w", value, err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		return err
	}
	if !reflect.DeepEqual(x, y) {
		return fmt.Errorf("the program returned %.400s, the plain calls give %.400s", value, b)
	}
	return nil
}

func checkWeekly(answers map[string][]string, value json.RawMessage) error {
	commits, err := joined[commit](answers["github.list_commits"])
	if err != nil {
		return err
	}
	weeks := map[string]map[string]int{}
	for _, c := range commits {
		d := c.Commit.Author.Date.UTC()
		monday := d.AddDate(0, 0, -(int(d.Weekday())+6)%7).Format(time.DateOnly)
		if weeks[monday] == nil {
			weeks[monday] = map[string]int{}
		}
		weeks[monday][c.Author.Login]++
	}
	return same(value, weeks)
}

func plainReport(p *plainRun) error {
	issuesPage := func(offset int) call {
		return call{"jira", "search", map[string]any{"jql": `status="In Progress"`, "limit": pageSize, "offset": offset}}
	}
	calls := []call{commitsPage(1), issuesPage(0), {"slack", "history", map[string]any{"channel": "incidents", "limit": 1000}}}
	for n := 2; len(calls) > 0; n++ {
		texts, err := p.turn(calls...)
		if err != nil {
			return err
		}
		var next []call
		for i, k := range calls {
			var issues found
			switch {
			case k.server == "github" && full(texts[i], pageSize):
				next = append(next, commitsPage(n))
			case k.server == "jira":
				if err := json.Unmarshal([]byte(texts[i]), &issues); err != nil {
					return err
				}
				if offset := (n - 1) * pageSize; offset < issues.Total {
					next = append(next, issuesPage(offset))
				}
			}
		}
		calls = next
	}
	return nil
}

func checkReport(answers map[string][]string, value json.RawMessage) error {
	commits, err := joined[commit](answers["github.list_commits"])
	if err != nil {
		return err
	}
	var report struct {
		Commits    int
		InProgress int `json:"in_progress"`
		Urgent     int
	}
	if err := json.Unmarshal(value, &report); err != nil {
		return err
	}
	total, urgent := 0, 0
	for _, t := range answers["jira.search"] {
		var page found
		if err := json.Unmarshal([]byte(t), &page); err != nil {
			return err
		}
		total += len(page.Issues)
		for _, i := range page.Issues {
			if i.Fields.Priority.Name == "Highest" {
				urgent++
			}
		}
	}
	if report.Commits != len(commits) || report.InProgress != total || report.Urgent != urgent {
		return fmt.Errorf("the program counted %+v, the plain calls give %d, %d and %d", report, len(commits), total, urgent)
	}
	return nil
}

func plainMerge(p *plainRun) error {
	for n := 1; ; n++ {
		texts, err := p.turn(call{"crm", "list_customers", map[string]any{"limit": pageSize, "page": n}})
		if err != nil {
			return err
		}
		if !full(texts[0], pageSize) {
			break
		}
	}
	customers, err := joined[customer](p.answers["crm.list_customers"])
	if err != nil {
		return err
	}
	for some := range slices.Chunk(customers, together) {
		var calls []call
		for _, c := range some {
			calls = append(calls, call{"mail", "send", map[string]any{
				"to": c.Email, "subject": "News for our customers in " + c.City,
				"body": fmt.Sprintf("Dear %s,\n\nthank you for your trust. Since the first of the month our shop in %s is open on Saturdays, too. "+
					"As a %s customer you get ten per cent off until the end of July.\n\nYours, the Acme shop", c.Name, c.City, c.Segment),
			}})
		}
		if _, err := p.turn(calls...); err != nil {
			return err
		}
	}
	return nil
}

func checkMerge(answers map[string][]string, value json.RawMessage) error {
	sent := 0
	for _, t := range answers["mail.send"] {
		if strings.Contains(t, `"sent":true`) {
			sent++
		}
	}
	return same(value, map[string]int{"sent": sent})
}

func plainErrors(p *plainRun) error {
	const lines, page = 500_000, 1000
	for from := 0; from < lines; from += page {
		if _, err := p.turn(call{"logs", "read", map[string]any{"offset": from, "limit": page}}); err != nil {
			return err
		}
	}
	return nil
}

func checkErrors(answers map[string][]string, value json.RawMessage) error {
	line := regexp.MustCompile(` ERROR service=(\S+) request=\S+ ms=\d+ (.*)`)
	counts := map[string]int{}
	for _, text := range answers["logs.read"] {
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			counts[m[1]+": "+m[2]]++
		}
	}
	var worst [][]any
	for key, n := range counts {
		worst = append(worst, []any{key, n})
	}
	slices.SortFunc(worst, func(a, b []any) int {
		if d := b[1].(int) - a[1].(int); d != 0 {
			return d
		}
		return strings.Compare(a[0].(string), b[0].(string))
	})
	return same(value, worst[:min(10, len(worst))])
}

func plainJoin(p *plainRun) error {
	const page = 1000
	calls := []call{{"logs", "rows", map[string]any{"table": "customers"}}}
	for from := 0; ; from += page {
		calls = append(calls, call{"logs", "rows", map[string]any{"table": "orders", "offset": from, "limit": page}})
		texts, err := p.turn(calls...)
		if err != nil || !full(texts[len(texts)-1], page) {
			return err
		}
		calls = nil
	}
}

func checkJoin(answers map[string][]string, value json.RawMessage) error {
	texts := answers["logs.rows"]
	customers, err := joined[customer](texts[:1])
	if err != nil {
		return err
	}
	type order struct {
		Customer string
		Total    int
	}
	orders, err := joined[order](texts[1:])
	if err != nil {
		return err
	}
	byID := map[string]customer{}
	for _, c := range customers {
		byID[c.ID] = c
	}
	revenue := map[string]map[string]int{}
	for _, o := range orders {
		c := byID[o.Customer]
		if revenue[c.City] == nil {
			revenue[c.City] = map[string]int{}
		}
		revenue[c.City][c.Segment] += o.Total
	}
	return same(value, revenue)
}

// triaged counts issues by status and priority.
func triaged(texts []string) (map[string]map[string]int, int, error) {
	count, total := map[string]map[string]int{}, 0
	for _, t := range texts {
		var page found
		if err := json.Unmarshal([]byte(t), &page); err != nil {
			return nil, 0, err
		}
		total = page.Total
		for _, i := range page.Issues {
			status := i.Fields.Status.Name
			if count[status] == nil {
				count[status] = map[string]int{}
			}
			count[status][i.Fields.Priority.Name]++
		}
	}
	return count, total, nil
}

func plainTriage(p *plainRun) error {
	for offset, total := 0, 1; offset < total; offset += pageSize {
		texts, err := p.turn(call{"jira", "search", map[string]any{"limit": pageSize, "offset": offset}})
		if err != nil {
			return err
		}
		if _, total, err = triaged(texts); err != nil {
			return err
		}
	}
	count, _, err := triaged(p.answers["jira.search"])
	if err != nil {
		return err
	}
	body, err := json.Marshal(count)
	if err != nil {
		return err
	}
	texts, err := p.turn(call{"github", "create_issue", map[string]any{"title": "Triage of the week", "body": string(body)}})
	if err != nil {
		return err
	}
	var opened struct{ Number int }
	if err := json.Unmarshal([]byte(texts[0]), &opened); err != nil {
		return err
	}
	_, err = p.turn(call{"slack", "post_message", map[string]any{"channel": "general", "text": fmt.Sprintf("Triage of the week is #%d: %s", opened.Number, body)}})
	return err
}

func checkTriage(answers map[string][]string, value json.RawMessage) error {
	count, _, err := triaged(answers["jira.search"])
	if err != nil {
		return err
	}
	var opened struct{ Number int }
	if err := json.Unmarshal([]byte(answers["github.create_issue"][0]), &opened); err != nil {
		return err
	}
	return same(value, map[string]any{"number": opened.Number, "ok": true, "count": count})
}
