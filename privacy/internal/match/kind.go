// Package match has what the detectors of personal data share: the kinds, the
// text that is searched with the matches found in it, the context that words
// and field names give to a value, and numbers written in groups. It finds
// nothing itself.
package match

// Kind names a kind of personal data.
type Kind string

// The kinds of this module. A policy may define more.
const (
	Email      Kind = "email"
	Phone      Kind = "phone"
	SSN        Kind = "ssn"
	Card       Kind = "card"
	IBAN       Kind = "iban"
	Account    Kind = "account"
	IP         Kind = "ip"
	MAC        Kind = "mac"
	Address    Kind = "address"
	Name       Kind = "name"
	Birthdate  Kind = "birthdate"
	Passport   Kind = "passport"
	Licence    Kind = "licence"
	NationalID Kind = "nationalid"
	VAT        Kind = "vat"
	Secret     Kind = "secret"
	Personal   Kind = "personal"
)

// Context is a set of bits: what the words near a value and the name of its
// field are about.
type Context uint32

// The bits of a Context. The first ones name a kind, the others mostly speak
// against one.
const (
	AboutEmail Context = 1 << iota
	AboutPhone
	AboutSSN
	AboutCard
	AboutIBAN
	AboutAccount
	AboutIP
	AboutMAC
	AboutAddress
	AboutName
	AboutBirth
	AboutPassport
	AboutLicence
	AboutNationalID
	AboutVAT
	AboutSecret
	AboutOrder     // orders, amounts and other numbers of things
	AboutVersion   // versions and times
	AboutMessage   // Message-ID and similar headers
	AboutRouting   // routing numbers and sort codes
	AboutGreeting  // "dear", "hello", "regards"
	AboutNameLabel // exactly the label "Name"
)

// contextOf is the bit of a kind, 0 for Personal and kinds of a policy.
func contextOf(k Kind) Context {
	for i, kind := range [...]Kind{Email, Phone, SSN, Card, IBAN, Account, IP, MAC, Address, Name, Birthdate, Passport, Licence, NationalID, VAT, Secret} {
		if k == kind {
			return 1 << i
		}
	}
	return 0
}
