package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// epoch is the last day of the generated data.
var epoch = time.Date(2026, 6, 30, 18, 0, 0, 0, time.UTC)

var (
	given   = strings.Fields("Ada Bruno Chiara Dmitri Elif Farah Goran Hana Ivo Jana Kofi Lena Mateo Nadia Omar Petra Quentin Rosa Sven Tara Umar Vera Wanda Ximena Yusuf Zora")
	family  = strings.Fields("Abbott Becker Castillo Dubois Eriksen Fischer Garcia Haddad Ibsen Jansen Kowalski Lindgren Moreau Novak Okafor Petrov Quinn Rossi Schmidt Tanaka Ueda Varga Weber Xu Yilmaz Zimmer")
	verbs   = strings.Fields("Fix Add Remove Rename Speed-up Document Simplify Guard Cache Retry")
	objects = strings.Fields("parser scheduler login cache exporter billing search importer webhook dashboard")
	labels  = strings.Fields("bug feature docs performance security support")
	cities  = strings.Fields("Austin Boston Chicago Denver Eugene Fresno Galveston Houston Irvine Juneau")
)

// source returns a random source per kind of data.
func source(seed uint64, kind string) *rand.Rand {
	sum := sha256.Sum256([]byte(kind))
	var k uint64
	for _, b := range sum[:8] {
		k = k<<8 | uint64(b)
	}
	return rand.New(rand.NewPCG(seed, k))
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func digest(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(parts...)))
	return hex.EncodeToString(sum[:20])
}

// person is a fictional person.
type person struct{ Given, Family string }

func (p person) name() string { return p.Given + " " + p.Family }

func (p person) login() string {
	return strings.ToLower(p.Given[:1] + p.Family)
}

func (p person) email(domain string) string {
	return strings.ToLower(p.Given+"."+p.Family) + "@" + domain
}

// team has the twelve people who commit, file issues and chat.
func team(seed uint64) []person {
	r := source(seed, "team")
	var out []person
	for i := range 12 {
		out = append(out, person{given[(i*2+r.IntN(2))%len(given)], family[(i*2+r.IntN(2))%len(family)]})
	}
	return out
}

// tool adds a tool that answers with JSON as text, as most servers do.
func tool[In any](s *mcp.Server, name, description string, writes bool, f func(In) (any, error)) {
	readOnly := !writes
	destructive := writes && (strings.HasPrefix(name, "delete") || strings.HasPrefix(name, "update"))
	mcp.AddTool(s, &mcp.Tool{
		Name: name, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &destructive},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		v, err := f(in)
		if err != nil {
			return nil, nil, err
		}
		text, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil {
				return nil, nil, err
			}
			text = string(b)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
}

// page returns one page of a list. Page numbers start at 1.
func page[T any](items []T, number, limit, most int) []T {
	if limit <= 0 {
		limit = 30
	}
	limit = min(limit, most)
	from := min(max(number-1, 0)*limit, len(items))
	return items[from:min(from+limit, len(items))]
}
