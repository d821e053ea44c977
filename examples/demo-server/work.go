package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The types are reduced forms of the answers of real services: nested, verbose, and
// mostly irrelevant to a question.

type account struct {
	Login     string `json:"login"`
	ID        int    `json:"id"`
	AvatarURL string `json:"avatar_url"`
	URL       string `json:"url"`
	HTMLURL   string `json:"html_url"`
	ReposURL  string `json:"repos_url"`
	EventsURL string `json:"events_url"`
	Type      string `json:"type"`
	SiteAdmin bool   `json:"site_admin"`
}

type signature struct {
	Name  string    `json:"name"`
	Email string    `json:"email"`
	Date  time.Time `json:"date"`
}

type commit struct {
	SHA    string `json:"sha"`
	NodeID string `json:"node_id"`
	Commit struct {
		Author    signature         `json:"author"`
		Committer signature         `json:"committer"`
		Message   string            `json:"message"`
		Tree      map[string]string `json:"tree"`
		URL       string            `json:"url"`
		Comments  int               `json:"comment_count"`
		Verified  map[string]any    `json:"verification"`
	} `json:"commit"`
	URL         string              `json:"url"`
	HTMLURL     string              `json:"html_url"`
	CommentsURL string              `json:"comments_url"`
	Author      account             `json:"author"`
	Committer   account             `json:"committer"`
	Parents     []map[string]string `json:"parents"`
	Stats       map[string]int      `json:"stats"`
}

func accountOf(p person, id int) account {
	base := "https://api.example.com/users/" + p.login()
	return account{Login: p.login(), ID: 1000 + id, AvatarURL: "https://avatars.example.com/u/" + fmt.Sprint(1000+id) + "?v=4",
		URL: base, HTMLURL: "https://example.com/" + p.login(), ReposURL: base + "/repos", EventsURL: base + "/events{/privacy}", Type: "User"}
}

func commits(seed uint64) []commit {
	r := source(seed, "commits")
	people := team(seed)
	at := epoch
	var out []commit
	parent := digest(seed, "commit", 1000)
	for i := range 1000 {
		who := r.IntN(len(people))
		if r.IntN(3) > 0 {
			who = r.IntN(4) // a few people do most of the work
		}
		p := people[who]
		at = at.Add(-time.Duration(10+r.IntN(160)) * time.Minute)
		sha := parent
		parent = digest(seed, "commit", 999-i)
		base := "https://api.example.com/repos/acme/shop"
		var c commit
		c.SHA, c.NodeID = sha, "C_"+sha[:30]
		c.Commit.Author = signature{p.name(), p.email("acme.example"), at}
		c.Commit.Committer = signature{"Merge Bot", "noreply@acme.example", at.Add(time.Minute)}
		c.Commit.Message = fmt.Sprintf("%s %s (#%d)\n\nSee the discussion in the issue for why.", pick(r, verbs), pick(r, objects), 2000-i)
		c.Commit.Tree = map[string]string{"sha": digest("tree", sha), "url": base + "/git/trees/" + digest("tree", sha)}
		c.Commit.URL = base + "/git/commits/" + sha
		c.Commit.Verified = map[string]any{"verified": true, "reason": "valid", "signature": nil, "payload": nil}
		c.URL, c.HTMLURL, c.CommentsURL = base+"/commits/"+sha, "https://example.com/acme/shop/commit/"+sha, base+"/commits/"+sha+"/comments"
		c.Author = accountOf(p, who)
		c.Committer = accountOf(person{"Merge", "Bot"}, 99)
		c.Parents = []map[string]string{{"sha": parent, "url": base + "/commits/" + parent}}
		added, removed := r.IntN(300), r.IntN(120)
		c.Stats = map[string]int{"additions": added, "deletions": removed, "total": added + removed}
		out = append(out, c)
	}
	return out
}

func offerGitHub(s *mcp.Server, seed uint64) {
	all := commits(seed)
	type listArgs struct {
		Owner  string `json:"owner,omitempty" jsonschema:"the owner of the repository"`
		Repo   string `json:"repo,omitempty" jsonschema:"the name of the repository"`
		Author string `json:"author,omitempty" jsonschema:"only commits of this login"`
		Since  string `json:"since,omitempty" jsonschema:"only commits after this time, RFC 3339"`
		Limit  int    `json:"limit,omitempty" jsonschema:"how many commits, at most 1000; 30 when absent"`
		Page   int    `json:"page,omitempty" jsonschema:"which page, from 1 on"`
	}
	tool(s, "list_commits", "List the commits of a repository, newest first.", false, func(in listArgs) (any, error) {
		since := time.Time{}
		if in.Since != "" {
			var err error
			if since, err = time.Parse(time.RFC3339, in.Since); err != nil {
				return nil, fmt.Errorf("invalid since: use a time like 2026-01-31T00:00:00Z")
			}
		}
		found := []commit{}
		for _, c := range all {
			if (in.Author == "" || c.Author.Login == in.Author) && c.Commit.Author.Date.After(since) {
				found = append(found, c)
			}
		}
		return page(found, in.Page, in.Limit, 1000), nil
	})
	type getArgs struct {
		SHA string `json:"sha" jsonschema:"the commit's digest, whole or its beginning"`
	}
	tool(s, "get_commit", "Get one commit by its digest.", false, func(in getArgs) (any, error) {
		for _, c := range all {
			if len(in.SHA) >= 7 && strings.HasPrefix(c.SHA, in.SHA) {
				return c, nil
			}
		}
		return nil, fmt.Errorf("no commit %q", in.SHA)
	})
	type issueArgs struct {
		Title  string   `json:"title"`
		Body   string   `json:"body,omitempty"`
		Labels []string `json:"labels,omitempty"`
	}
	tool(s, "create_issue", "Open a new issue.", true, func(in issueArgs) (any, error) {
		return map[string]any{"number": 2001, "title": in.Title, "state": "open", "labels": in.Labels}, nil
	})
	type branchArgs struct {
		Branch string `json:"branch"`
	}
	tool(s, "delete_branch", "Delete a branch for good.", true, func(in branchArgs) (any, error) {
		return map[string]any{"deleted": in.Branch}, nil
	})
}

type issue struct {
	Key    string         `json:"key"`
	Self   string         `json:"self"`
	Fields map[string]any `json:"fields"`
}

func offerJira(s *mcp.Server, seed uint64) {
	r := source(seed, "issues")
	people := team(seed)
	var all []issue
	for i := range 1000 {
		p := pick(r, people)
		key := fmt.Sprintf("SHOP-%d", i+1)
		all = append(all, issue{Key: key, Self: "https://jira.example.com/rest/api/3/issue/" + key, Fields: map[string]any{
			"summary":     pick(r, verbs) + " " + pick(r, objects),
			"status":      map[string]any{"name": pick(r, []string{"To Do", "In Progress", "In Review", "Done"}), "id": fmt.Sprint(r.IntN(9))},
			"priority":    map[string]any{"name": pick(r, []string{"Low", "Medium", "High", "Highest"})},
			"assignee":    map[string]any{"displayName": p.name(), "accountId": p.login()},
			"labels":      []string{pick(r, labels)},
			"created":     epoch.Add(-time.Duration(r.IntN(5000)) * time.Hour),
			"description": "Steps, expectation, what happened instead. " + strings.Repeat("More context from the reporter. ", 6),
		}})
	}
	type searchArgs struct {
		JQL    string `json:"jql,omitempty" jsonschema:"terms like status=\"In Progress\" AND priority=High"`
		Limit  int    `json:"limit,omitempty" jsonschema:"how many issues, at most 1000; 30 when absent"`
		Offset int    `json:"offset,omitempty"`
	}
	tool(s, "search", "Search issues.", false, func(in searchArgs) (any, error) {
		found := []issue{}
		for _, is := range all {
			if matches(is, in.JQL) {
				found = append(found, is)
			}
		}
		from := min(max(in.Offset, 0), len(found))
		return map[string]any{"total": len(found), "startAt": from, "issues": page(found[from:], 1, in.Limit, 1000)}, nil
	})
	type keyArgs struct {
		Key string `json:"key" jsonschema:"the issue, like SHOP-12"`
	}
	tool(s, "get_issue", "Get one issue.", false, func(in keyArgs) (any, error) {
		for _, is := range all {
			if is.Key == in.Key {
				return is, nil
			}
		}
		return nil, fmt.Errorf("no issue %q", in.Key)
	})
	type updateArgs struct {
		Key    string `json:"key"`
		Status string `json:"status"`
	}
	tool(s, "update_issue", "Change the status of an issue.", true, func(in updateArgs) (any, error) {
		return map[string]any{"key": in.Key, "status": in.Status}, nil
	})
}

// matches evaluates field=value terms joined by AND.
func matches(is issue, jql string) bool {
	for _, term := range strings.Split(jql, " AND ") {
		field, value, ok := strings.Cut(term, "=")
		if !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch v := is.Fields[strings.TrimSpace(field)].(type) {
		case map[string]any:
			if v["name"] != value && v["displayName"] != value {
				return false
			}
		case []string:
			if len(v) == 0 || v[0] != value {
				return false
			}
		}
	}
	return true
}

func offerSlack(s *mcp.Server, seed uint64) {
	r := source(seed, "messages")
	people := team(seed)
	channels := []string{"general", "incidents", "releases"}
	type message struct {
		TS        string `json:"ts"`
		User      string `json:"user"`
		Text      string `json:"text"`
		Reactions []any  `json:"reactions"`
		Team      string `json:"team"`
		Type      string `json:"type"`
	}
	all := map[string][]message{}
	for i := range 1000 {
		c := pick(r, channels)
		all[c] = append(all[c], message{
			TS: fmt.Sprintf("%d.%06d", epoch.Add(-time.Duration(i*7)*time.Minute).Unix(), r.IntN(1e6)), User: pick(r, people).login(),
			Text:      fmt.Sprintf("%s the %s is done, please review SHOP-%d", strings.ToLower(pick(r, verbs)), pick(r, objects), 1+r.IntN(1000)),
			Reactions: []any{map[string]any{"name": "eyes", "count": r.IntN(4)}}, Team: "T0ACME", Type: "message"})
	}
	type historyArgs struct {
		Channel string `json:"channel" jsonschema:"general, incidents or releases"`
		Limit   int    `json:"limit,omitempty" jsonschema:"how many messages, at most 1000; 30 when absent"`
	}
	tool(s, "history", "Messages of a channel, newest first.", false, func(in historyArgs) (any, error) {
		list, ok := all[in.Channel]
		if !ok {
			return nil, fmt.Errorf("no channel %q", in.Channel)
		}
		return page(list, 1, in.Limit, 1000), nil
	})
	tool(s, "list_channels", "List the channels.", false, func(struct{}) (any, error) { return channels, nil })
	type postArgs struct {
		Channel string `json:"channel"`
		Text    string `json:"text"`
	}
	tool(s, "post_message", "Post a message to a channel.", true, func(in postArgs) (any, error) {
		return map[string]any{"ok": true, "channel": in.Channel, "ts": fmt.Sprint(epoch.Unix())}, nil
	})
}
