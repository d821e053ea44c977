package privacy

// knownRegion reports whether phone numbers can be read in a country.
func knownRegion(r string) bool {
	return len(r) == 2 && r[0] >= 'A' && r[0] <= 'Z' && r[1] >= 'A' && r[1] <= 'Z'
}
