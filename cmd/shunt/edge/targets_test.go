package edge

import (
	"encoding/json"
	"fmt"
	"testing"

	"shunt/api/account"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/extras"
)

// TestAVisitorGetsTheSameTargetAtAnEdge follows a link with a split, and one with a rule, at the writer and at its
// edge, also after the edge was restarted: each visitor gets one target, and the hits of all targets come together.
func TestAVisitorGetsTheSameTargetAtAnEdge(t *testing.T) {
	w := newWriter(t)
	w.create(engine.Draft{Alias: "split", Owner: 1, Target: "https://own.example/", Split: []extras.Share{{URL: "https://a.example/", Weight: 70}, {URL: "https://b.example/", Weight: 30}}})
	w.create(engine.Draft{Alias: "rules", Owner: 1, Target: "https://own.example/", Rules: []extras.Rule{{
		URL: "https://de.example/", Conditions: []extras.Condition{{Kind: extras.InLanguage, Value: "de"}},
	}}})
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	e.redirects("rules", "https://own.example/") // it has both: they were there before
	const visitors = 60
	got, hits := make(map[int]string), make(map[string]int)
	follow := func(m *machine, where string) {
		t.Helper()
		for n := range visitors {
			a := m.ask("GET", "/split", "", "User-Agent", fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/127.0", n))
			to := a.header.Get("Location")
			expect.MustThat(t, a.status == 302 && (got[n] == "" || got[n] == to), "visitor %d %s: got %d %s, before %s", n, where, a.status, to, got[n])
			got[n] = to
			hits[to]++
		}
		expect.Equal(t, m.ask("GET", "/rules", "", "Accept-Language", "de").header.Get("Location"), "https://de.example/", where)
	}
	follow(w, "at the writer")
	follow(e, "at the edge")
	e.restartEdge()
	follow(e, "at the edge, restarted")
	// Which share each gets is proven where it is drawn; of so few visitors, the larger may get fewer.
	a, b := hits["https://a.example/"], hits["https://b.example/"]
	expect.That(t, a > 0 && b > 0 && a+b == 3*visitors, "got %v", hits)

	admin, _, err := w.accounts.EnsureAdmin()
	expect.OK(t, err)
	_, token, err := w.accounts.IssueToken(account.CallerOf(admin), account.TokenDraft{Name: "all", Scopes: account.AllScopes})
	expect.OK(t, err)
	until(t, "the hits of the targets are at the writer", func() bool {
		a := w.ask("GET", apiRoot+"/stats/split?include=targets", "", "Authorization", "Bearer "+token)
		var stats struct {
			Hits    int
			Targets []struct {
				URL          string
				Hits, Unique int
			}
		}
		expect.OK(t, json.Unmarshal([]byte(a.body), &stats), "%s", a.body)
		sum, same := 0, true
		for _, target := range stats.Targets {
			sum += target.Hits
			same = same && target.Hits == hits[target.URL] && target.Unique == target.Hits/3
		}
		return stats.Hits == 3*visitors && sum == stats.Hits && same
	})
}
