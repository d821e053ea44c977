package guests

import (
	"encoding/json"
	"strings"
	"testing"
)

func mapOf(mappings string) []byte {
	data, _ := json.Marshal(map[string]any{"version": 3, "sources": []string{"main.ts"}, "mappings": mappings})
	return data
}

func TestSourceMapLeadsBack(t *testing.T) {
	// Line 1: columns 0 and 4 from 1:0 and 1:6; line 2: none; line 3: column 2
	// from 4:3, then from column 8 nothing.
	m, err := ParseSourceMap(mapOf("AAAA,IAAM;;EAGH,M"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line, column, from, fromColumn int
		ok                             bool
	}{
		{1, 0, 1, 0, true}, {1, 3, 1, 0, true}, {1, 4, 1, 6, true}, {1, 900, 1, 6, true},
		{2, 0, 0, 0, false},
		{3, 0, 4, 3, true}, {3, 2, 4, 3, true}, {3, 8, 0, 0, false},
		{0, 0, 0, 0, false}, {4, 0, 0, 0, false}, {-1, -1, 0, 0, false},
	} {
		from, fromColumn, ok := m.Lookup(c.line, c.column)
		if from != c.from || fromColumn != c.fromColumn || ok != c.ok {
			t.Errorf("%d:%d leads to %d:%d %v and not to %d:%d %v", c.line, c.column, from, fromColumn, ok, c.from, c.fromColumn, c.ok)
		}
	}
}

func TestDamagedSourceMapsAreRefused(t *testing.T) {
	for _, c := range []string{
		``, `{`, `[]`, `{"version": 2}`, `{"version": 3, "mappings": 1}`,
		string(mapOf("!")), string(mapOf("A")) + "x", string(mapOf("AA")), string(mapOf("AAAAAAAA")), string(mapOf("g")),
		string(mapOf("gggggggggggggggB")), string(mapOf("D")), string(mapOf("AADA")), string(mapOf("AAAD")),
		string(mapOf("+++++f,+++++f,+++++f,+++++f")),
	} {
		if m, err := ParseSourceMap([]byte(c)); err == nil {
			t.Errorf("%.60s is read as %+v", c, m)
		}
	}
	if _, err := ParseSourceMap(mapOf(strings.Repeat(";", maxMapLines+1))); err == nil {
		t.Error("too many lines are read")
	}
}

func FuzzSourceMap(f *testing.F) {
	f.Add("AAAA,IAAM;;EAGH,M", 1, 2)
	f.Add("+++++B,D", 1, 2)
	f.Fuzz(func(t *testing.T, mappings string, line, column int) {
		m, err := ParseSourceMap(mapOf(mappings))
		if err != nil {
			return
		}
		p := Program{Code: mappings, File: "main.ts", Map: m, source: mappings}
		if pos, ok := p.Origin(line, column); ok && (pos.Line < 1 || pos.Column < 0) {
			t.Errorf("%+v", pos)
		}
		p.Stack("at f (main.ts:1:2)\nat main.ts:3")
	})
}
