package privacy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

type customer struct {
	ID    int    `json:"id"`
	Note  string `json:"note"` // in front of the name, which only the second pass knows
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
	City  string `json:"city"`
}

// customers have names that are in no list.
func customers(n int) []customer {
	syllables := []string{"Bra", "Kel", "Vor", "Tam", "Zi", "Ondu", "Pels", "Gri", "Ha", "Myr"}
	all := make([]customer, n)
	for i := range all {
		name := syllables[i%10] + "no" + string(rune('a'+i%7)) + " " + syllables[i/10%10] + syllables[i/100%10] + "ix"
		all[i] = customer{i, fmt.Sprintf("%s asked to be called at 212-555-%04d about order %d", name, i, 1000+i), name, fmt.Sprintf("c%d.%s@example-%d.org", i, strings.ToLower(syllables[i%10]), i%7), fmt.Sprintf("+1 212 555 %04d", i), "Springfield"}
	}
	return all
}

func TestNothingOfFiveHundredCustomersReachesTheProgramOrTheAgent(t *testing.T) {
	v := vault(t, Config{})
	all := customers(500)
	doc, err := json.Marshal(map[string]any{"customers": all})
	if err != nil {
		t.Fatal(err)
	}
	out, counts, err := v.JSON(doc, "")
	if err != nil {
		t.Fatal(err)
	}
	if counts.Kinds[Email] != 500 || counts.Kinds[Phone] != 1000 || counts.Kinds[Name] != 1000 {
		t.Errorf("counts %v", counts.Kinds)
	}
	for _, c := range all {
		for _, value := range []string{c.Email, c.Phone, fmt.Sprintf("212-555-%04d", c.ID), c.Name} {
			if strings.Contains(string(out), value) {
				t.Errorf("%s is in the answer", value)
			}
		}
	}
	var seen struct{ Customers []customer }
	if err := json.Unmarshal(out, &seen); err != nil || len(seen.Customers) != 500 {
		t.Fatal(err)
	}
	domains := make(map[string]int)
	for i, c := range seen.Customers {
		domains[v.Domain(c.Email)]++
		if v.revealAll(c.Email) != all[i].Email || v.revealAll(c.Name) != all[i].Name || c.ID != i || c.City != "Springfield" {
			t.Fatalf("customer %d came back as %+v", i, c)
		}
		if !v.Equal(c.Phone, fmt.Sprintf("(212) 555-%04d", i)) {
			t.Errorf("%s is not the number of customer %d", c.Phone, i)
		}
	}
	if len(domains) != 7 {
		t.Errorf("%d domains: %v", len(domains), domains)
	}
}
