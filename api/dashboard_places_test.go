package api

import (
	"runtime"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/turnstile"
	"shunt/engine/expect"
)

func TestPagesWaitForAHeavyPlaceAndTheAPIDoesNot(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	b := st.browse("ann@example.com")
	var releases []func()
	for range maxHeavyReadsCaller {
		release, err := st.calls.BeginHeavy(account.CallerOf(ann))
		expect.NoError(t, err)
		releases = append(releases, release)
	}
	opened := make(chan *shown, 1)
	go func() { opened <- b.open("/_/links") }()
	for st.calls.HeavyWaiting() != 1 {
		runtime.Gosched()
	}
	st.callAs(token, "GET", "/links", "").expect(t, "the API", 503)
	for _, release := range releases {
		release()
	}
	(<-opened).expect(t, "the page", 200)
	st.awaitHeavy(0)
}

func TestLargePagesAreDrawnInTurn(t *testing.T) {
	st := newSite(t, nil)
	st.cores = turnstile.New(turnstile.Limits{Places: 1, Waiting: 256, Patience: time.Hour}) // nobody gets a place by waiting
	*st.calls = *st.newCalls(nil)
	st.person("ann@example.com", account.RoleAdmin)
	b := st.browse("ann@example.com")
	for _, path := range []string{"/_/misses", "/_/system", "/_/links/bulk"} {
		release := st.takeCores()
		opened := make(chan *shown, 1)
		go func() { opened <- b.open(path) }()
		st.awaitCostly(1)
		release()
		(<-opened).expect(t, path, 200)
	}
	release := st.takeCores()
	defer release()
	b.open("/_/links/new").expect(t, "a small page while every core is taken", 200)
}
