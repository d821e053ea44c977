package contact

import (
	_ "embed"
	"slices"
	"sync"
)

// phoneTable is written by phonegen: the countries, then an automaton over the
// digits of international numbers.
//
//go:generate go run ../../../internal/tools/phonegen -out phonetable.bin
//go:embed phonetable.bin
var phoneTable string

// region is a country with a telephone numbering plan.
type region struct {
	id    string // DE, or ZZ for codes that belong to no country
	code  string // the calling code: 49
	trunk string // the prefix of national numbers: 0, or ""
}

// plan is the decoded phoneTable.
type plan struct {
	regions []region // by the number of the automaton, minus 1
	states  string   // the automaton
	start   int      // the offset of its first state
}

var phonePlan = sync.OnceValue(func() *plan {
	t := phoneTable
	text := func() string { // a length, then as many bytes
		n := int(t[0])
		s := t[1 : 1+n]
		t = t[1+n:]
		return s
	}
	p := &plan{regions: make([]region, t[0])}
	t = t[1:]
	for i := range p.regions {
		p.regions[i].id, t = t[:2], t[2:]
		p.regions[i].code, p.regions[i].trunk = text(), text()
	}
	p.start, p.states = offset(t), t[3:]
	return p
})

func offset(t string) int { return int(t[0]) | int(t[1])<<8 | int(t[2])<<16 }

// regionOf finds a country by its two letters.
func regionOf(id string) (region, bool) {
	regions := phonePlan().regions
	i := slices.IndexFunc(regions, func(r region) bool { return r.id == id })
	if i < 0 || id == "ZZ" {
		return region{}, false
	}
	return regions[i], true
}

// KnownRegion reports whether phone numbers can be read in a country, given by
// its two letters.
func KnownRegion(id string) bool {
	_, ok := regionOf(id)
	return ok
}

// phoneCountry runs the automaton over the digits of an international number,
// calling code first. It returns the number of the country, 0 for an invalid
// number.
func phoneCountry(parts ...[]byte) int {
	p := phonePlan()
	t, at := p.states, p.start
	for _, digits := range parts {
	next:
		for _, c := range digits {
			for edge := at + 2; edge < at+2+5*int(t[at+1]); edge += 5 {
				if (int(t[edge])|int(t[edge+1])<<8)>>(c-'0')&1 != 0 {
					at = offset(t[edge+2:])
					continue next
				}
			}
			return 0
		}
	}
	return int(t[at])
}
