package privacy

import (
	"math/rand/v2"

	"github.com/wexec/wexec/privacy"
)

// Generate makes a corpus: n samples for each kind, and twice n that hold
// nothing. The same seed gives the same corpus.
func Generate(seed uint64, n int) []Sample {
	g := &generator{rand.New(rand.NewPCG(seed, 7))}
	var all []Sample
	for _, kind := range []privacy.Kind{privacy.Email, privacy.Card, privacy.IBAN, privacy.SSN, privacy.IP, privacy.MAC, privacy.VAT, privacy.NationalID,
		privacy.Secret, privacy.Birthdate, privacy.Passport, privacy.Licence, privacy.Account} {
		for i := range n {
			all = append(all, g.one(kind, i))
		}
	}
	for i := range n {
		all = append(all, g.phones(i), g.names(i), g.addresses(i), g.nothing(2*i), g.nothing(2*i+1))
	}
	return all
}
