package dashboard

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// The document of the API has all actions: a page that has no words for one would show an entry that says nothing.
func TestEveryActionOfTheAuditLogHasWords(t *testing.T) {
	text, err := os.ReadFile("../docs/openapi.json")
	expect.OK(t, err)
	document := string(text)
	from := strings.Index(document, `"link.created", "link.edited"`)
	expect.MustThat(t, from > 0, "the document has no list of actions")
	actions := regexp.MustCompile(`"([a-z_]+\.[a-z_]+)"`).FindAllStringSubmatch(document[from:from+strings.Index(document[from:], "]")], -1)
	expect.Equal(t, len(actions), len(auditWords), "the document has as many actions as there are words")
	for _, action := range actions {
		expect.That(t, auditWords[action[1]] != "", "%s has no words", action[1])
	}
}
