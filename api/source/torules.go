package source

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// RulesHead says in a file of rules how nginx takes them.
const RulesHead = `# Links that shunt did not take, for nginx before it:
#   map $host$uri $elsewhere { include FILE; }
#   server {
#     if ($elsewhere ~ "^301 (.+)") { return 301 $1; }
#     if ($elsewhere ~ "^302 (.+)") { return 302 $1; }
#     if ($elsewhere ~ "^307 (.+)") { return 307 $1; }
#     if ($elsewhere ~ "^308 (.+)") { return 308 $1; }
#   }
`

// A ruled has the fields of a link that decide about its rule.
type ruled struct {
	Code, URL, Domain string
	Disabled          bool
	StartsAt          time.Time       `json:"starts_at"`
	ExpiresAt         time.Time       `json:"expires_at"`
	MaxHits           uint64          `json:"max_hits"`
	HasPassword       bool            `json:"has_password"`
	RedirectStatus    int             `json:"redirect_status"`
	Rules, Split      json.RawMessage // choose other targets
}

// isForAll reports whether the link redirects everybody, always, to one target.
func (l *ruled) isForAll() bool {
	never := l.Disabled || !l.ExpiresAt.IsZero() || l.MaxHits > 0 || l.StartsAt.After(time.Now())
	return !never && !l.HasPassword && isEmpty(l.Rules) && isEmpty(l.Split)
}

func isEmpty(list json.RawMessage) bool { return len(list) <= len("[]") || string(list) == "null" }

// RuleOf returns a line of a map of nginx, which redirects what a link in our form redirects, and its target. There is
// none for a link that did not redirect everybody: one that is disabled, over, limited or has a password. The rule of a
// link without a domain holds for all hosts. The caller knows that the target is one that is allowed here: otherwise
// it may lead back, and so around for ever.
func RuleOf(link []byte) (line, target string, ok bool) {
	l := ruled{RedirectStatus: 302}
	if json.Unmarshal(link, &l) != nil || l.Code == "" || !strings.Contains(l.URL, "://") || !l.isForAll() {
		return "", "", false
	}
	if !slices.Contains([]int{301, 302, 307, 308}, l.RedirectStatus) || strings.ContainsFunc(l.Code, unicode.IsControl) {
		return "", "", false
	}
	host := "[^/]*"
	if l.Domain != "" {
		host = regexp.QuoteMeta(strings.ToLower(l.Domain))
	}
	// As a pattern, because nginx compares other keys without case.
	to := fmt.Sprintf("%d %s", l.RedirectStatus, strings.ReplaceAll(l.URL, "$", "%24"))
	return fmt.Sprintf("%s %s;\n", quoted("~^"+host+"/"+regexp.QuoteMeta(l.Code)+"$"), quoted(to)), l.URL, true
}

// quoted returns a text as nginx reads it in a map. Ends of lines and a backslash before it would be taken for more.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "%0A", "\r", "%0D").Replace(text) + `"`
}
