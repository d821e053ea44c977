package privacy

import (
	"slices"

	"github.com/wexec/wexec/privacy/internal/match"
)

// Kind names a kind of personal data. In addition to the kinds of this package, which
// [Kinds] lists, a policy may define kinds by patterns and lists.
type Kind = match.Kind

// The kinds that are known without any configuration.
const (
	Email      = match.Email
	Phone      = match.Phone
	SSN        = match.SSN        // US social security number
	Card       = match.Card       // payment card
	IBAN       = match.IBAN       // international bank account number
	Account    = match.Account    // national bank account, sort code or routing number, by context
	IP         = match.IP         // IPv4 and IPv6 address
	MAC        = match.MAC        // hardware address
	Address    = match.Address    // postal address
	Name       = match.Name       // name of a person
	Birthdate  = match.Birthdate  // date of birth, by context
	Passport   = match.Passport   // passport number, by context
	Licence    = match.Licence    // driver's licence number, by context
	NationalID = match.NationalID // national identity and tax numbers of UK, DE, FR, ES, IT
	VAT        = match.VAT        // EU VAT number
	Secret     = match.Secret     // key, token, password, private key, connection string
	Personal   = match.Personal   // the value of a field that the policy always hides
)

// KindInfo describes a kind for people.
type KindInfo struct {
	Kind        Kind   `json:"kind"`
	Description string `json:"description"`
	Check       string `json:"check"` // what a value must fulfill to count
}

var kinds = []KindInfo{
	{Email, "email address", "the form, and a domain that can receive mail"},
	{Phone, "telephone number", "the numbering plan of the country; without a calling code also the groups or a label"},
	{SSN, "US social security number", "the ranges that are assigned, and the groups or a label"},
	{Card, "payment card number", "check digit (Luhn), issuer ranges and lengths"},
	{IBAN, "international bank account number", "check digits (mod 97) and the length for the country"},
	{Account, "national account number, routing number, sort code", "a label; the check digit of routing numbers"},
	{IP, "IPv4 or IPv6 address", "the form; not addresses of no particular machine"},
	{MAC, "hardware address", "exactly six pairs"},
	{Address, "postal address", "a house number with the name of a street; less in fields for addresses"},
	{Name, "name of a person", "the field, a title, a greeting or a list of names: the least reliable kind"},
	{Birthdate, "date of birth", "a date behind a word for birth"},
	{Passport, "passport number", "a label"},
	{Licence, "driver's licence number", "a label"},
	{NationalID, "national identity and tax numbers: UK, DE, FR, ES, IT", "check digits if there are any; a label where they prove little"},
	{VAT, "EU VAT number", "the check digits of the country; a label if there are none"},
	{Secret, "key, token, password, private key, connection string", "the form of the issuer, or a label for secrets in front of random characters"},
	{Personal, "any value of a field that the policy always hides", "the policy"},
}

// Kinds describes every kind of this package, in the documented order.
func Kinds() []KindInfo { return slices.Clone(kinds) }

// DefaultKinds lists the kinds that have a form and a validator: what is searched
// if a policy does not name kinds.
func DefaultKinds() []Kind { return []Kind{Email, Phone, Card, SSN, IBAN, Secret} }

func knownKinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, info := range kinds {
		all[i] = info.Kind
	}
	return all
}

// Known reports whether k is a kind of this package.
func Known(k Kind) bool { return slices.Contains(knownKinds(), k) }
