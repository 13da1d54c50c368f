package dashboard

import (
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// TestTheFormsThatChangeAccountsAreKnown lists all forms, so that a new one is put among those that are
// refused if they come through an edge, or among the others.
func TestTheFormsThatChangeAccountsAreKnown(t *testing.T) {
	var refused, allowed []string
	for _, r := range pages().Rows {
		switch {
		case r.ChangesAccounts():
			refused = append(refused, r.Path)
		case r.Method != "GET":
			allowed = append(allowed, r.Path)
		}
	}
	slices.Sort(refused)
	slices.Sort(allowed)
	got, want := strings.Join(refused, " "), "/_/account/password /_/all-tokens/{id}/revoke /_/domains /_/domains/{host} /_/domains/{host}/check /_/domains/{host}/delete /_/folders /_/folders/{folder} /_/folders/{folder}/delete /_/folders/{folder}/leave /_/setup /_/system/edges/{name}/forget /_/tokens /_/tokens/apps /_/tokens/{id}/revoke /_/users /_/users/{id} /_/users/{id}/delete /_/users/{id}/setup-link"
	expect.That(t, got == want, "refused are %s; want %s", got, want)
	got, want = strings.Join(allowed, " "), "/_/account/language /_/account/sessions /_/account/zone /_/campaigns /_/campaigns/delete /_/link/{code}/delete /_/link/{code}/disabled /_/link/{code}/edit /_/link/{code}/owner /_/link/{code}/qr /_/link/{code}/reset /_/link/{code}/undo /_/links /_/links/bulk /_/links/bulk/results /_/links/check /_/links/filters /_/links/filters/delete /_/links/new /_/links/selected /_/links/selected/change /_/links/selected/undo /_/links/trash/purge /_/links/trash/restore /_/sign-in /_/sign-out /_/tags/delete /_/tags/rename /_/transfer /_/zone"
	expect.That(t, got == want, "allowed are %s; want %s", got, want)
}

// The script is sent by page.CompactScript, which knows no texts over several lines.
func TestTheScriptHasNoTextOverSeveralLines(t *testing.T) {
	for line := range strings.Lines(script) {
		expect.That(t, strings.Count(line, "`")%2 == 0 && !strings.HasSuffix(line, "\\\n"), "a text goes on after %q", line)
	}
}
