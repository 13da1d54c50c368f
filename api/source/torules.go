package source

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// RulesHead says in a file of rules how nginx takes them.
const RulesHead = `# Links that shunt did not take, for nginx before it:
#   map $uri $elsewhere { include FILE; }
#   server { … if ($elsewhere) { return 302 $elsewhere; } … }
`

// RuleOf returns a line of a map of nginx, which redirects what a link in our form redirects. There is none for a
// link that did not redirect everybody: one that is disabled, over, limited or has a password; nor for one of another
// domain, because nginx does not look at the host there.
func RuleOf(link []byte) (line string, ok bool) {
	var l struct {
		Code, URL, Domain string
		Disabled          bool
		ExpiresAt         time.Time `json:"expires_at"`
		MaxHits           uint64    `json:"max_hits"`
		HasPassword       bool      `json:"has_password"`
	}
	if json.Unmarshal(link, &l) != nil || l.Code == "" || !strings.Contains(l.URL, "://") {
		return "", false
	}
	if l.Domain != "" || l.Disabled || !l.ExpiresAt.IsZero() || l.MaxHits > 0 || l.HasPassword {
		return "", false
	}
	// As a pattern, because nginx compares other keys without case.
	return fmt.Sprintf("%s %s;\n", quoted("~^/"+regexp.QuoteMeta(l.Code)+"$"), quoted(strings.ReplaceAll(l.URL, "$", "%24"))), true
}

// quoted returns a text as nginx reads it in a map. Ends of lines and a backslash before it would be taken for more.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "%0A", "\r", "%0D").Replace(text) + `"`
}
