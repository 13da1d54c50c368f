package api

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
)

// awaitHeavy waits until so many places for heavy reads are taken.
func (st *site) awaitHeavy(n int) {
	for open := -1; open != n; runtime.Gosched() {
		st.heavyReads.mu.Lock()
		open = st.heavyReads.mu.open
		st.heavyReads.mu.Unlock()
	}
}

func TestACallerHasSoManyHeavyReadsAtATime(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"a"}`)
	other := st.member("ann@example.com", account.LinksRead)
	admin, err := st.accounts.OldestAdmin()
	check(t, err)
	for range maxHeavyReadsCaller {
		check(t, st.heavyReads.take(admin.ID))
	}
	for _, path := range []string{"/links", "/stats", "/stats/a?interval=day", "/tokens"} {
		if r := st.call("GET", path, ""); r.status != 503 || r.problem() != "overloaded" || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %s, want 503 overloaded", path, r.status, r.body)
		}
	}
	for _, path := range []string{"/links/a", "/stats/a", "/me"} {
		if r := st.call("GET", path, ""); r.status != 200 {
			t.Errorf("%s: got %d %s, want 200", path, r.status, r.body)
		}
	}
	if r := st.callAs(other, "GET", "/links", ""); r.status != 200 {
		t.Errorf("somebody else: got %d %s, want 200", r.status, r.body)
	}
	st.heavyReads.release(admin.ID)
	for _, path := range []string{"/links", "/stats", "/stats/a?interval=day", "/tokens", "/links?limit=0"} {
		if r := st.call("GET", path, ""); r.status == 503 {
			t.Errorf("%s, when there is a place: got %s", path, r.body)
		}
	}
	st.awaitHeavy(maxHeavyReadsCaller - 1)
}

func TestHeavyWorkIsDoneInTurnAndNothingElseWaits(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"a"}`)
	turn := make(chan struct{}) // who takes it, and who gives it back, waits for the test
	st.heavyReads.slots = turn
	late := time.After(patienceOfTests)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/links", ""}, {"GET", "/stats", ""}, {"GET", "/stats/a?interval=day", ""}, {"GET", "/tokens", ""},
		{"GET", "/export", ""}, {"POST", "/shorten/bulk", `[{"url":"http://a/"}]`},
	} {
		answered := make(chan reply, 1)
		go func() { answered <- st.call(c.method, c.path, c.body) }()
		select {
		case <-turn:
		case <-late:
			t.Fatalf("%s never takes a turn", c.path)
		}
		if r := st.get("/a"); r.status != 302 {
			t.Errorf("a redirect beside %s: got %d", c.path, r.status)
		}
		if r := st.call("GET", "/stats/a", ""); r.status != 200 {
			t.Errorf("two figures beside %s: got %d", c.path, r.status)
		}
		select {
		case turn <- struct{}{}:
		case <-late:
			t.Fatalf("%s never gives its turn back", c.path)
		}
		if r := <-answered; r.status != 200 {
			t.Errorf("%s: got %d %s, want 200", c.path, r.status, r.body)
		}
	}
}

func TestWhoAsksForManyTokensAtATimeKeepsNobodyFromRevokingOne(t *testing.T) {
	st := newSite(t, nil)
	admin, err := st.accounts.OldestAdmin()
	check(t, err)
	for range maxIssuesCaller {
		check(t, st.issues.take(admin.ID))
	}
	if r := st.call("POST", "/tokens", `{"name":"x"}`); r.status != 503 || r.problem() != "overloaded" {
		t.Errorf("one more: got %d %s, want 503 overloaded", r.status, r.body)
	}
	if r := st.call("DELETE", "/tokens/none", ""); r.status != 404 {
		t.Errorf("revoking: got %d %s, want 404", r.status, r.body)
	}
	st.issues.release(admin.ID)
	for range 2 * maxIssuesCaller {
		if r := st.call("POST", "/tokens", `{"name":"x"}`); r.status != 201 {
			t.Errorf("when there is a place: got %d %s, want 201", r.status, r.body)
		}
	}
}

// heavyAnswer asks for a list of some 800 KB, more than there is room for on the way.
func (st *site) heavyAnswer() net.Conn {
	st.t.Helper()
	c, err := st.publicAt.Dial()
	check(st.t, err)
	st.t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, requestText("GET", "/api/v1/links?limit=1000", "", "Authorization: Bearer "+st.token))
	check(st.t, err)
	return c
}

func TestALargeAnswerKeepsItsPlaceUntilItIsSent(t *testing.T) {
	st := newSite(t, nil)
	item := fmt.Sprintf(`{"url":"http://a/%s"}`, strings.Repeat("x", 8000))
	if r := st.call("POST", "/shorten/bulk", "["+strings.Repeat(item+",", 99)+item+"]"); r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	slow, gone := st.heavyAnswer(), st.heavyAnswer()
	for _, c := range []net.Conn{slow, gone} {
		if _, err := io.ReadFull(c, make([]byte, 100)); err != nil { // it is on its way
			t.Fatal(err)
		}
	}
	st.awaitHeavy(2)
	check(t, gone.Close())
	st.awaitHeavy(1)
	go func() { _, _ = io.Copy(io.Discard, slow) }()
	st.awaitHeavy(0)
}
