package api

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/alexedwards/argon2id"

	"shunt/api/domain"
	"shunt/engine/expect"
)

// A circumstance is what a link has, or what has become of it, that may decide what a visitor gets.
type circumstance struct {
	name  string
	field string // of a line of an import; HASH stands for the hash of a password
}

// circumstances are in the contract's order: the first that applies to a visitor decides.
var circumstances = []circumstance{
	{"rule", `"rules":[{"url":"http://rule.example/","conditions":[` + iOS + `]}]`}, // it chooses the target that all others are about
	{"blocked", ``}, // the link's own target is on the block list
	{"disabled", `"disabled":true`},
	{"expired", `"expires_at":"2026-01-02T03:00:00Z"`},
	{"exhausted", `"max_hits":1,"hits":1`},
	{"expired_url", `"expired_url":"http://over.example/"`}, // with either of the two before
	{"scheduled", `"starts_at":"2026-01-03T00:00:00Z"`},
	{"locked", `"has_password":true,"password_hash":"HASH"`},
	{"card", `"card":{"title":"what chats show"}`}, // for programs that show previews
}

// precedenceVisitors are who asks. A bot meets no rule here.
var precedenceVisitors = map[string]string{"a browser": browser, "an iPhone": anIPhone, "a chat": "User-Agent: Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}

// decided returns what a visitor gets of a link with circumstances: a status, and what the answer must have.
func decided(has func(string) bool, visitor string, long bool, over string) (status int, part string) {
	target := "http://own.example/"
	switch {
	case has("rule") && visitor == "an iPhone":
		target = "http://rule.example/"
	case has("blocked"):
		return 403, "blocked"
	}
	if has("expired_url") {
		over = "http://over.example/"
	}
	switch {
	case has("disabled"):
		return 410, "disabled"
	case (has("expired") || has("exhausted")) && over != "":
		return 302, "\r\nLocation: " + over + "\r\n"
	case has("expired"):
		return 410, "expired"
	case has("exhausted"):
		return 410, "limit of uses"
	case has("scheduled"):
		return 404, "There is no link"
	case has("locked"):
		return 401, "has a password"
	case has("card") && visitor == "a chat":
		return 200, "what chats show"
	case long:
		return 414, "too long"
	}
	return 302, "\r\nLocation: " + target
}

// TestTheFirstCircumstanceDecides makes a link for each set of circumstances, on the default domain and on one that has
// an expired_url of its own, and asks for each of them as each visitor, through the first door, and for each eighth
// through each other one.
func TestTheFirstCircumstanceDecides(t *testing.T) {
	hash, err := argon2id.CreateHash("open sesame", &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	expect.OK(t, err)
	domains := map[string]string{"": "", "d.test": "http://domain.example/over"}
	turn := -1
	everyDoor(t, func(o *Options) { blocking(t, o, "blocked.example\n") }, func(t *testing.T, st *site, dial func() net.Conn) {
		turn++
		expect.OK(t, expect.Err(st.targets.Blocked.Replace(nil))) // until the links are made
		st.addDomain(domain.Domain{Host: "d.test", Settings: domain.Settings{ExpiredURL: domains["d.test"]}})
		var sets [][]string
		for bits := range 1 << len(circumstances) {
			var set []string
			for i, c := range circumstances {
				if bits>>i&1 != 0 {
					set = append(set, c.name)
				}
			}
			if !slices.Contains(set, "expired") || !slices.Contains(set, "scheduled") { // no link expires before it starts
				sets = append(sets, set)
			}
		}
		for host := range domains {
			var lines []string
			for n, set := range sets {
				fields := []string{fmt.Sprintf(`"code":"p%d","forward_query":true`, n)}
				target := "own"
				for _, c := range circumstances {
					switch {
					case !slices.Contains(set, c.name):
					case c.name == "blocked":
						target = "blocked"
					default:
						fields = append(fields, c.field)
					}
				}
				if host != "" {
					fields = append(fields, `"domain":"`+host+`"`)
				}
				lines = append(lines, `{"url":"http://`+target+`.example/",`+strings.ReplaceAll(strings.Join(fields, ","), "HASH", hash)+`}`)
			}
			st.call("POST", "/import", "["+strings.Join(lines, ",")+"]").need(t, host, 200, fmt.Sprintf(`"created":%d`, len(sets)))
		}
		expect.OK(t, expect.Err(st.targets.Blocked.Replace([]byte("blocked.example\n"))))
		for host, over := range domains {
			for n, set := range sets {
				if turn > 0 && n%8 != turn {
					continue
				}
				has := func(name string) bool { return slices.Contains(set, name) }
				for visitor, agent := range precedenceVisitors {
					for _, long := range []bool{false, true}[:1+(n+1)%2] { // half of them
						path := fmt.Sprint("/p", n)
						if long {
							path += "?" + strings.Repeat("x", 8180)
						}
						got := answered(t, dial(), strings.Replace(requestText("GET", path, "", agent), "any.example", cmp.Or(host, "any.example"), 1))
						status, part := decided(has, visitor, long, over)
						if (status == 200 || status == 401) && long {
							part = "" // the same, however long
						}
						expect.MustThat(t, strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", status)) && strings.Contains(got, part), "%s of %q %q, long %v: got\n%.600s\nwant %d %q", visitor, host, set, long, got, status, part)
					}
				}
			}
		}
	})
}
