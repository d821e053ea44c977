package contact

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

// oracle reports whether the library accepts the digits of an international number.
func oracle(digits string) bool {
	n, err := phonenumbers.Parse("+"+digits, "ZZ")
	return err == nil && phonenumbers.IsValidNumber(n) && "+"+digits == phonenumbers.Format(n, phonenumbers.E164)
}

func TestTableAgreesWithTheOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	each := 60
	if testing.Short() {
		each = 15
	}
	agree, differ, valid := 0, 0, 0
	check := func(digits string) {
		want := oracle(digits)
		got := phoneCountry([]byte(digits)) != 0
		if want {
			valid++
		}
		if want == got {
			agree++
			return
		}
		differ++
		if differ < 20 {
			t.Logf("+%s: table %v, library %v", digits, got, want)
		}
	}
	for region := range phonenumbers.GetSupportedRegions() {
		code := strconv.Itoa(phonenumbers.GetCountryCodeForRegion(region))
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.MOBILE, phonenumbers.FIXED_LINE, phonenumbers.TOLL_FREE} {
			n := phonenumbers.GetExampleNumberForType(region, kind)
			if n == nil {
				continue
			}
			national := phonenumbers.GetNationalSignificantNumber(n)
			check(code + national)
			for range each {
				// Other last digits, and sometimes another length.
				b := []byte(national)
				for i := r.IntN(len(b)); i < len(b); i++ {
					b[i] = byte('0' + r.IntN(10))
				}
				switch r.IntN(8) {
				case 0:
					b = b[:len(b)-1]
				case 1:
					b = append(b, byte('0'+r.IntN(10)))
				}
				check(code + string(b))
			}
		}
	}
	t.Logf("%d numbers, %d of them valid; %d differ", agree+differ, valid, differ)
	if valid < 1000 || float64(differ) > 0.001*float64(agree) {
		t.Errorf("%d of %d numbers differ from the library", differ, agree+differ)
	}
}

func TestCountryOfANumberIsTheOracles(t *testing.T) {
	for region := range phonenumbers.GetSupportedRegions() {
		n := phonenumbers.GetExampleNumber(region)
		if n == nil {
			continue
		}
		digits := phonenumbers.Format(n, phonenumbers.E164)[1:]
		if got := (number{country: phoneCountry([]byte(digits))}).region().id; got != phonenumbers.GetRegionCodeForNumber(n) {
			t.Errorf("+%s: %s, the library says %s", digits, got, phonenumbers.GetRegionCodeForNumber(n))
		}
	}
}

func TestSpellingsOfANumberAreOne(t *testing.T) {
	p := NewPhones([]string{"DE", "US"})
	for want, list := range map[string][]string{
		"+4930901820":     {"+49 30 901820", "030 901820", "030/901820", "(030) 901820", "0049 30 901820", "+49 (0)30 901820", "+49 (30) 901820"},
		"+12125550134":    {"(212) 555-0134", "212-555-0134", "+1 212 555 0134", "1-212-555-0134", "2125550134"},
		"+12125550134x12": {"212-555-0134 x12", "(212) 555-0134 ext. 12"},
		"+442079460018":   {"+44 20 7946 0018", "+44 (0)20 7946 0018"},
	} {
		for _, s := range list {
			if got, _ := p.Canonical(s); got != want {
				t.Errorf("%q is %s, not %s", s, got, want)
			}
		}
	}
}

func TestPhoneTableIsWhatTheGeneratorWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("short: builds the generator")
	}
	out := filepath.Join(t.TempDir(), "table")
	if log, err := exec.Command("go", "run", "../../../internal/tools/phonegen", "-out", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != phoneTable {
		t.Error("phonetable.bin is not what phonegen writes; run go generate ./privacy/internal/contact")
	}
}
