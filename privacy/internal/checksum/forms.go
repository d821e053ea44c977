package checksum

import "strings"

// The forms of numbers that states print on documents, without the signs between
// their groups, see form. Several countries share most of them.
const (
	// France and Korea have letters inside, Canada and Singapore at the end. Germany
	// and Luxembourg use any letters and digits, the Netherlands in part.
	passportForms = "####### ######## ######### ########## @###### @####### @######## @######### @@###### @@####### @@@###### @@@####### " +
		"##@@##### @######@@ @###@#### @#######@"
	passportWordForms = "@@******# @********"
	// Digits: most countries. A letter last: Spain, Ireland, Singapore, Finland, Chile,
	// Hungary, China, the Netherlands. Letters inside: Germany, Italy, France (Corsica),
	// Portugal, India, Mexico. Letters first: identity cards.
	nationalForms = "####### ######## ######### ########## ########### ############ ############# ############## ############### ########@ #######@ #######@@ @#######@ @######* @######@ @######## @@###### " +
		"######@@ @@@###### @@@@@####@ ######@###@ #########@ ##########@ ########@### @@######@ @@@@@@##@##@###@ ######@######## #########@@# @@#####@@ @@@@######@@@@@@*# #################* @********* ********# "
	licenceForms = "######## ######### ########## ########### ############ @####### @######## @######### @@######## @@####### @############ @@@@@######@@#@@ @##******** U1*******@ ########@"
	// Behind a word for VAT: without the letters of the country, or from outside of
	// the Union.
	vatOtherForms = "@######## @#######@ CHE######### CHE#########MWST CHE#########TVA CHE#########IVA #########MVA NO#########MVA #########B##"
)

// Passport reports a number of the form of a passport. word: it is written as one
// word, so that letters and digits may be mixed.
func Passport(w []byte, word bool) bool {
	return formOf(w, passportForms) || word && formOf(w, passportWordForms)
}

// National reports a number of the form of a national number or identity card.
func National(w []byte) bool { return formOf(w, nationalForms) }

// Licence reports a number of the form of a driver's licence.
func Licence(w []byte) bool { return formOf(w, licenceForms) }

// VATWithoutCountry reports a number of the form of a VAT number whose country is
// not written, with the check digits of a country that uses them.
func VATWithoutCountry(w []byte) bool {
	for _, f := range vatForms {
		if f.check != nil && formOf(w, f.masks) && f.check(w) {
			return true
		}
	}
	return formOf(w, vatOtherForms)
}

func formOf(w []byte, masks string) bool {
	for mask := range strings.FieldsSeq(masks) {
		if form(w, mask) {
			return true
		}
	}
	return false
}
