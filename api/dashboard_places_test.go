package api

import (
	"runtime"
	"testing"

	"shunt/api/account"
)

func TestPagesWaitForAHeavyPlaceAndTheAPIDoesNot(t *testing.T) {
	st := newSite(t, nil)
	ann := st.person("ann@example.com", account.RoleMember)
	token := st.issue(account.CallerOf(ann), memberScopes...)
	b := st.browse("ann@example.com")
	var releases []func()
	for range maxHeavyReadsCaller {
		release, err := st.calls.BeginHeavy(account.CallerOf(ann))
		check(t, err)
		releases = append(releases, release)
	}
	opened := make(chan *shown, 1)
	go func() { opened <- b.open("/_/links") }()
	for st.calls.HeavyWaiting() != 1 {
		runtime.Gosched()
	}
	if r := st.callAs(token, "GET", "/links", ""); r.status != 503 {
		t.Errorf("the API: got %d %s, want 503", r.status, r.body)
	}
	for _, release := range releases {
		release()
	}
	if p := <-opened; p.status != 200 {
		t.Errorf("the page: got %d, want 200", p.status)
	}
	st.awaitHeavy(0)
}

func TestLargePagesAreDrawnInTurn(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleAdmin)
	b := st.browse("ann@example.com")
	for _, path := range []string{"/_/misses", "/_/system", "/_/links/bulk"} {
		release := st.takeCores()
		opened := make(chan *shown, 1)
		go func() { opened <- b.open(path) }()
		st.awaitCostly(1)
		release()
		if p := <-opened; p.status != 200 {
			t.Errorf("%s: got %d, want 200", path, p.status)
		}
	}
	release := st.takeCores()
	defer release()
	if p := b.open("/_/links/new"); p.status != 200 {
		t.Errorf("a small page while every core is taken: got %d, want 200", p.status)
	}
}
