package review

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// reviewText applies the rules that read the text of a program: comments, size,
// characters.
func (p *program) reviewText() {
	source := p.tree.Source
	if utf8.RuneCountInString(source) > 10_000 && p.reviewer.Profile == Cars {
		p.find(ruleSize, Medium, 0, "the code has more than 10,000 characters")
	}
	if at := trojan(source); at >= 0 {
		p.find(ruleObfuscation, High, at, "the code has characters that are not visible or that change the direction of text")
	}
	if bare(source) {
		p.find(ruleObfuscation, High, 0, "the code is written almost without letters")
	}
	p.reviewComments()
}

// reviewComments applies the rules about comments. Comments that follow each other
// are one.
func (p *program) reviewComments() {
	for i := 0; i < len(p.comments); {
		start := p.comments[i].start
		var b strings.Builder
		end := start
		for ; i < len(p.comments) && strings.TrimSpace(p.tree.Source[min(end, p.comments[i].start):p.comments[i].start]) == "" && b.Len() < maxText; i++ {
			b.WriteString(strings.Trim(p.comments[i].text, "/*#\"' \t\r\n<!->") + " ")
			end = p.comments[i].start + len(p.comments[i].text)
		}
		s := strings.ToLower(strings.Join(strings.FieldsFunc(b.String(), func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '@' && c != '-' && c != '\''
		}), " "))
		if words := bypass(s); words != "" {
			p.find(ruleBypass, High, start, "a comment has the words \""+words+"\"")
		}
		if instructs(s) {
			p.find(ruleComment, High, start, "a comment instructs who reads it: \""+p.clipText(b.String())+"\"")
		}
	}
}

func (p *program) clipText(s string) string {
	if hasCredential(s) {
		return "…"
	}
	return shorten(s)
}
