package upstream

import (
	"context"
	"errors"
	"maps"
	"testing"

	"github.com/wexec/wexec/hostfns"
)

func TestSecretsGoIntoTheServersOwnStart(t *testing.T) {
	c := &connection{
		server: Server{Name: "gh", Env: map[string]string{"A": "1", "TOKEN": "configured"}},
		options: &Options{Secrets: func(_ context.Context, server string) ([]hostfns.Secret, error) {
			if server != "gh" {
				return nil, errors.New("asked for " + server)
			}
			return []hostfns.Secret{{As: "env:TOKEN", Value: "v1"}, {As: "header:Authorization: Bearer {}", Value: "v2"}, {As: "header:X-Key", Value: "v3"}, {As: "arg:x", Value: "v4"}}, nil
		}},
	}
	got, err := c.withSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got.Env, map[string]string{"A": "1", "TOKEN": "v1"}) || !maps.Equal(got.Headers, map[string]string{"Authorization": "Bearer v2", "X-Key": "v3"}) {
		t.Fatalf("%v %v", got.Env, got.Headers)
	}
	if c.server.Env["TOKEN"] != "configured" || c.server.Headers != nil {
		t.Fatal("the configuration keeps the secret")
	}
	c.options.Secrets = func(context.Context, string) ([]hostfns.Secret, error) { return nil, errors.New("not set") }
	if _, err := c.withSecrets(t.Context()); err == nil {
		t.Fatal("a server starts without its secret")
	}
}
