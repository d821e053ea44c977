// Command phonegen writes the table of telephone numbering plans that package
// contact embeds: an automaton over the digits of international numbers whose
// final states name a country. The source is the metadata of
// github.com/nyaruka/phonenumbers, which takes too long to load at run time.
//
//	go generate ./privacy/internal/contact
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

func main() {
	out := flag.String("out", "phonetable.bin", "the file to write")
	flag.Parse()
	data, err := table()
	if err == nil {
		err = os.WriteFile(*out, data, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "phonegen:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "phonegen: %d bytes\n", len(data))
}

// plan is the numbering plan of a country.
type plan struct {
	id    string
	label uint8 // from 1
	descs []desc
	lead  *syntax.Prog // leading digits, where several countries share a code
}

// desc is one kind of number: a pattern and its possible lengths.
type desc struct {
	prog    *syntax.Prog
	lengths []int32
}

// table returns the file: the number of countries; for each its two letters,
// calling code and trunk prefix; then the automaton.
func table() ([]byte, error) {
	all, err := phonenumbers.MetadataCollection()
	if err != nil {
		return nil, err
	}
	metas := make(map[string]*phonenumbers.PhoneMetadata)
	codes := make(map[int][]string)
	for _, m := range all.GetMetadata() {
		metas[planID(m.GetId(), int(m.GetCountryCode()))] = m
	}
	for code := range phonenumbers.GetSupportedCallingCodes() {
		for _, id := range phonenumbers.GetRegionCodesForCountryCode(code) {
			codes[code] = append(codes[code], planID(id, code))
		}
	}
	ids := slices.Sorted(maps.Keys(metas))
	if len(ids) > 255 {
		return nil, fmt.Errorf("%d countries are more than a byte can name", len(ids))
	}
	plans := make(map[string]*plan)
	out := []byte{byte(len(ids))}
	for i, id := range ids {
		m := metas[id]
		p := &plan{id: id, label: uint8(i + 1)}
		if p.descs, err = descs(m); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		if m.LeadingDigits != nil {
			if p.lead, err = compile("(?:" + m.GetLeadingDigits() + ")[0-9]*"); err != nil {
				return nil, err
			}
		}
		plans[id] = p
		letters := id
		if id[0] == '+' {
			letters = "ZZ"
		}
		out = append(out, letters...)
		for _, text := range []string{strconv.Itoa(int(m.GetCountryCode())), m.GetNationalPrefix()} {
			out = append(out, byte(len(text)))
			out = append(out, text...)
		}
	}
	b := &builder{known: map[string]int{}}
	roots := make(map[string]int)
	for _, code := range slices.Sorted(maps.Keys(codes)) { // the same file from every run
		var sharing []*plan
		for _, id := range codes[code] {
			sharing = append(sharing, plans[id])
		}
		roots[strconv.Itoa(code)] = b.country(sharing)
	}
	root := b.codes("", roots)
	return append(out, b.layout(root)...), nil
}

// planID is the name of a plan: two letters, or a calling code that belongs to no
// country.
func planID(id string, code int) string {
	if id == "001" {
		return "+" + strconv.Itoa(code)
	}
	return id
}

func descs(m *phonenumbers.PhoneMetadata) ([]desc, error) {
	var all []desc
	general := m.GetGeneralDesc()
	for _, d := range []*phonenumbers.PhoneNumberDesc{m.GetFixedLine(), m.GetMobile(), m.GetTollFree(), m.GetPremiumRate(),
		m.GetSharedCost(), m.GetPersonalNumber(), m.GetVoip(), m.GetPager(), m.GetUan(), m.GetVoicemail()} {
		pattern := d.GetNationalNumberPattern()
		if pattern == "" || pattern == "NA" {
			continue
		}
		lengths := d.GetPossibleLength()
		if len(lengths) == 0 {
			lengths = general.GetPossibleLength()
		}
		prog, err := compile(pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, desc{prog, lengths})
	}
	return all, nil
}

func compile(pattern string) (*syntax.Prog, error) {
	re, err := syntax.Parse(`\A(?:`+pattern+`)\z`, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return syntax.Compile(re.Simplify())
}

// set is the reachable states of the program of a pattern.
type set []uint32

// closure follows every edge that consumes no digit. begin: it is at the begin of
// the text, where empty-width conditions match.
func closure(p *syntax.Prog, from []uint32, begin bool) (s set, accepts bool) {
	seen := make(map[uint32]bool)
	var visit func(pc uint32, end bool)
	accept := false
	visit = func(pc uint32, end bool) {
		if seen[pc] && !end {
			return
		}
		if !end {
			seen[pc] = true
		}
		in := &p.Inst[pc]
		switch in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(in.Out, end)
			visit(in.Arg, end)
		case syntax.InstCapture, syntax.InstNop:
			visit(in.Out, end)
		case syntax.InstEmptyWidth:
			switch syntax.EmptyOp(in.Arg) {
			case syntax.EmptyBeginText:
				if begin {
					visit(in.Out, end)
				}
			case syntax.EmptyEndText:
				visit(in.Out, true)
			}
		case syntax.InstMatch:
			accept = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if !end {
				s = append(s, pc)
			}
		}
	}
	for _, pc := range from {
		visit(pc, false)
	}
	slices.Sort(s)
	return slices.Compact(s), accept
}

func step(p *syntax.Prog, s set, d rune) (set, bool) {
	var next []uint32
	for _, pc := range s {
		if p.Inst[pc].MatchRune(d) {
			next = append(next, p.Inst[pc].Out)
		}
	}
	if len(next) == 0 {
		return nil, false
	}
	return closure(p, next, false)
}

// node is a state of the automaton: the country of a number that ends here, or 0,
// and the next state for each digit, or 0.
type node struct {
	label uint8
	next  [10]int
}

type builder struct {
	nodes []node // state i+1 is nodes[i]
	known map[string]int
}

func (b *builder) intern(n node) int {
	if n == (node{}) {
		return 0
	}
	key := fmt.Sprint(n)
	if i, ok := b.known[key]; ok {
		return i
	}
	b.nodes = append(b.nodes, n)
	b.known[key] = len(b.nodes)
	return len(b.nodes)
}

// running is the state of the programs of one country after some digits.
type running struct {
	plan    *plan
	sets    []set
	accepts []bool
	lead    set
	leads   bool
}

func (b *builder) country(plans []*plan) int {
	var start []running
	for _, p := range plans {
		r := running{plan: p}
		for _, d := range p.descs {
			s, a := closure(d.prog, []uint32{uint32(d.prog.Start)}, true)
			r.sets, r.accepts = append(r.sets, s), append(r.accepts, a)
		}
		if p.lead != nil {
			r.lead, r.leads = closure(p.lead, []uint32{uint32(p.lead.Start)}, true)
		}
		start = append(start, r)
	}
	memo := make(map[string]int)
	var build func(rs []running, depth int) int
	build = func(rs []running, depth int) int {
		var k strings.Builder
		fmt.Fprint(&k, depth)
		alive := false
		for _, r := range rs {
			for i, s := range r.sets {
				alive = alive || len(s) > 0 || r.accepts[i]
				fmt.Fprint(&k, "|", s, r.accepts[i])
			}
			fmt.Fprint(&k, "/", r.lead, r.leads)
		}
		if !alive || depth > 17 {
			return 0
		}
		if n, ok := memo[k.String()]; ok {
			return n
		}
		var n node
		for _, r := range rs {
			if n.label != 0 || r.plan.lead != nil && !r.leads {
				continue
			}
			for i, d := range r.plan.descs {
				if r.accepts[i] && slices.Contains(d.lengths, int32(depth)) {
					n.label = r.plan.label
				}
			}
		}
		for d := range 10 {
			next := make([]running, len(rs))
			for i, r := range rs {
				next[i] = running{plan: r.plan}
				for j, s := range r.sets {
					to, a := step(r.plan.descs[j].prog, s, rune('0'+d))
					next[i].sets, next[i].accepts = append(next[i].sets, to), append(next[i].accepts, a)
				}
				if r.plan.lead != nil {
					next[i].lead, next[i].leads = step(r.plan.lead, r.lead, rune('0'+d))
				}
			}
			n.next[d] = build(next, depth+1)
		}
		i := b.intern(n)
		memo[k.String()] = i
		return i
	}
	return build(start, 0)
}

// codes builds the states for the digits of the calling codes.
func (b *builder) codes(prefix string, roots map[string]int) int {
	if n, ok := roots[prefix]; ok {
		return n
	}
	var n node
	for d := range 10 {
		next := prefix + strconv.Itoa(d)
		for code := range roots {
			if strings.HasPrefix(code, next) {
				n.next[d] = b.codes(next, roots)
				break
			}
		}
	}
	return b.intern(n)
}

// layout writes the automaton. A state is referred to by its offset, from 1: its
// country, the number of edges, and for each edge the digits as bits and the
// offset of the next state.
func (b *builder) layout(root int) []byte {
	offsets := make([]int, len(b.nodes)+1)
	body := []byte{0}
	for i, n := range b.nodes { // children come before their parents
		offsets[i+1] = len(body)
		ways := make(map[int]uint16)
		var order []int
		for d, to := range n.next {
			if to == 0 {
				continue
			}
			if ways[to] == 0 {
				order = append(order, to)
			}
			ways[to] |= 1 << d
		}
		body = append(body, n.label, byte(len(order)))
		for _, to := range order {
			body = binary.LittleEndian.AppendUint16(body, ways[to])
			o := offsets[to]
			body = append(body, byte(o), byte(o>>8), byte(o>>16))
		}
	}
	o := offsets[root]
	return append([]byte{byte(o), byte(o >> 8), byte(o >> 16)}, body...)
}
