package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine"
	"shunt/engine/expect"
)

// A domainTally is what the links of some users in some domains have: hits by visitor.
type domainTally map[uint64]int

func (y domainTally) add(visitor uint64, hits int) { y[visitor] += hits }

func (y domainTally) hits() (n int) {
	for _, hits := range y {
		n += hits
	}
	return n
}

// A domainFigures is a site with links of two users in each of three domains, and what these links have.
type domainFigures struct {
	*site
	ids    map[string]uint32 // of users
	tokens map[string]string
	hosts  []string
	links  map[string]domainTally // by user, host and code, with spaces between them
}

func newDomainFigures(t *testing.T) *domainFigures {
	st := &domainFigures{site: newSite(t, nil), ids: make(map[string]uint32), tokens: make(map[string]string), links: make(map[string]domainTally)}
	st.withThree()
	st.hosts = []string{"127.0.0.1", "a.test", "b.test"}
	for _, user := range []string{"ann", "ben"} {
		u := st.person(user+"@example.com", account.RoleMember)
		st.ids[user], st.tokens[user] = u.ID, st.issue(account.CallerOf(u), everyMemberScope...)
		for _, host := range st.hosts {
			for _, code := range []string{user + "1", user + "2"} {
				st.callAs(st.tokens[user], "POST", "/shorten", fmt.Sprintf(`{"url":"https://u.example/","alias":%q,"domain":%q}`, code, host)).need(t, "", 201)
				st.links[user+" "+host+" "+code] = make(domainTally)
			}
		}
	}
	return st
}

// follow has a visitor follow a link. The engine is given a hash of the visitor, as redirects give it: a sketch counts
// only what is as good as random.
func (st *domainFigures) follow(link string, visitor uint64) {
	st.t.Helper()
	at := strings.Fields(link)
	k := keyOf(at[2])
	k.Domain = engine.Domain(slices.Index(st.hosts, at[1]))
	l, ok := st.engine.Resolve(k.View())
	expect.MustThat(st.t, ok, "there is no %s", link)
	expect.MustThat(st.t, st.engine.Hit(l, engine.Visit{Visitor: rand.NewPCG(visitor, 39).Uint64(), NowMs: st.now.Load()}), "%s is used up", link)
	l.Release()
	st.links[link].add(visitor, 1)
}

// of returns what the links have that begin so: of a user, of a user in a domain, of a link. An empty user is anybody.
func (st *domainFigures) of(user, host, code string) domainTally {
	all := make(domainTally)
	for link, tally := range st.links {
		at := strings.Fields(link)
		if (user == "" || at[0] == user) && (host == "" || at[1] == host) && (code == "" || at[2] == code) {
			for visitor, hits := range tally {
				all.add(visitor, hits)
			}
		}
	}
	return all
}

// A domainAnswer is what the API says of figures.
type domainAnswer struct {
	Hits, Unique int
	Error        float64
}

// each calls check for the figures of each domain, of each user, of each user in each domain, and of all; as their
// owners ask for them, and as an admin does.
func (st *domainFigures) each(check func(asked string, got domainAnswer, want domainTally)) {
	st.t.Helper()
	ask := func(token, path string, want domainTally) {
		var got domainAnswer
		expect.OK(st.t, json.Unmarshal([]byte(st.callAs(token, "GET", path, "").body), &got), path)
		check(path, got, want)
	}
	for _, host := range append([]string{""}, st.hosts...) {
		domain := "&domain=" + host
		if host == "" {
			domain = ""
		}
		for _, window := range []string{"", "&from=2026-01-02T03:00:00Z", "&interval=hour&from=2026-01-02"} {
			query := "?include=error" + window + domain
			ask(st.token, "/stats"+query+"&owner=all", st.of("", host, ""))
			for user, token := range st.tokens {
				ask(token, "/stats"+query, st.of(user, host, ""))
				ask(st.token, fmt.Sprintf("/stats%s&owner=%d", query, st.ids[user]), st.of(user, host, ""))
				for _, code := range []string{user + "1", user + "2"} {
					if host != "" {
						ask(token, "/stats/"+code+query, st.of(user, host, code))
					}
				}
			}
		}
	}
}

// TestEachDomainAndEachUserInItHasExactFigures has visitors follow links of two users in three domains: each link has
// some visitors of the links before it.
func TestEachDomainAndEachUserInItHasExactFigures(t *testing.T) {
	st := newDomainFigures(t)
	links := slices.Sorted(maps.Keys(st.links))
	rng := rand.New(rand.NewPCG(39, 1))
	for range 600 {
		n := rng.IntN(len(links))
		st.follow(links[n], uint64(5*n+rng.IntN(40)))
	}
	asked := 0
	check := func(path string, got domainAnswer, want domainTally) {
		asked++
		expect.That(t, got == domainAnswer{want.hits(), len(want), 0}, "%s: got %+v, want %d hits of %d visitors", path, got, want.hits(), len(want))
	}
	st.each(check)
	all, union := st.of("", "", ""), 0
	for _, host := range st.hosts {
		union += len(st.of("", host, ""))
	}
	expect.That(t, asked > 90 && len(all) < union, "%d answers; %d visitors of all domains, %d of each: no visitor was in two", asked, len(all), union)

	// A link that is gone takes its figures from no domain.
	st.callAs(st.tokens["ann"], "DELETE", "/links/ann1?domain=a.test", "").need(t, "", 204)
	var got domainAnswer
	expect.OK(t, json.Unmarshal([]byte(st.callAs(st.tokens["ann"], "GET", "/stats?domain=a.test", "").body), &got))
	want := st.of("ann", "a.test", "")
	expect.That(t, got.Hits == want.hits() && got.Unique == len(want), "after a delete: got %+v, want %d hits of %d visitors", got, want.hits(), len(want))
}

// TestUniqueVisitorsOfADomainAreEstimatedBeyondALimit has thousands of visitors in two domains, some of them in both,
// and few in the third, whose figures stay exact.
func TestUniqueVisitorsOfADomainAreEstimatedBeyondALimit(t *testing.T) {
	st := newDomainFigures(t)
	for i := range uint64(3000) {
		st.follow("ann a.test ann1", i)
		st.follow("ben a.test ben1", i+2000)
		st.follow("ann b.test ann2", i+1000)
		if i < 300 {
			st.follow("ben 127.0.0.1 ben2", i)
			st.follow("ann 127.0.0.1 ann1", i+100)
		}
	}
	exact, estimated := 0, 0
	st.each(func(path string, got domainAnswer, want domainTally) {
		expect.Equal(t, got.Hits, want.hits(), "%s: hits", path)
		if len(want) <= engine.MaxExactVisitors {
			exact++
			expect.That(t, got.Unique == len(want) && got.Error == 0, "%s: got %+v, want %d visitors, exactly", path, got, len(want))
			return
		}
		estimated++
		off := math.Abs(float64(got.Unique-len(want))) / float64(len(want))
		expect.That(t, got.Error > 0 && off <= 4*got.Error && got.Unique <= got.Hits, "%s: got %+v, want about %d visitors", path, got, len(want))
	})
	expect.That(t, exact > 20 && estimated > 20, "%d exact answers and %d estimated ones", exact, estimated)
}
