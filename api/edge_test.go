package api

import (
	"slices"
	"strings"
	"testing"

	"shunt/api/links"
	"shunt/engine/expect"
)

// TestTheCallsThatChangeAccountsAreKnown lists all calls that change something, so that a new one is put
// among those that are refused if they come through an edge, or among the others.
func TestTheCallsThatChangeAccountsAreKnown(t *testing.T) {
	s := new(Server)
	s.accountCalls, s.linkCalls = new(accountCalls), new(links.Calls)
	var refused, allowed []string
	for _, e := range slices.Concat(s.endpoints(), s.accountCalls.localEndpoints()) {
		switch {
		case e.changesAccounts():
			refused = append(refused, e.method+" "+e.path)
		case e.method != "GET":
			allowed = append(allowed, e.method+" "+e.path)
		}
	}
	slices.Sort(refused)
	slices.Sort(allowed)
	got, want := strings.Join(refused, ", "), "DELETE /domains/{host}, DELETE /edges/{name}, DELETE /folders/{folder}, DELETE /folders/{folder}/members/{user}, DELETE /tokens/{id}, DELETE /users/{id}, PATCH /domains/{host}, PATCH /folders/{folder}, PATCH /users/{id}, POST /domains, POST /domains/{host}/check, POST /folders, POST /setup-links, POST /tokens, POST /users"
	expect.Equal(t, got, want, "refused")
	got, want = strings.Join(allowed, ", "), "DELETE /links/{code}, DELETE /session, DELETE /tags/{tag}, DELETE /target-check, PATCH /links/{code}, PATCH /tags/{tag}, POST /import, POST /links/{code}/qr, POST /links/{code}/reset, POST /links/{code}/restore, POST /session, POST /shorten, POST /shorten/bulk, POST /target-check, POST /titles"
	expect.That(t, got == want, "allowed are %s; want %s", got, want)
}
