package catalogue

import (
	"strings"
	"testing"
)

func TestDeclarationsShowWhatIsNotSeen(t *testing.T) {
	c := New([]Tool{{Server: "s", Name: "t", InputSchema: []byte(`{"type":"object","properties":{"a\u202eb":{"enum":["x\u200by","\udb40\udc41"]}}}`)}})
	for lang, text := range map[string]string{"TypeScript": c.TypeScript(c.Tools()[0]), "Python": c.Python(c.Tools()[0])} {
		if strings.ContainsAny(text, "\u202e\u200b\U000e0041") || !strings.Contains(text, "202e") {
			t.Errorf("%s: %q", lang, text)
		}
	}
}
