package catalogue

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainIndex computes what a search finds without its shortcuts.
type plainIndex struct {
	postings map[string][]plainPosting
	mean     [fields]float64     // length of fields
	lengths  [][fields]int       // of fields, by tool
	terms    []string            // sorted, for misspelled words
	servers  map[string][]string // servers, by the words in their names
	tools    []Tool
}

type plainPosting struct {
	tool  int32
	field uint8
	count uint16
}

func newPlainIndex(tools []Tool) *plainIndex {
	x := &plainIndex{postings: map[string][]plainPosting{}, servers: map[string][]string{}, lengths: make([][fields]int, len(tools)), tools: tools}
	prefixes := map[string]map[string]bool{} // words of names that are those of the server
	for _, t := range tools {
		if prefixes[t.Server] == nil {
			prefixes[t.Server] = plainPrefixes(t.Server, tools)
		}
	}
	for i, t := range tools {
		texts := [fields][]string{
			inServer:    Words(t.Server),
			inTitle:     searchWords(t.Title),
			inArguments: argumentWords(t.InputSchema),
		}
		summary, details := firstSentence(t.Description)
		texts[inSummary], texts[inDetails] = searchWords(summary), searchWords(details)
		shared := map[string]int{}
		for _, w := range Words(t.Name) {
			if !stop[w] && prefixes[t.Server][stem(w)] {
				shared[stem(w)]++
			} else {
				texts[inName] = append(texts[inName], w)
			}
		}
		for w, n := range shared {
			x.postings[w] = append(x.postings[w], plainPosting{int32(i), inServer, uint16(n)})
		}
		for f, words := range texts {
			counts := map[string]int{}
			n := 0
			for _, w := range words {
				if stop[w] {
					continue
				}
				n++
				counts[stem(w)]++
				if f == inServer {
					x.servers[stem(w)] = append(x.servers[stem(w)], t.Server)
				}
			}
			x.lengths[i][f] = n
			x.mean[f] += float64(n) / float64(len(tools))
			for w, c := range counts {
				x.postings[w] = append(x.postings[w], plainPosting{int32(i), uint8(f), uint16(min(c, math.MaxUint16))})
			}
		}
	}
	x.terms = make([]string, 0, len(x.postings))
	for w := range x.postings {
		x.terms = append(x.terms, w)
	}
	slices.Sort(x.terms)
	return x
}

// plainPrefixes returns the words that are in the names of nine of ten tools of a
// server.
func plainPrefixes(server string, tools []Tool) map[string]bool {
	n, counts, out := 0, map[string]int{}, map[string]bool{}
	for _, t := range tools {
		if t.Server != server {
			continue
		}
		n++
		has := map[string]bool{}
		for _, w := range Words(t.Name) {
			if !stop[w] && !has[stem(w)] {
				has[stem(w)] = true
				counts[stem(w)]++
			}
		}
	}
	for w, count := range counts {
		out[w] = n >= leastPrefixed && count*10 >= n*9
	}
	return out
}

// score returns the score of each tool that matches. The comment of index.add
// describes it.
func (x *plainIndex) score(asked []askedWord, want deed, servers []string) map[int32]float64 {
	n := len(x.lengths)
	total, hits, named := make([]float64, n), make([]float64, n), make([]float64, n)
	all := 0.0
	for _, q := range asked {
		best, bestNamed, exact := map[int32]float64{}, map[int32]float64{}, 0
		for i, t := range q.terms {
			tf, inTheName := map[int32]float64{}, map[int32]bool{}
			for _, p := range x.postings[t.word] {
				length := 1.0
				if mean := x.mean[p.field]; mean > 0 {
					length = 1 - lengthWeight[p.field] + lengthWeight[p.field]*float64(x.lengths[p.tool][p.field])/mean
				}
				tf[p.tool] += fieldWeight[p.field] * float64(min(p.count, mostCounted)) / length
				if p.field == inName {
					inTheName[p.tool] = true
				}
			}
			if i == 0 {
				exact = len(tf)
			}
			for tool, f := range tf {
				best[tool] = max(best[tool], t.weight*f/(f+saturation))
				if inTheName[tool] {
					bestNamed[tool] = max(bestNamed[tool], t.weight)
				}
			}
		}
		df := float64(len(best))
		if exact > 0 {
			df = math.Sqrt(df * float64(exact)) // the asked word itself is rarer than its synonyms
		}
		weight := q.weight * math.Log(1+(float64(n)-df+0.5)/(df+0.5))
		all += weight
		for tool, b := range best {
			if q.question && hits[tool] == 0 {
				continue
			}
			total[tool] += weight * b
			hits[tool] += weight
			named[tool] += bestNamed[tool]
		}
	}
	scores := map[int32]float64{}
	for i, sum := range total {
		if sum == 0 || sum < leastMatched*all {
			continue
		}
		sum *= 1 - coverage + coverage*hits[i]/all
		if words := x.lengths[i][inName]; words > 0 {
			sum *= 1 + nameShare*min(1, named[i]/float64(words))
		}
		if does := deedOf(Words(x.tools[i].Name)); does != want && does != unsaid && want != unsaid {
			sum *= otherDeed
		}
		if len(servers) > 0 && !slices.Contains(servers, x.tools[i].Server) {
			sum *= otherServer
		}
		scores[int32(i)] = sum
	}
	return scores
}

// expand returns the words to look for, what the query asks for, and the servers
// that it names.
func (x *plainIndex) expand(query string) (asked []askedWord, want deed, servers []string) {
	words := queryWords(query)
	for _, w := range words {
		if len(asked) == maxAsked {
			break
		}
		s := stem(w)
		if stop[w] && len(synonyms()[s]) == 0 {
			continue
		}
		q := askedWord{terms: []term{{s, 1}}, weight: 1}
		if stop[w] {
			q.weight, q.question = questionWord, true
		}
		if len(x.servers[s]) > 0 {
			q.weight = serverWord
			servers = append(servers, x.servers[s]...)
		}
		for _, other := range synonyms()[s] {
			q.terms = append(q.terms, term{other, synonymWeight})
		}
		if len(x.postings[s]) == 0 && len(q.terms) == 1 {
			q.terms = append(q.terms, x.misspelled(w, s)...)
		}
		asked = append(asked, q)
	}
	questionsLast(asked)
	return asked, askedDeed(words), servers
}

// misspelled returns the indexed words that are a few edits from a stem that is
// not indexed. Words of fewer than four letters are too similar to others.
func (x *plainIndex) misspelled(word, w string) []term {
	if len(word) < 4 || w == "" {
		return nil
	}
	allowed := 1 + len(w)/8
	var out []term
	for _, t := range x.terms {
		if len(t)-len(w) > allowed || len(w)-len(t) > allowed {
			continue
		}
		if d := plainDistance(w, t); d <= allowed && t[0] == w[0] {
			out = append(out, term{t, 0.6 / float64(d)})
		}
	}
	for _, t := range x.terms {
		if len(w) >= 4 && len(t) > len(w) && strings.HasPrefix(t, w) {
			out = append(out, term{t, 0.6})
		}
	}
	return out
}

// plainSearch returns the IDs and scores of all tools that a search finds, in order.
func plainSearch(c *Catalogue, query string, boost map[string]float64) (ids []string, scores []float64) {
	x := newPlainIndex(c.tools)
	found := x.score(x.expand(query))
	type hit struct {
		id    string
		score float64
	}
	var hits []hit
	top := 0.0
	for i, t := range c.tools {
		if s, ok := found[int32(i)]; ok || boost[t.ID()] > 0 {
			hits = append(hits, hit{t.ID(), s + boost[t.ID()]})
			top = max(top, s+boost[t.ID()])
		}
	}
	hits = slices.DeleteFunc(hits, func(h hit) bool { return h.score < leastOfTop*top })
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	for _, h := range hits {
		ids, scores = append(ids, h.id), append(scores, h.score)
	}
	return ids, scores
}

var someWords = strings.Fields("list create delete update search fetch get issue issues commit commits repo repository customer invoice " +
	"ticket message channel send email calendar event report export file files folder GitHub pullRequest slack branch merge the of " +
	"who which everything abcdefgh abcdefgi abcdefhg branches comit isssue customr reportss über naïve s3 v2 http2Server")

// someTools returns a random catalogue whose tools share words.
func someTools(r *rand.Rand, n int) []Tool {
	words := func(n int) string {
		var out []string
		for range r.IntN(n + 1) {
			out = append(out, someWords[r.IntN(len(someWords))])
		}
		return strings.Join(out, " ")
	}
	var out []Tool
	for i := range n {
		out = append(out, Tool{Server: fmt.Sprintf("%s%d", someWords[r.IntN(8)], r.IntN(3)), Name: fmt.Sprintf("%s_%d", strings.ReplaceAll(words(3), " ", "_"), i/2),
			Title: words(3), Description: words(20), InputSchema: []byte(fmt.Sprintf(`{"properties":{%q:{"enum":[%q]}}}`, words(2), words(2)))})
	}
	return out
}

func TestASearchFindsWhatAPlainOneFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		c := New(someTools(r, rapid.IntRange(0, 60).Draw(t, "tools")))
		query := strings.Join(rapid.SliceOfN(rapid.SampledFrom(someWords), 1, 5).Draw(t, "query"), " ")
		boost := map[string]float64{}
		for _, tool := range c.tools {
			if r.IntN(10) == 0 && r.IntN(2) == 0 {
				boost[tool.ID()] = r.Float64() * 3
			}
		}
		ids, scores := plainSearch(c, query, boost)
		for range 2 { // the second one uses the sums of the first
			found, err := c.Search(t.Context(), Query{Text: query, Limit: 1 + len(c.tools), Boost: boost})
			if err != nil || found.Total != len(ids) || len(found.Tools) != len(ids) {
				t.Fatalf("%q found %d tools, a plain search %d: %v", query, found.Total, len(ids), err)
			}
			at := map[string]int{}
			for i, id := range ids {
				at[id] = i
			}
			for i, m := range found.Tools {
				want, ok := at[m.Name]
				if !ok || math.Abs(m.Score-scores[i]) > 0.001 || math.Abs(scores[want]-scores[i]) > 1e-9 {
					t.Fatalf("%q has %s (%f) at %d, a plain search %s (%f)", query, m.Name, m.Score, i, ids[i], scores[i])
				}
			}
			few, err := c.Search(t.Context(), Query{Text: query, Limit: 3, Boost: boost})
			if err != nil || few.Total != found.Total || !slices.Equal(few.Tools, found.Tools[:min(3, len(found.Tools))]) {
				t.Fatalf("%q with a limit has %v, without %v: %v", query, few, found, err)
			}
		}
	})
}

func TestDistanceIsThatOfThePlainTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.StringMatching(`[abc]{0,9}`), rapid.StringMatching(`[ab]{55,80}`), rapid.StringN(0, 20, 70))
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := Distance(a, b), plainDistance(a, b); got != want {
			t.Fatalf("Distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// plainDistance returns the number of edits between two words. Swapping neighbors is
// one edit. Only the first 64 bytes of each count.
func plainDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	var before, last, row [65]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
