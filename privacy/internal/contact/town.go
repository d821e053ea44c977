package contact

import (
	"bytes"
	"strings"
	"sync"

	"github.com/wexec/wexec/privacy/internal/char"
)

// cityBehind is the end of what follows a street and belongs to its address: a
// unit, a town, a state and a postal code.
func cityBehind(t []byte, i int) int {
	i = unitBehind(t, i)
	if stop := germanTown(t, i); stop > i {
		return stop
	}
	k := skip(t, i, ',')
	comma := k > i
	k = skipSpaces(t, skip(t, k, '\n'))
	// Up to four words of a town, then a state and a code, or a British code.
	for n := 0; n < 5; n++ {
		a, b := nextWord(t, k)
		if b == a {
			break
		}
		if stop := britishCode(t, a); stop > 0 {
			return stop
		}
		if b-a == 2 && char.IsUpper(t[a]) && char.IsUpper(t[a+1]) && n > 0 {
			c, d := nextWord(t, b)
			if d-c == 5 && char.CountDigits(t[c:d]) == 5 && c <= b+2 {
				if d+4 < len(t) && t[d] == '-' && char.IsDigit(t[d+1]) && char.IsDigit(t[d+4]) {
					d += 5
				}
				return d
			}
			return b
		}
		if !char.IsUpper(t[a]) && t[a] < 0x80 {
			break
		}
		if comma && n < 2 && b-a > 2 && (b >= len(t) || t[b] == '.' || t[b] == ';' || t[b] == '\n' || t[b] == '"' || t[b] == ')') {
			return b // a town at the end of a sentence or a line
		}
		k = skip(t, b, ',')
		if n > 0 {
			k = skip(t, k, '\n')
		}
	}
	return i
}

// skip skips one sign at i.
func skip(t []byte, i int, sign byte) int {
	if i < len(t) && t[i] == sign {
		return i + 1
	}
	return i
}

func skipSpaces(t []byte, i int) int {
	for i < len(t) && t[i] == ' ' {
		i++
	}
	return i
}

// unitBehind is the end of ", Apt 5" or ", #12" at i, or i.
func unitBehind(t []byte, i int) int {
	k := skipSpaces(t, skip(t, i, ','))
	if k < len(t) && t[k] == '#' && k+1 < len(t) && char.IsDigit(t[k+1]) {
		return char.WordEnd(t, k+1)
	}
	a, b := nextWord(t, k)
	if b > a && roleOf(t[a:b])&streetUnit != 0 {
		c, d := nextWord(t, skip(t, b, '.'))
		if d > c && d-c <= 5 && (char.IsDigit(t[c]) || d-c <= 2) {
			return d
		}
	}
	return i
}

// germanTown is the end of ", 10115 Berlin" at i, four or five digits and a name,
// or i.
func germanTown(t []byte, i int) int {
	k := skip(t, i, ',')
	for k < len(t) && (t[k] == ' ' || t[k] == '\n') && k < i+3 {
		k++
	}
	if k == i+1 && k+4 < len(t) && string(t[k:k+3]) == "in " && char.IsDigit(t[k+3]) {
		k += 3
	}
	if k+2 < len(t) && (t[k] == 'D' || t[k] == 'F') && t[k+1] == '-' {
		k += 2
	}
	_, n := char.Number(t, k)
	if n < 4 || n > 5 || k+n+1 >= len(t) || t[k+n] != ' ' || k == i {
		return i
	}
	a, b := nextWord(t, k+n)
	if b-a < 3 || !char.IsUpper(t[a]) && !char.IsUpperRune(t[a:]) || a != k+n+1 || !townWord(t[a:b]) {
		return i
	}
	// More words: Bad Homburg, Frankfurt am Main, New York.
	for range 3 {
		c, d := nextWord(t, b)
		if c != b+1 || t[b] != ' ' || d == c {
			break
		}
		if !townParticles[string(t[c:d])] {
			switch string(t[b-2 : b]) { // the end of a particle
			case "am", "an", "er", "ur", "de", "la", "en":
			default:
				if b-a != 3 {
					return b
				}
			}
			if !char.IsUpper(t[c]) {
				return b
			}
		}
		b = d
	}
	return b
}

var townParticles = char.Set(true, "am an im der sur de la sous en")

// townWord reports letters that are not all capitals.
func townWord(w []byte) bool {
	small := false
	for _, c := range w {
		if char.IsDigit(c) || c == '_' {
			return false
		}
		small = small || char.IsLower(c) || c >= 0x80
	}
	return small
}

// britishCode is the end of a postal code such as SW1A 2AA at i, or 0.
func britishCode(t []byte, i int) int {
	k := i
	for k < len(t) && char.IsUpper(t[k]) {
		k++
	}
	if k-i < 1 || k-i > 2 || k >= len(t) || !char.IsDigit(t[k]) {
		return 0
	}
	k++
	if k < len(t) && (char.IsDigit(t[k]) || char.IsUpper(t[k])) {
		k++
	}
	if k+4 > len(t) || t[k] != ' ' {
		return 0
	}
	k++
	if !char.IsDigit(t[k]) || !char.IsUpper(t[k+1]) || !char.IsUpper(t[k+2]) || k+3 < len(t) && char.IsWord(t[k+3]) {
		return 0
	}
	return k + 3
}

// role is what a word can be in a street address.
type role uint8

const (
	streetEnd     role = 1 << iota // Main Street
	streetWeakEnd                  // Reyes Shore: the names of other things end so too
	streetStart                    // in front of a number: 12 rue de la Paix
	streetBegin                    // a number is behind: Via Roma 12
	streetCommon                   // as streetBegin, but with a comma: Jardim de Faria, 12
	streetSmall                    // may begin with a small letter
	streetUnit                     // Apt 5
)

// streetWords are the words of streets in the lists of postal services.
var streetWords = [...]struct {
	role  role
	words string
}{
	{streetEnd, "street st avenue ave road rd boulevard blvd lane ln drive dr court ct place pl square sq terrace ter way parkway pkwy circle cir highway hwy trail trl close crescent cres grove mews row walk gardens hill loop alley plaza turnpike pike crossing expressway run ridge path point broadway strand"},
	{streetWeakEnd, "bend bluff bridge brook burg bypass camp canyon cape causeway cliff club common corner course cove creek curve dale dam divide drive estate fall ferry field flat ford forge fork fort freeway garden glen green harbor haven height highway inlet isle island junction knoll lake landing light loaf lock lodge mall manor " +
		"meadow mill mission motorway mount mountain neck orchard oval overpass park passage pine plain port prairie radial ramp ranch rapid rest river road route shoal shore skyway spring spur station stravenue stream street summit throughway trace track trafficway tunnel underpass union valley viaduct view village ville vista well"},
	{streetStart, "rue avenue av boulevard bd bld place allée allee impasse chemin quai cours route square passage via viale piazza corso vicolo largo calle c/ avenida avda plaza paseo carrer camino ronda travesía"},
	{streetBegin, "via viale piazza piazzale corso vicolo largo borgo strada contrada vico salita rotonda incrocio stretto lungomare " +
		"calle c/ avenida avda plaza paseo carrer camino ronda travesía glorieta cuesta vial urbanización pasadizo pasaje callejón rambla carretera acceso cañada " +
		"rua av travessa praça praceta alameda estrada rodovia beco calçada viela ladeira " +
		"rue allée impasse chemin quai boulevard urbanização azinhaga"},
	{streetBegin | streetSmall, "ul ulica ulicy al aleja alei aleje pl plac placu os osiedle osiedlu skwer skwerze rynek rynku rondo bulwar rua travessa calle avenida avda viale piazza vicolo"},
	{streetCommon, "r c aeroporto área campo chácara colônia condomínio conjunto distrito esplanada estação favela fazenda feira jardim lago lagoa loteamento morro núcleo parque passarela pátio quadra recanto residencial setor sítio trecho trevo vale vereda viaduto vila canale acesso marginal quinta bairro " +
		"subida bajada rincón torrente partida muelle parque lado extrarradio chalet barrio barranco bloque calleja jardín lugar polígono prolongación sector senda vía"},
	{streetUnit, "apt apartment unit suite ste floor fl room rm flat bldg building #"},
}

var streetRoles = sync.OnceValue(func() map[string]role {
	m := make(map[string]role, 300)
	for _, list := range streetWords {
		for w := range strings.FieldsSeq(list.words) {
			m[w] |= list.role
		}
	}
	return m
})

// notStreets end as German and Dutch streets do.
var notStreets = sync.OnceValue(func() map[string]bool {
	return char.Set(true, "umweg ausweg rückweg hinweg heimweg rechtsweg dienstweg postweg lösungsweg unterweg vorweg schulweg arbeitsweg übertragungsweg ring hering frühling zwilling lehrling training monitoring engineering rendering clustering string spring "+
		"samstag norweg schlaganfall volgorde opslag der die das den dem ein eine im am auf von zum zur de het een")
})

func roleOf(word []byte) role {
	var store [24]byte
	return streetRoles()[string(char.Lower(&store, word))]
}

// endRole is streetEnd or streetWeakEnd for a word that ends a street, also in the
// plural, else 0.
func endRole(word []byte) role {
	const ends = streetEnd | streetWeakEnd
	if r := roleOf(word) & ends; r != 0 {
		return min(r, streetWeakEnd)
	}
	return roleOf(bytes.TrimSuffix(word, []byte("s"))) & streetWeakEnd
}

// nextWord is the word behind spaces and dots.
func nextWord(t []byte, i int) (from, to int) {
	for i < len(t) && (t[i] == ' ' || t[i] == '.') {
		i++
	}
	from = i
	for i < len(t) && (char.IsWord(t[i]) || (t[i] == '-' || t[i] == '\'') && i > from && i+1 < len(t) && char.IsLetter(t[i+1])) && i-from < 40 {
		i++
	}
	return from, i
}
