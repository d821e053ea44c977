package policyfile

import (
	"slices"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
)

func TestStarterPolicyAsksForToolsThatSoundAsIfTheyWrite(t *testing.T) {
	yes, no := true, false
	tool := func(name string, readOnly, destructive *bool) catalogue.Tool {
		return catalogue.Tool{Server: "s", Name: name, Annotations: catalogue.Annotations{ReadOnly: readOnly, Destructive: destructive}}
	}
	tools := map[policy.Effect][]catalogue.Tool{
		policy.Ask: {
			tool("wipe_disk", &yes, nil), tool("purge_cache", &yes, &no), tool("revokeToken", &yes, nil), tool("get_or_create_user", &yes, nil),
			tool("get_and_archive", nil, nil), tool("frobnicate", nil, nil), tool("get_all", nil, &yes),
			tool("list_posts", nil, nil), tool("show_disk", nil, &no),
		},
		policy.Allow: {tool("get_commit", &yes, nil), tool("list_pages", &yes, nil), tool("frobnicated", &yes, nil), tool("show_pages", &yes, &no)},
	}
	p, err := policy.Parse("policy.yaml", []byte(Starter(ForTools(slices.Concat(tools[policy.Ask], tools[policy.Allow])))))
	if err != nil {
		t.Fatal(err)
	}
	for want, list := range tools {
		for _, tool := range list {
			if d := p.Decide(policy.Request{Tool: tool}); d.Effect != want {
				t.Errorf("%s: got %s, want %s", tool.Name, d.Effect, want)
			}
		}
	}
}
