package importer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"shunt/api/client"
)

// rulesHead says in a file of rules how nginx takes them.
const rulesHead = `# Links that shunt did not take, for nginx before it:
#   map $uri $elsewhere { include FILE; }
#   server { … if ($elsewhere) { return 302 $elsewhere; } … }
`

// rule writes what redirects a refused link: a line of a map of nginx. Nothing redirects a code that has another link
// here, or a link that did not redirect everybody: one that is disabled, over, limited or has a password; nor one of
// another domain, because nginx does not look at the host there.
func (r *report) rule(link []byte, why *client.Problem) {
	if r.rules == nil || why.Kind == client.ErrAliasTaken {
		return
	}
	var l struct {
		Code, URL, Domain string
		Disabled          bool
		ExpiresAt         time.Time `json:"expires_at"`
		MaxHits           uint64    `json:"max_hits"`
		HasPassword       bool      `json:"has_password"`
	}
	if json.Unmarshal(link, &l) != nil || l.Code == "" || !strings.Contains(l.URL, "://") {
		return
	}
	if l.Domain != "" || l.Disabled || !l.ExpiresAt.IsZero() || l.MaxHits > 0 || l.HasPassword {
		return
	}
	// As a pattern, because nginx compares other keys without case.
	if _, err := fmt.Fprintf(r.rules, "%s %s;\n", quoted("~^/"+regexp.QuoteMeta(l.Code)+"$"), quoted(strings.ReplaceAll(l.URL, "$", "%24"))); err != nil && r.failed == nil {
		r.failed = err
	}
}

// quoted returns a text as nginx reads it in a map. Ends of lines and a backslash before it would be taken for more.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "%0A", "\r", "%0D").Replace(text) + `"`
}
