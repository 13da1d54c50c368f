package importer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// rulesHead says in a file of rules how nginx takes them.
const rulesHead = `# Links that shunt did not take, for nginx before it:
#   map $uri $elsewhere { include FILE; }
#   server { … if ($elsewhere) { return 302 $elsewhere; } … }
`

// rule writes what redirects a refused link: a line of a map of nginx.
func (r *report) rule(link []byte) {
	if r.rules == nil {
		return
	}
	var l struct{ Code, URL string }
	if json.Unmarshal(link, &l) != nil || l.Code == "" || !strings.Contains(l.URL, "://") {
		return
	}
	if _, err := fmt.Fprintf(r.rules, "%s %s;\n", quoted("/"+l.Code), quoted(strings.ReplaceAll(l.URL, "$", "%24"))); err != nil && r.failed == nil {
		r.failed = err
	}
}

// quoted returns a text as nginx reads it in a map. Ends of lines and a backslash before it would be taken for more.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "%0A", "\r", "%0D").Replace(text) + `"`
}
