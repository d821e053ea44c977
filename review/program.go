package review

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wexec/wexec/review/syntax"
)

// kind is what a node of the small form is.
type kind uint8

const (
	group     kind = iota // statements, and all that has no other kind
	word                  // text: a name
	text                  // text: the value of a string
	number                // text: its digits
	truth                 // text: "true", "false", or "" for null
	template              // children: texts and expressions that are joined
	member                // children: the object, and the key if text is empty; text: the property
	call                  // children: the callee and the arguments
	keyword               // children: the value, and the key if text is empty; text: the key
	list                  // children: the elements
	object                // children: keywords and spreads
	binary                // text: the operator; children: the operands
	unary                 // text: the operator; children: the operand
	assign                // text: the operator; children: the target and the value
	module                // text: the name of a module
	function              // text: its name; children: a group of parameters, and the body
	result                // children: what a function returns
	exit                  // break, raise, throw
	branch                // children: the condition and the branches
	choice                // children: expressions, one of which is the value
	loop                  // children: the condition or nil, and the body
	each                  // children: the target, the iterable, and the body
	transform             // children: an expression, and the each that gives its names values
	spread                // children: what is spread
	slice                 // children: start, end and step, each may be nil
	class                 // children: the members
	element               // children: a list, an element of which it is
)

// node is a part of a program in the form that the rules read.
type node struct {
	kind       kind
	text       string
	start, end int // offsets in the source
	children   []*node
	escaped    bool // a text that is written with needless escapes
	binding    bool // an assignment by import
	method     bool // a function of a class or an object
	scope      *scope
	memo       []value
	resolved   bool
	turn       int // of the reviewer in which memo was resolved, if it depends on itself
}

// child returns the child at an index, or nil.
func (n *node) child(i int) *node {
	if n == nil || i >= len(n.children) {
		return nil
	}
	return n.children[i]
}

// arguments returns the arguments of a call.
func (n *node) arguments() []*node { return n.children[1:] }

// argument returns the argument at an index that has no name, or nil.
func (n *node) argument(i int) *node {
	if a := n.child(i + 1); a != nil && a.kind != keyword {
		return a
	}
	return nil
}

// comment is a comment of a program, or a string that is a statement.
type comment struct {
	text  string
	start int
}

// program is a file of a program, or code in a string.
type program struct {
	reviewer *reviewer
	tree     *syntax.Tree
	python   bool
	outer    *program // of code in a string
	place    int      // of the string in outer
	root     *node
	comments []comment
	around   *scope         // of the string in outer
	scope    scope          // of the names of the program
	called   []*variable    // that have calls
	broken   []*syntax.Node // what could not be parsed
	nodes    int
	depth    int
	deep     bool
	invented int // names that an obfuscator writes
}

// clip returns the start of the source of a node, for a message. It has no
// credentials.
func (p *program) clip(n *node) string {
	s := p.tree.Source[n.start:n.end]
	if hasCredential(s) {
		return "an expression"
	}
	return shorten(s)
}

// reviewer is the state of one review.
type reviewer struct {
	Context
	ctx       context.Context
	findings  []Finding
	seen      map[string]bool            // findings, by rule and place
	named     map[string]map[string]bool // capabilities, by kind
	uses      []use                      // of tools
	outside   bool                       // the program sends requests
	commands  bool                       // the program runs processes
	moved     bool                       // it renames all files of a folder
	rewritten bool                       // it writes over all files of a folder
	active    map[*variable]int          // how many definitions of a name are looked through
	level     int                        // of names in names
	partial   int                        // values that depend on what is being resolved
	steps     int
	turn      int // how many expressions were resolved
	begun     int // steps at the start of the turn
	texts     int
	nested    int // bytes of code in strings
	limited   bool
}

// use is a call of a tool.
type use struct {
	tool             string
	writes, destroys bool
	program          *program
	at               *node
}

// limit reports that a bound of the review is exceeded, once.
func (p *program) limit(at int, message string) {
	if p.reviewer.limited {
		return
	}
	p.reviewer.limited = true
	p.find(ruleLimit, High, at, message)
}

// find adds a finding at an offset of the program. Code in a string has the place of
// the string.
func (p *program) find(id string, level Level, at int, message string) {
	q := p
	for ; q.outer != nil; q = q.outer {
		at = q.place
		message = strings.TrimPrefix(message, inString)
	}
	if q != p {
		message = inString + message
	}
	r := p.reviewer
	key := fmt.Sprint(id, at, q.tree.Source == p.tree.Source, level)
	if r.seen[key] || len(r.seen) > 10*maxFindings {
		return
	}
	r.seen[key] = true
	line, column := q.tree.Position(at)
	r.findings = append(r.findings, Finding{id, level, line, column, message, ruleOf(id).Mitigation})
}

// inString begins the message of a finding in code that is made when the program runs.
const inString = "in code that is made at run time: "

// name adds a capability.
func (r *reviewer) name(kind, what string) {
	if hasCredential(what) {
		what = "a name with a credential"
	}
	if r.named[kind] == nil {
		r.named[kind] = map[string]bool{}
	}
	if len(r.named[kind]) < maxNamed {
		r.named[kind][what] = true
	} else if kind != "unresolved" {
		r.name("unresolved", "more "+kind)
	}
}

func (r *reviewer) list(kind string) []string {
	out := []string{}
	for what := range r.named[kind] {
		out = append(out, what)
	}
	slices.Sort(out)
	return out
}

// definition is what a program may give a name. A name has many: the order of
// execution is not known. A nil value is unknown.
type definition struct {
	value *node
	owner *program
	at    int
	fixed bool // a function or an import at the top of the program
}

// scope is a part of a program that has its own names.
type scope struct {
	kind  scopeKind
	up    *scope
	names map[string]*variable
	wide  map[string]bool // names that a statement takes from a scope around
}

type scopeKind uint8

const (
	ofProgram scopeKind = iota
	ofFunction
	ofClass
	ofBlock
	ofTransform
)

// variable is a name in a scope, and what the program may give it.
type variable struct {
	definitions []definition
	mixed       []definition // what is put into the object that it is
	calls       []*node      // of the function that it is
	counted     bool         // ++ or -- changes it
	local       bool         // it is the name of a scope inside the program
}

func (s *scope) inner(k scopeKind) *scope { return &scope{kind: k, up: s} }

// function returns the scope of the function around a block.
func (s *scope) function() *scope {
	for s.kind == ofBlock || s.kind == ofTransform {
		s = s.up
	}
	return s
}

func (s *scope) declare(name string) *variable {
	v := s.names[name]
	if v != nil || s.wide[name] {
		return v
	}
	if s.names == nil {
		s.names = map[string]*variable{}
	}
	v = &variable{local: s.kind != ofProgram}
	s.names[name] = v
	return v
}

// sort is what a value is.
type sort uint8

const (
	reference sort = iota // text: a path of names such as os.system; parts that are unknown are "?"
	constant              // text: a string or bytes; what is unknown of it is a hole
	integer
	items
	code // node: a function, class or object of the program
)

// value is what an expression may be when the program runs.
type value struct {
	sort  sort
	text  string
	int   int64
	items []value
	node  *node
	owner *program // of node
	made  bool     // it is not written as such: joined, decoded, reversed
	bound bool     // a method with its object
}

// hole is what a constant has where a part of it is unknown.
const hole = "\xff\xfe\x00\xff"

// root is the path of the object that has the names of the language.
const root = "globalThis"

var unknown = value{text: "?"}

// frame has the values of names while a function or a comprehension is resolved.
type frame struct {
	names map[*variable]value
	of    *node // the function that is resolved
	up    *frame
	depth int
}

// known reports whether v is a string without holes.
func (v value) known() bool { return v.sort == constant && !strings.Contains(v.text, hole) }

// path returns the path of a reference, or of a value that has no better one.
func (v value) path() string {
	if v.sort == reference {
		return v.text
	}
	return "?"
}

func (f *frame) lookup(name *variable) (value, bool) {
	for ; f != nil && name != nil; f = f.up {
		if v, ok := f.names[name]; ok {
			return v, true
		}
	}
	return value{}, false
}

const (
	maxValues  = 8    // of an expression
	maxLevels  = 200  // of resolving names through names
	maxPrecise = 2000 // steps of an expression, after which names that depend on each other are resolved once
	maxItems   = 4096 // of a list that is made
	maxPath    = 200  // bytes
	maxApplied = 16   // functions in functions
)

// around is what a node is in.
type around struct {
	parent *node
	up     *around
}

func digits(i int) string { return strconv.Itoa(i) }
