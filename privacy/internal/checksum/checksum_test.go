package checksum

import "testing"

func TestVAT(t *testing.T) {
	for _, number := range []string{"ATU13585627", "BE0428759497", "DE136695976", "DK13585628", "EE100931558", "EL094259216", "ES54362315K", "ESA13585625", "FI20774740", "FR40303265045", "GB980780684",
		"HR33392005961", "HU12892312", "IE6433435F", "IT00743110157", "LU15027442", "MT11679112", "PL8567346215", "PT501964843", "SE123456789701", "SI50223054", "SK2022749619"} {
		w := []byte(number[2:])
		if VAT(number[0], number[1], w) == 0 {
			t.Errorf("%s is invalid", number)
		}
		at := len(w) - 1
		if w[at] < '0' || w[at] > '9' || number[:2] == "SE" {
			at = len(w) - 4
		}
		w[at] = '0' + (w[at]-'0'+1)%10
		if VAT(number[0], number[1], w) != 0 {
			t.Errorf("%s with another digit, %s, is valid", number, w)
		}
	}
	for _, number := range []string{"DE", "DE1", "XX123456789", "FRAB", "DE036695976"} {
		if VAT(number[0], number[1], []byte(number[2:])) != 0 {
			t.Errorf("%s is valid", number)
		}
	}
}

func TestNationalNumbers(t *testing.T) {
	for name, k := range map[string]struct {
		valid        func([]byte) bool
		right, wrong string
	}{
		"IBAN":           {IBAN, "DE89370400440532013000", "DE88370400440532013000"},
		"routing":        {Routing, "021000021", "021000022"},
		"card":           {Luhn, "4111111111111111", "4111111111111112"},
		"SSN":            {SSN, "536228791", "666228791"},
		"NIR":            {NIR, "255081416802538", "255081416802539"},
		"SteuerID":       {SteuerID, "36574261809", "36574261808"},
		"NHS":            {NHS, "9434765870", "9434765871"},
		"DNI":            {DNI, "12345678Z", "12345678A"},
		"NIE":            {DNI, "X1234567L", "X1234567M"},
		"codice fiscale": {CodiceFiscale, "RSSMRA85T10A562S", "RSSMRA85T10A562T"},
		"NINO":           {NINO, "AB123456C", "BG123456C"},
	} {
		if !k.valid([]byte(k.right)) || k.valid([]byte(k.wrong)) {
			t.Errorf("%s: %s is %v, %s is %v", name, k.right, k.valid([]byte(k.right)), k.wrong, k.valid([]byte(k.wrong)))
		}
	}
}
