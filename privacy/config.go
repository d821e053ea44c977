package privacy

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

// Kind names a kind of personal data. Beside the kinds of this package, which
// [Kinds] lists, a policy may name its own with patterns and lists.
type Kind string

// The kinds that are known without any configuration.
const (
	Email      Kind = "email"
	Phone      Kind = "phone"
	SSN        Kind = "ssn"        // US social security number
	Card       Kind = "card"       // payment card
	IBAN       Kind = "iban"       // international bank account number
	Account    Kind = "account"    // national bank account and sort code or routing number, by context
	IP         Kind = "ip"         // IPv4 and IPv6 address
	MAC        Kind = "mac"        // hardware address
	Address    Kind = "address"    // postal address
	Name       Kind = "name"       // name of a person
	Birthdate  Kind = "birthdate"  // date of birth, by context
	Passport   Kind = "passport"   // passport number, by context
	Licence    Kind = "licence"    // driver's licence number, by context
	NationalID Kind = "nationalid" // national identity and tax numbers of UK, DE, FR, ES, IT
	VAT        Kind = "vat"        // EU VAT number
	Secret     Kind = "secret"     // key, token, password, private key, connection string
	Personal   Kind = "personal"   // whatever stands in a field that the policy always hides
)

// Mode says what happens with what was found.
type Mode string

// The modes. The empty mode is the one of the [Config], and there it is
// Tokenize.
const (
	Off      Mode = "off"      // nothing is looked for
	Detect   Mode = "detect"   // counted, left as it is
	Tokenize Mode = "tokenize" // replaced by a token that stands for the value: [EMAIL_1]
	Redact   Mode = "redact"   // replaced by the kind alone, for good: [EMAIL]
	Block    Mode = "block"    // an error
	Partial  Mode = "partial"  // a token, with the part that is useful for work: [EMAIL_1:example.org]
)

// Levels of detection: what is asked before something counts as found.
const (
	Strict   = "strict"   // finds most: weak evidence suffices
	Balanced = "balanced" // the default
	Relaxed  = "relaxed"  // finds least: only what is validated or named
)

// Config says what counts as personal data and what happens with it. The zero
// value looks for every kind at level balanced and tokenises it.
type Config struct {
	Mode     Mode                // "" is Tokenize
	Detect   []Kind              // kinds looked for beside those of Patterns and Lists; none: all
	Level    string              // Strict, Balanced (""), Relaxed
	Regions  []string            // ISO countries that phone numbers without a country code are read in; none: US
	Patterns map[string]string   // own kinds: name to a regular expression in RE2's syntax
	Lists    map[string][]string // own or known kinds: words and phrases found as they are, in any case
	Fields   Fields              // names of fields that decide by themselves
	Ignore   []string            // globs of values that are never findings: *@example.org
	Modes    map[string]Mode     // globs of fields to the mode that holds there
}

// Fields are globs over the names or dotted paths of fields, in which case and
// the signs between words do not count.
type Fields struct {
	Never  []string // nothing is looked for there
	Always []string // each value there is personal data
}

// Problem is one thing that is wrong with a [Config].
type Problem struct {
	Path    string // which key: "detect[2]", "patterns.employee"
	Message string
	Hint    string
}

// Bounds of a configuration.
const (
	maxPatterns    = 64
	maxPatternSize = 1000
	maxPatternCost = 4000 // instructions of the compiled program
	maxWords       = 100_000
	maxWordSize    = 200
	maxGlobs       = 1000
	maxGlobSize    = 500
)

// Modes lists every mode.
func Modes() []Mode { return []Mode{Off, Detect, Tokenize, Redact, Block, Partial} }

// Sure lists the kinds that are found by their form and checked by a
// validator: what is looked for where no policy says more.
func Sure() []Kind { return []Kind{Email, Phone, Card, SSN, IBAN, Secret} }

func known() []Kind {
	return []Kind{Email, Phone, SSN, Card, IBAN, Account, IP, MAC, Address, Name, Birthdate, Passport, Licence, NationalID, VAT, Secret, Personal}
}

// Known reports whether k is a kind of this package.
func Known(k Kind) bool { return slices.Contains(known(), k) }

// Valid reports whether m is a mode or empty.
func (m Mode) Valid() bool { return m == "" || slices.Contains(Modes(), m) }

// Check finds everything that is wrong with c, in the order of its fields.
func (c Config) Check() []Problem {
	var all []Problem
	add := func(path, hint, format string, args ...any) {
		all = append(all, Problem{Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	if !c.Mode.Valid() {
		add("mode", modesHint(), "there is no mode %q", c.Mode)
	}
	for i, k := range c.Detect {
		_, pattern := c.Patterns[string(k)]
		_, list := c.Lists[string(k)]
		if !Known(k) && !pattern && !list {
			add(fmt.Sprintf("detect[%d]", i), "kinds: "+joined(known()), "there is no kind %q", k)
		}
	}
	if !slices.Contains([]string{"", Strict, Balanced, Relaxed}, c.Level) {
		add("level", "strict, balanced or relaxed", "there is no level %q", c.Level)
	}
	for i, r := range c.Regions {
		if !knownRegion(r) {
			add(fmt.Sprintf("regions[%d]", i), "two letters of ISO 3166, such as US or DE", "no country %q has phone numbers", r)
		}
	}
	if len(c.Patterns) > maxPatterns {
		add("patterns", "", "%d patterns are more than %d", len(c.Patterns), maxPatterns)
	}
	for _, name := range sortedKeys(c.Patterns) {
		path := "patterns." + name
		if !validKindName(name) {
			add(path, "small letters, digits and _", "%q cannot name a kind", name)
		} else if Known(Kind(name)) {
			add(path, "choose another name", "%q is a kind already", name)
		}
		if _, err := compilePattern(c.Patterns[name]); err != nil {
			add(path, "patterns are in RE2's syntax", "%s", err)
		}
	}
	words := 0
	for _, name := range sortedKeys(c.Lists) {
		path := "lists." + name
		if !validKindName(name) {
			add(path, "small letters, digits and _", "%q cannot name a kind", name)
		}
		words += len(c.Lists[name])
		for i, w := range c.Lists[name] {
			if strings.TrimSpace(w) == "" || len(w) > maxWordSize {
				add(fmt.Sprintf("%s[%d]", path, i), "", "a word has 1 to %d bytes", maxWordSize)
			}
		}
	}
	if words > maxWords {
		add("lists", "", "%d words are more than %d", words, maxWords)
	}
	for _, m := range sortedKeys(c.Modes) {
		if mode := c.Modes[m]; mode == "" || !mode.Valid() {
			add("modes."+m, modesHint(), "there is no mode %q", mode)
		}
	}
	for _, globs := range []struct {
		path string
		list []string
	}{{"fields.never", c.Fields.Never}, {"fields.always", c.Fields.Always}, {"ignore", c.Ignore}, {"modes", sortedKeys(c.Modes)}} {
		if len(globs.list) > maxGlobs {
			add(globs.path, "", "%d entries are more than %d", len(globs.list), maxGlobs)
		}
		for i, g := range globs.list {
			if g == "" || len(g) > maxGlobSize {
				add(fmt.Sprintf("%s[%d]", globs.path, i), "", "an entry has 1 to %d bytes", maxGlobSize)
			}
		}
	}
	return all
}

// err is the problems of c as one error, or nil.
func (c Config) err() error {
	problems := c.Check()
	if len(problems) == 0 {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Path + ": " + p.Message
	}
	e := fault.New(fault.UsagePolicy, "%s", strings.Join(lines, "; ")).WithOp("read the privacy settings")
	if problems[0].Hint != "" {
		e = e.WithHint("%s", problems[0].Hint)
	}
	return e
}

// compilePattern checks the size of an own pattern before and after it is
// compiled: Go's expressions run in linear time, and the size is the factor.
func compilePattern(expr string) (*regexp.Regexp, error) {
	if expr == "" || len(expr) > maxPatternSize {
		return nil, fmt.Errorf("a pattern has 1 to %d bytes", maxPatternSize)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxPatternCost {
		return nil, fmt.Errorf("the pattern is too large: %d instructions are more than %d", len(prog.Inst), maxPatternCost)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	if re.MatchString("") {
		return nil, fmt.Errorf("the pattern matches the empty text")
	}
	return re, nil
}

func validKindName(s string) bool {
	if s == "" || len(s) > 32 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func joined[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = string(v)
	}
	return strings.Join(s, ", ")
}

func modesHint() string { return "modes: " + joined(Modes()) }
