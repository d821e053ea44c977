package world

import "testing"

func TestTokensMatchThePersonalDataThatTheyStandFor(t *testing.T) {
	for now, then := range map[string]string{
		"to a@b.c today": "to [EMAIL_1] today", "a@b.c": "[EMAIL_1]", "x [A] y": "x [A] y", "a, b": "[NAME_1], [NAME_2]", "a b": "[NAME_1][NAME_2]",
	} {
		if !matchesTokens(now, then) {
			t.Errorf("%q does not match %q", now, then)
		}
	}
	for now, then := range map[string]string{
		"to a@b.c today": "to [EMAIL_1] tomorrow", "of a@b.c": "to [EMAIL_1]", "": "[EMAIL_1]", "a b": "a b c", " today": "[EMAIL_1] today",
	} {
		if matchesTokens(now, then) {
			t.Errorf("%q matches %q", now, then)
		}
	}
}
