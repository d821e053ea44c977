package privacy

// KindInfo describes a kind for people.
type KindInfo struct {
	Kind  Kind   `json:"kind"`
	Words string `json:"description"`
	Check string `json:"check"` // what has to hold before something counts
}

// Kinds describes every kind of this package, in the documented order.
func Kinds() []KindInfo {
	return []KindInfo{
		{Email, "e-mail address", "the form, and a domain that mail can go to"},
		{Phone, "telephone number", "the numbering plan of its country; without a calling code also the groups or a word in front"},
		{SSN, "US social security number", "what was never given out, and the groups or a word in front"},
		{Card, "payment card number", "check digit (Luhn), the issuers' ranges and lengths"},
		{IBAN, "international bank account number", "check digits (mod 97) and the country's length"},
		{Account, "national account number, routing number, sort code", "a word in front; the check digit of routing numbers"},
		{IP, "IPv4 or IPv6 address", "the form; not those of no machine in particular"},
		{MAC, "hardware address", "six pairs, no more"},
		{Address, "postal address", "a house number with the name of a street; in fields for addresses also less"},
		{Name, "name of a person", "the field, a title, a greeting or a list of names: the weakest kind"},
		{Birthdate, "date of birth", "a date behind a word for birth"},
		{Passport, "passport number", "a word in front"},
		{Licence, "driver's licence number", "a word in front"},
		{NationalID, "national identity and tax numbers: UK, DE, FR, ES, IT", "check digits where there are any; a word in front where they prove little"},
		{VAT, "EU VAT number", "the country's check digits; a word in front where there are none"},
		{Secret, "key, token, password, private key, connection string", "the issuer's form, or a name for secrets in front of random characters"},
		{Personal, "anything in a field that the policy always hides", "the policy"},
	}
}
