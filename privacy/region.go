package privacy

import _ "embed"

// phoneTable is written by phonegen: the countries, then an automaton over the
// digits of international numbers.
//
//go:generate go run ./phonegen -out phonetable.bin
//go:embed phonetable.bin
var phoneTable string

// region is a country in which telephone numbers are read.
type region struct {
	id    string // DE
	code  string // 49
	trunk string // 0; "" where there is none
}

// eachRegion goes through the countries of the table and returns where the
// automaton begins.
func eachRegion(yield func(n int, r region) bool) (rest int) {
	t := phoneTable
	i := 1
	for n := 1; n <= int(t[0]); n++ {
		r := region{id: t[i : i+2]}
		i += 2
		size := int(t[i])
		r.code = t[i+1 : i+1+size]
		i += 1 + size
		size = int(t[i])
		r.trunk = t[i+1 : i+1+size]
		i += 1 + size
		if yield != nil && !yield(n, r) {
			yield = nil
		}
	}
	return i
}

// regionOf finds a country by its two letters.
func regionOf(id string) region {
	var found region
	eachRegion(func(_ int, r region) bool {
		if r.id == id {
			found = r
			return false
		}
		return true
	})
	return found
}

// regionNumber is the country with a number of the automaton.
func regionNumber(number int) region {
	var found region
	eachRegion(func(n int, r region) bool {
		if n == number {
			found = r
			return false
		}
		return true
	})
	return found
}

// knownRegion reports whether phone numbers can be read in a country.
func knownRegion(id string) bool { return len(id) == 2 && id != "ZZ" && regionOf(id).id != "" }

// phoneCountry walks the digits of an international number, calling code
// first, and says which country's it is; 0: nobody's.
func phoneCountry(parts ...[]byte) int {
	t := phoneTable[tableStart():]
	at := int(t[0]) | int(t[1])<<8 | int(t[2])<<16
	t = t[3:]
	for _, digits := range parts {
	next:
		for _, c := range digits {
			ways := int(t[at+1])
			for w := at + 2; w < at+2+5*ways; w += 5 {
				if (int(t[w])|int(t[w+1])<<8)>>(c-'0')&1 != 0 {
					at = int(t[w+2]) | int(t[w+3])<<8 | int(t[w+4])<<16
					continue next
				}
			}
			return 0
		}
	}
	return int(t[at])
}
