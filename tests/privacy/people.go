package privacy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/wexec/wexec/privacy"
)

// Names in five languages. A detector with lists misses the rare names in running
// text and must find them by other evidence.
var (
	firstNames = strings.Fields("James Mary Robert Patricia Jennifer Michael Linda David Elizabeth Susan Karen Sarah Daniel Emily Oliver Amelia Harriet Graham Fiona Callum Jürgen Monika Stefan Ursula Wolfgang Petra Andreas Sabine Thorsten Birgit Lukas Franziska Jean-Pierre Nathalie François Céline Philippe Aurélie Guillaume Chloé José Carmen Javier Lucía Alejandro Rocío Miguel Inés Giuseppe Chiara Francesco Giulia Alessandro Federica Lorenzo Martina Priya Ahmed Fatima Wei Hiroshi")
	rareNames  = strings.Fields("Thaddeus Xiomara Oluwaseun Eilidh Hroswitha Ffion Zebedee Ignatz Perpetua Tancredi Aodhan Sunniva")
	surnames   = strings.Fields("Smith Johnson Williams Thompson Anderson Robinson Nguyen Campbell O'Brien McCarthy Patel Müller Schneider Hoffmann Schröder Krüger Weiß Zimmermann Bergmann Dubois Lefebvre Moreau Fournier Rousseau García Fernández Martínez Jiménez Rossi Ferrari Esposito Colombo Khan Tanaka Kowalski")
	rareLast   = strings.Fields("Featherstonehaugh Quispe Wojtyla Oyelaran Huckelberry Zschiesche Dinkelacker Larrañaga Ponticelli Abernathy Strickland Vandersloot Kettering Ashdown")
)

func (g *generator) name() string {
	first := g.pick(firstNames...)
	last := g.pick(surnames...)
	switch g.r.IntN(12) {
	case 0:
		first = g.pick(rareNames...)
	case 1, 2, 3:
		last = g.pick(rareLast...)
	}
	switch g.r.IntN(12) {
	case 0:
		return first + " " + g.from("ABCDEFGHJKLMPRST", 1) + ". " + last
	case 1:
		return first + " " + g.pick("von ", "de ", "van der ") + last
	case 2:
		return first + " " + last + "-" + g.pick(surnames...)
	}
	return first + " " + last
}

// knownName has a common first name.
func (g *generator) knownName() string {
	return g.pick(firstNames...) + " " + g.pick(append(surnames, rareLast...)...)
}

func (g *generator) address() string {
	n := strconv.Itoa(1 + g.r.IntN(320))
	switch g.r.IntN(6) {
	case 0, 1:
		street := g.pick("Maple", "Oak", "Washington", "Cedar Hill", "Lincoln", "North 5th", "Sunset", "Elm", "Martin Luther King Jr", "Park", "St Johns")
		s := n + " " + street + " " + g.pick("Street", "St", "Avenue", "Ave", "Road", "Rd", "Lane", "Drive", "Blvd", "Court")
		if g.r.IntN(4) == 0 {
			s += ", " + g.pick("Apt 4B", "Suite 210", "Unit 7", "#12")
		}
		if g.r.IntN(4) > 0 {
			s += ", " + g.pick("Springfield, IL 62704", "Portland, OR 97205", "New York, NY 10013", "San Antonio, TX 78205", "Fort Collins, CO 80521-1234")
		}
		return s
	case 2:
		return n + " " + g.pick("High", "Church", "Station", "Victoria", "King's") + " " + g.pick("Street", "Road", "Lane", "Close", "Terrace") + ", " +
			g.pick("London SW1A 2AA", "Manchester M1 4BT", "Leeds, LS1 6AE", "Bristol BS1 5TR", "Edinburgh EH1 2NG")
	case 3:
		return g.pick("Hauptstraße", "Goethestr.", "Schillerweg", "Lindenallee", "Marktplatz", "Berliner Straße", "Am Waldrand", "Karl-Marx-Allee", "Bahnhofstrasse") + " " + n + g.pick("", "", "a") + ", " +
			g.pick("10115 Berlin", "80331 München", "20095 Hamburg", "60311 Frankfurt am Main", "50667 Köln", "01067 Dresden")
	case 4:
		return n + g.pick(", ", " ", " bis ") + g.pick("rue de la Paix", "avenue des Champs-Élysées", "boulevard Saint-Germain", "rue Victor Hugo", "place de la République", "chemin des Vignes") + ", " +
			g.pick("75002 Paris", "69001 Lyon", "13001 Marseille", "31000 Toulouse", "33000 Bordeaux")
	}
	return g.pick("Calle Mayor", "Avenida de la Constitución", "Via Roma", "Via Giuseppe Garibaldi", "Corso Italia", "Plaza de España") + " " + n + ", " + g.pick("28013 Madrid", "41001 Sevilla", "00184 Roma", "20121 Milano", "08002 Barcelona")
}

func (g *generator) email() string {
	user := strings.ToLower(strings.NewReplacer("'", "", "ü", "ue", "é", "e", "í", "i", "ç", "c", "ö", "oe", "ß", "ss", "á", "a", "ó", "o", "ñ", "n").Replace(g.pick(firstNames...) + g.pick(".", "_", "", "-") + g.pick(surnames...)))
	if g.r.IntN(4) == 0 {
		user += g.pick("+news", "99", "+"+g.digits(2))
	}
	return user + "@" + g.pick("example.org", "example.com", "mail.example.net", "firma.example.de", "acme.io", "uni-beispiel.de", "posta.example.it", "correo.example.es", "corp.example.co.uk")
}

func (g *generator) date() string {
	y, m, d := 1930+g.r.IntN(80), 1+g.r.IntN(12), 1+g.r.IntN(28)
	switch g.r.IntN(5) {
	case 0:
		return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
	case 1:
		return fmt.Sprintf("%02d.%02d.%04d", d, m, y)
	case 2:
		return fmt.Sprintf("%02d/%02d/%04d", m, d, y)
	case 3:
		return fmt.Sprintf("%s %d, %d", g.pick("January", "March", "May", "October"), d, y)
	}
	return fmt.Sprintf("%d %s %d", d, g.pick("June", "August", "mars", "septiembre", "maggio"), y)
}

// word is text without personal data to put around values.
func (g *generator) word() string {
	return g.pick("the order was shipped", "see the report", "bitte prüfen", "merci de vérifier", "por favor revisar", "da controllare", "please check this", "the build has finished", "customer asked again", "nothing else changed")
}

// one puts a value of a kind into a sentence, log line, table or document.
func (g *generator) one(kind privacy.Kind, i int) Sample {
	var b builder
	name := fmt.Sprintf("%s %d", kind, i)
	value, label := "", ""
	switch kind {
	case privacy.Email:
		value, label = g.email(), g.pick("email", "mail", "contact_email", "from")
	case privacy.Card:
		value, label = g.card(), g.pick("card", "card_number", "payment", "cc")
	case privacy.IBAN:
		value, label = g.iban(), g.pick("iban", "bank", "payout_account")
	case privacy.SSN:
		value, label = g.ssn(), g.pick("ssn", "social_security_number", "employee_record")
	case privacy.IP:
		value, label = g.ip(), g.pick("client_ip", "remote_addr", "host", "peer")
	case privacy.MAC:
		value, label = g.mac(), g.pick("mac", "device", "interface")
	case privacy.VAT:
		value, label = g.vat(), g.pick("vat_id", "USt-IdNr", "tva", "company")
	case privacy.NationalID:
		value, label = g.national()
	case privacy.Secret:
		value, label = g.secret(), g.pick("token", "credentials", "value", "config")
	case privacy.Birthdate:
		value, label = g.date(), g.pick("date of birth", "dob", "Geburtsdatum", "date de naissance", "fecha de nacimiento", "data di nascita", "born on", "birthday")
	case privacy.Passport:
		value, label = g.from("CFGHJKLMNPRTVWXYZ", 1)+g.digits(8), g.pick("passport number", "Reisepass", "passeport", "pasaporte", "passport no.")
	case privacy.Licence:
		value, label = g.from(upperLetters, 1)+g.digits(7), g.pick("driver's license", "driving licence", "Führerschein", "permis de conduire", "licence number")
	case privacy.Account:
		value, label = g.digits(9+g.r.IntN(3)), g.pick("account number", "Kontonummer", "numéro de compte", "account no.", "número de cuenta")
	}
	switch g.r.IntN(7) {
	case 0:
		b.add("%s; %s: ", g.word(), label).mark(kind, value).add(", %s.", g.word())
	case 1:
		b.add("2026-11-%02dT08:%02d:12Z INFO worker=7 %s=", 1+g.r.IntN(28), g.r.IntN(60), strings.NewReplacer(" ", "_", "'", "", ".", "").Replace(label))
		if strings.ContainsAny(value, " ,\n") {
			b.add("%q %s", "", "")
			return g.quoted(kind, value, label, name)
		}
		b.mark(kind, value).add(" took=12ms")
	case 2:
		return g.quoted(kind, value, label, name)
	case 3:
		b.add("| id | %s | note |\n|---|---|---|\n| %d | ", label, g.r.IntN(1000)).mark(kind, oneLine(value)).add(" | %s |\n", g.word())
	case 4:
		b.add("id,%s,note\n%d,", label, g.r.IntN(1000))
		if v := oneLine(value); strings.Contains(v, ",") {
			b.add(`"`).mark(kind, v).add(`"`)
		} else {
			b.mark(kind, v)
		}
		b.add(",%s\n", g.word())
	case 5:
		b.add("%s\n%s: ", g.word(), label).mark(kind, value).add("\n%s", g.word())
	default:
		b.add("%s (%s ", g.word(), label).mark(kind, value).add(") %s", g.word())
	}
	return b.sample(name)
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// quoted is written in a JSON document.
func (g *generator) quoted(kind privacy.Kind, value, label, name string) Sample {
	var b builder
	b.add(`{"id": %d, "record": {"%s": "`, g.r.IntN(100000), strings.NewReplacer(" ", "_", "'", "", ".", "").Replace(label))
	b.mark(kind, strings.ReplaceAll(value, "\n", `\n`)).add(`", "note": %q}}`, g.word())
	return b.sample(name)
}

func (g *generator) phones(i int) Sample {
	var b builder
	name := fmt.Sprintf("phone %d", i)
	switch g.r.IntN(8) {
	case 0:
		b.add("Call %s at ", g.pick("us", "her", "the office")).mark(privacy.Phone, g.phone(true)).add(" before noon, %s.", g.word())
	case 1:
		b.add("Tel.: ").mark(privacy.Phone, g.phone(false)).add("\n%s", g.word())
	case 2:
		b.add(`{"id": %d, "%s": "`, g.r.IntN(99999), g.pick("phone", "mobile", "tel", "contactPhone", "fax_number")).mark(privacy.Phone, g.phone(g.r.IntN(2) == 0)).add(`", "status": "open"}`)
	case 3:
		b.add("name,phone,city\nACME,").mark(privacy.Phone, g.phone(g.r.IntN(2) == 0)).add(",Berlin\n")
	case 4:
		b.add("%s, ", g.word()).mark(privacy.Phone, g.phone(true)).add(", %s", g.word())
	case 5:
		b.add("08:00:12 INFO sms sent to ").mark(privacy.Phone, g.phone(true)).add(" in 120ms")
	case 6:
		b.add("%s %s ", g.word(), g.pick("Telefon", "téléphone", "teléfono", "telefono", "mobile")).mark(privacy.Phone, g.phone(false)).add(" %s", g.word())
	default:
		b.add("%s, reach me: (%s) ", g.word(), g.pick("mobile", "office")).mark(privacy.Phone, g.phone(true)).add(".")
	}
	return b.sample(name)
}

func (g *generator) names(i int) Sample {
	var b builder
	name := fmt.Sprintf("name %d", i)
	switch g.r.IntN(9) {
	case 0:
		b.add("%s, %s ", g.word(), g.pick("Mr", "Mrs.", "Dr.", "Herr", "Frau", "Mme", "Señora", "Prof. Dr.", "Sig.")).mark(privacy.Name, g.name()).add(" %s.", g.word())
	case 1:
		b.add(`{"id": %d, "%s": "`, g.r.IntN(999), g.pick("full_name", "customerName", "contact_name", "account_holder", "nom_complet")).mark(privacy.Name, g.name()).add(`", "state": "active"}`)
	case 2:
		b.add("name,email,total\n").mark(privacy.Name, g.name()).add(",").mark(privacy.Email, g.email()).add(",12.50\n")
	case 3:
		b.add("From: ").mark(privacy.Name, g.knownName()).add(" <").mark(privacy.Email, g.email()).add(">\nSubject: %s\n", g.word())
	case 4:
		b.add("yesterday ").mark(privacy.Name, g.knownName()).add(" %s", g.pick("called about the invoice", "signed the contract", "asked for a refund", "schrieb uns", "a écrit", "ha llamado", "ha chiamato"))
	case 5:
		b.add("| Name | City |\n|---|---|\n| ").mark(privacy.Name, g.knownName()).add(" | Berlin |\n")
	case 6:
		b.add("assigned to ").mark(privacy.Name, g.knownName()).add(", %s", g.word())
	case 7:
		b.add("Kind regards,\n").mark(privacy.Name, g.knownName()).add("\nHead of Sales")
	default:
		b.add(`{"user": {"name": "`).mark(privacy.Name, g.name()).add(`", "id": 12}, "email": "`).mark(privacy.Email, g.email()).add(`"}`)
	}
	return b.sample(name)
}

func (g *generator) addresses(i int) Sample {
	var b builder
	name := fmt.Sprintf("address %d", i)
	switch g.r.IntN(6) {
	case 0:
		b.add("Ship it to ").mark(privacy.Address, g.address()).add(" please, %s.", g.word())
	case 1:
		b.add(`{"id": 4, "%s": "`, g.pick("address", "street_address", "billingAddress", "anschrift", "adresse")).mark(privacy.Address, g.address()).add(`"}`)
	case 2:
		b.add("id;%s;note\n7;", g.pick("address", "adresse", "anschrift")).mark(privacy.Address, g.address()).add(";%s\n", g.word())
	case 3:
		b.add("%s\nAddress: ", g.word()).mark(privacy.Address, g.address()).add("\n%s", g.word())
	case 4:
		b.add("%s. ", g.word()).mark(privacy.Address, g.address()).add(". %s", g.word())
	default:
		b.add("The customer lives at ").mark(privacy.Address, g.address()).add(" since May.")
	}
	return b.sample(name)
}

// nothing is text that resembles personal data but holds none.
func (g *generator) nothing(i int) Sample {
	var b builder
	switch g.r.IntN(22) {
	case 0:
		b.add("order %s-%s-%s was shipped", g.digits(3), g.digits(7), g.digits(7))
	case 1:
		b.add("version %d.%d.%d.%d of the driver", g.r.IntN(9), g.r.IntN(20), g.r.IntN(20), g.r.IntN(300))
	case 2:
		b.add("commit %s by the bot", g.from(hexDigits, 40))
	case 3:
		b.add("request %s-%s-4%s-a%s-%s failed", g.from(hexDigits, 8), g.from(hexDigits, 4), g.from(hexDigits, 3), g.from(hexDigits, 3), g.from(hexDigits, 12))
	case 4:
		b.add("at 17%s ms, that is 2026-11-%02dT08:%02d:00.123Z", g.digits(11), 1+g.r.IntN(28), g.r.IntN(60))
	case 5:
		b.add("ISBN 978-%s-%s-%s-%s", g.digits(1), g.digits(2), g.digits(6), g.digits(1))
	case 6:
		b.add("total: %s,%s.%s EUR, before %s.%s", g.digits(3), g.digits(3), g.digits(2), g.digits(4), g.digits(2))
	case 7:
		b.add("tracking number 1Z%s, parcel %s", g.from(upperLetters+"0123456789", 16), g.digits(12))
	case 8:
		b.add("sha256:%s", g.from(hexDigits, 64))
	case 9:
		b.add("position %d.%s, -%d.%s", g.r.IntN(90), g.digits(6), g.r.IntN(180), g.digits(6))
	case 10:
		b.add(`{"id": %s, "order_id": "%s", "sku": "AB-%s", "count": %s}`, "1"+g.digits(9), g.digits(16), g.digits(6), "2"+g.digits(3))
	case 11:
		b.add("import { x } from '@scope/pkg@%d.%d.%d'; icon@2x.png", g.r.IntN(9), g.r.IntN(9), g.r.IntN(9))
	case 12:
		b.add("2026-11-21 08:%02d:%02d,%s INFO pid=%s took %sms", g.r.IntN(60), g.r.IntN(60), g.digits(3), g.digits(5), g.digits(4))
	case 13:
		b.add("The %s of %s said on %s that the budget is %s million", g.pick("Ministry", "Bank", "University"), g.pick("Finance", "England", "Bologna"), g.pick("Monday", "Tuesday"), g.digits(3))
	case 14:
		b.add("color #%s; width: %spx; margin: %s", g.from(hexDigits, 6), g.digits(3), "0 12px 0 4px")
	case 15:
		b.add("invoice no. %s-%s dated %02d.%02d.2026", "2026", g.digits(6), 1+g.r.IntN(28), 1+g.r.IntN(12))
	case 16:
		b.add("func New%s(%s int) *%s { return &%s{%s: %s} }", "Reader", "n", "Reader", "Reader", "size", g.digits(5))
	case 17:
		b.add("EAN %s, lot %s, part no. %s-%s-%s", g.digits(13), g.digits(8), g.digits(3), g.digits(2), g.digits(4))
	case 18:
		b.add("| year | sales |\n|---|---|\n| 2024 | %s %s |\n| 2025 | %s %s |\n", g.digits(3), g.digits(3), g.digits(3), g.digits(3))
	case 19:
		b.add("git clone git@github.com:acme/%s.git && cd %s", g.from(lowerLetters, 6), g.from(lowerLetters, 6))
	case 20:
		b.add("matrix: %s %s %s %s %s %s", g.digits(3), g.digits(3), g.digits(4), g.digits(3), g.digits(3), g.digits(4))
	default:
		b.add("password policy: at least %d characters; token limit %s; see the key in the table", 8+g.r.IntN(8), g.digits(4))
	}
	return b.sample(fmt.Sprintf("nothing %d", i))
}
