package detect

import (
	"bytes"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/contact"
	"github.com/wexec/wexec/privacy/internal/finance"
	"github.com/wexec/wexec/privacy/internal/identity"
	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/names"
	"github.com/wexec/wexec/privacy/internal/secrets"
)

// maxValue bounds a value that is judged by its label.
const maxValue = 300

// label reads the label in front of a colon or an equals sign at i. If it names a
// kind, the value behind it is judged as that kind.
func (s *scanner) label(i int) {
	t := s.Bytes
	if i < s.labeled || i+1 >= len(t) || i == 0 {
		return
	}
	end := i
	for end > 0 && end > i-3 && (t[end-1] == ' ' || t[end-1] == '"' || t[end-1] == '\'' || t[end-1] == '\\' || t[end-1] == '*' || t[end-1] == '`') {
		end--
	}
	if end == 0 || !char.IsWord(t[end-1]) && t[end-1] != ')' && t[end-1] != '.' {
		return
	}
	quoted := end < i && t[end] != ' '
	start := end
	limit := max(0, end-match.MaxLabel)
back:
	for start > limit {
		switch c := t[start-1]; {
		case char.IsWord(c), c == '-', c == '.', c == '/', c == '(', c == ')', c == '#':
		case c == ' ' && !quoted && start-2 >= 0 && t[start-2] != ' ' && t[start-2] != ':' && t[start-2] != '=':
		case c == '\'' && !quoted && start-2 >= 0 && char.IsWord(t[start-2]) && char.IsWord(t[start]):
		default:
			break back
		}
		start--
	}
	label, context := match.ReadLabel(t[start:end])
	if label.Kind == "" || !s.Wants(label.Kind) {
		return
	}
	if label.Kind == match.Name && string(t[start:end]) == "Name" {
		context |= match.AboutNameLabel
	}
	switch from, to := s.valueBehind(i, label.Kind); {
	case from >= to:
	case label.Kind == match.Secret:
		s.secret(label, from, to, t[i] == '=')
	case from >= s.labeled:
		if n, sure, why := s.judge(label, context, t[from:to], false); n > 0 && s.Hit(label.Kind, from, from+n, sure, why) {
			s.labeled = from + n
		}
	}
}

// valueBehind is the text behind the sign at i that can be the value of a label.
func (s *scanner) valueBehind(i int, kind match.Kind) (from, to int) {
	t := s.Bytes
	sign := t[i]
	from = i + 1
	for from < len(t) && from < i+16 && (t[from] == ' ' || t[from] == '=' || t[from] == '>' || t[from] == '*' || t[from] == '\t') {
		from++
	}
	escapes := 0
	for from < len(t) && t[from] == '\\' && escapes < 4 {
		from++
		escapes++
	}
	if from >= len(t) {
		return 0, 0
	}
	limit := min(len(t), from+maxValue)
	if quote := t[from]; quote == '"' || quote == '\'' || quote == '`' {
		from++
		for to = from; to < limit && t[to] != quote && t[to] != '\n'; to++ {
			if t[to] == '\\' && escapes == 0 && to+1 < limit {
				to++
			}
		}
		to = min(to, limit)
		for escapes > 0 && to > from && t[to-1] == '\\' {
			to--
		}
		return from, to
	}
	for to = from; to < limit; to++ {
		c := t[to]
		if c == '\n' || c == '\r' || c == '\t' || c == '|' || c == '"' || c == '`' || c == '}' || c == ']' || c == '<' {
			break
		}
		if kind == match.Secret {
			if c == ' ' && !secrets.IsScheme(t[from:to]) || c == ',' && to+1 < len(t) && t[to+1] == ' ' {
				break
			}
			continue
		}
		if c == ';' || c == '&' && sign == '=' || c == '{' || c == '\'' && to > from && !char.IsWord(t[to-1]) ||
			c == ',' && kind != match.Address && kind != match.Birthdate && kind != match.Name ||
			c == ' ' && (to+1 < len(t) && t[to+1] == ' ' || sign == '=' && assignmentFollows(t, to+1)) {
			break
		}
	}
	for to > from && t[to-1] == ' ' {
		to--
	}
	return from, to
}

// assignmentFollows reports a name and an equals sign at i: the next pair of a
// log line.
func assignmentFollows(t []byte, i int) bool {
	for j := i; j < len(t) && j < i+40; j++ {
		if t[j] == '=' {
			return j > i
		}
		if !char.IsWord(t[j]) && t[j] != '.' && t[j] != '-' {
			return false
		}
	}
	return false
}

// secret judges a value behind a label for secrets. The scan goes on within it,
// and what it finds there is dropped.
func (s *scanner) secret(label match.Label, from, to int, assigned bool) {
	t := s.Bytes
	v := t[from:to]
	// A value can hold labels again; a few of them are read.
	if from >= s.secretEnd {
		s.secretTries = 0
	} else if s.secretTries++; s.secretTries > 4 {
		return
	}
	s.secretEnd = max(s.secretEnd, to)
	quoted := from > 0 && (t[from-1] == '"' || t[from-1] == '\'' || t[from-1] == '`')
	if !quoted {
		call := bytes.IndexByte(v, '(') >= 0
		for end, c := range v {
			if c == ';' || assigned && (c == '&' || c == ',') || c == '\'' || c == ')' && !call {
				v = v[:end]
				break
			}
		}
	}
	if sure, why := secrets.Judge(v, label.Weak, quoted, false); sure > 0 {
		s.Hit(match.Secret, from+secrets.SchemeLen(v), from+len(v), sure, why)
		return
	}
	// The value of "Authorization: Bearer" ends at the first space.
	v = t[from:to]
	if i := bytes.IndexByte(v, ' '); !label.Weak && i > 0 && i < 8 {
		if sure, why := secrets.Judge(v[i+1:], true, false, false); sure > 0 {
			s.Hit(match.Secret, from+i+1, to, sure, why)
		}
	}
}

// judge says how much at the start of a value is of the kind that its label
// names. whole: v is the whole value of its field.
func (s *scanner) judge(label match.Label, context match.Context, v []byte, whole bool) (end int, sure uint8, why string) {
	switch label.Kind {
	case match.Email:
		return contact.JudgeEmail(v, whole)
	case match.Phone:
		return contact.JudgePhone(v, whole)
	case match.SSN:
		return identity.JudgeSSN(v)
	case match.Card:
		return finance.JudgeCard(v)
	case match.Account:
		return finance.JudgeAccount(context, v)
	case match.IP:
		return contact.JudgeIP(v)
	case match.Address:
		return contact.JudgeAddress(v, label.Weak, whole)
	case match.Name:
		return names.Judge(&s.Text, label, context, v, whole)
	case match.Birthdate:
		return identity.JudgeBirthdate(v, whole)
	case match.Passport, match.Licence, match.NationalID, match.VAT:
		return identity.JudgeDocument(label.Kind, v)
	}
	return 0, 0, ""
}
