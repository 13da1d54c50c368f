package api

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/ops"
	"shunt/api/turnstile"
	"shunt/engine/expect"
)

// maxHeavyReadsCaller is how many places for heavy reads a caller has.
const maxHeavyReadsCaller = 8

// qrCodesCaller is how many QR codes of one network may be drawn or wait.
const qrCodesCaller = 16

// awaitHeavy waits until n places for heavy reads are taken.
func (st *site) awaitHeavy(n int) {
	for st.calls.HeavyHeld() != n {
		time.Sleep(100 * time.Microsecond)
	}
}

func TestHeavyReadsAreBoundedForEachCaller(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"a"}`)
	other := st.member("ann@example.com", account.LinksRead)
	admin, err := st.accounts.OldestAdmin()
	expect.NoError(t, err)
	var releases []func()
	for range maxHeavyReadsCaller {
		release, err := st.calls.BeginHeavy(account.CallerOf(admin))
		expect.NoError(t, err)
		releases = append(releases, release)
	}
	for _, path := range []string{"/links", "/stats", "/stats/a?interval=day", "/tokens"} {
		st.call("GET", path, "").expect(t, path, 503, problemOf("overloaded"), some("Retry-After"))
	}
	for _, path := range []string{"/links/a", "/stats/a", "/me"} {
		st.call("GET", path, "").expect(t, path, 200)
	}
	st.callAs(other, "GET", "/links", "").expect(t, "another caller", 200)
	releases[0]()
	for _, path := range []string{"/links", "/stats", "/stats/a?interval=day", "/tokens", "/links?limit=0"} {
		r := st.call("GET", path, "")
		expect.That(t, r.status != 503, "%s, when there is a place: got %s", path, r.body)
	}
	st.awaitHeavy(maxHeavyReadsCaller - 1)
}

func TestHeavyWorkIsQueuedAndNothingElseWaits(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"a"}`)
	for _, c := range []struct{ method, path, body string }{
		{"GET", "/links", ""}, {"GET", "/stats", ""}, {"GET", "/stats/a?interval=day", ""}, {"GET", "/tokens", ""},
		{"GET", "/export", ""}, {"POST", "/shorten/bulk", `[{"url":"http://a/"}]`},
		{"POST", "/session", `{"email":"nobody@example.com","password":"wrong wrong wrong"}`},
	} {
		release := st.takeCores()
		answered := make(chan reply, 1)
		go func() { answered <- st.call(c.method, c.path, c.body) }()
		st.awaitCostly(1)
		st.get("/a").expect(t, "a redirect during "+c.path, 302)
		st.call("GET", "/stats/a", "").expect(t, "two figures during "+c.path, 200)
		release()
		r := <-answered
		expect.That(t, r.status == 200 || r.status == 401, "%s: got %d %s, want 200", c.path, r.status, r.body)
	}
}

// takeCores takes every place for costly work; release gives them back.
func (st *site) takeCores() (release func()) {
	st.t.Helper()
	places := st.cores.Limits().Places
	for range places {
		expect.NoError(st.t, st.cores.Enter(turnstile.Key{}))
	}
	return func() {
		for range places {
			st.cores.Leave(turnstile.Key{})
		}
	}
}

// awaitCostly waits until the given number of requests wait for a core.
func (st *site) awaitCostly(n int) {
	for st.cores.Waiting() != n {
		time.Sleep(100 * time.Microsecond) // a loop without a pause would keep the network waiting
	}
}

// A list of many links is read in steps, each of which enters for itself; so a short list comes
// second.
func TestAShortListDoesNotWaitForLongLists(t *testing.T) {
	st := newSite(t, nil)
	st.cores = turnstile.New(turnstile.Limits{Places: 1, Waiting: 256, Patience: ops.Patience})
	*st.calls = *st.newCalls(nil)
	item := strings.TrimSuffix(strings.Repeat(`{"url":"http://a/"},`, 1000), ",")
	known(t, func() reply { return st.call("POST", "/shorten/bulk", "["+item+"]", "Idempotency-Key: items") }).need(t, "", 200)
	other := st.member("ann@example.com", account.LinksRead)
	release := st.takeCores()
	long, short := make(chan reply, maxHeavyReadsCaller), make(chan reply, 1)
	for n := range maxHeavyReadsCaller {
		go func() { long <- st.call("GET", "/links?limit=1000", "") }()
		st.awaitCostly(n + 1)
	}
	go func() { short <- st.callAs(other, "GET", "/links?limit=10", "") }()
	st.awaitCostly(maxHeavyReadsCaller + 1)
	release()
	(<-short).expect(t, "the short list", 200)
	done := len(long)
	expect.That(t, done <= 0, "%d long lists were answered before the short one", done)
	for range maxHeavyReadsCaller {
		r := <-long
		expect.That(t, r.status == 200 && strings.Count(r.body, `"code"`) == 1000, "a long list: got %d and %d links", r.status, strings.Count(r.body, `"code"`))
	}
}

func TestAListThatWaitsTooLongIsAbandoned(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"a"}`)
	for wait, want := range map[time.Duration]int{ops.Patience: 200, ops.Patience + time.Second: 503} {
		release := st.takeCores()
		answered := make(chan reply, 1)
		go func() { answered <- st.call("GET", "/links", "") }()
		st.awaitCostly(1)
		st.now.Add(wait.Milliseconds())
		release()
		(<-answered).expect(t, fmt.Sprintf("after %v", wait), want)
	}
	st.awaitHeavy(0)
}

// One address has a share of the QR codes; the next address has another.
func TestOneAddressDoesNotKeepOthersFromQRCodes(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"a"}`)
	here, there := asker{t, st.from("192.0.2.1"), nil}, asker{t, st.from("192.0.2.2"), nil}
	release := st.takeCores()
	answers := make(chan reply, 70)
	for range cap(answers) {
		go func() { answers <- here.ask("GET", "/a.svg", "", "Accept: application/json") }()
	}
	for range cap(answers) - qrCodesCaller {
		(<-answers).expect(t, "beyond its share", 503, problemOf("overloaded"), some("Retry-After"))
	}
	other := make(chan reply, 1)
	go func() { other <- there.ask("GET", "/a.svg", "") }()
	for st.others.QRCodes.Places.Waiting()+st.others.QRCodes.Places.Held() != qrCodesCaller+1 {
		time.Sleep(100 * time.Microsecond)
	}
	release()
	(<-other).expect(t, "another address", 200)
	for range qrCodesCaller {
		(<-answers).expect(t, "within its share", 200)
	}
}

func TestManyTokenRequestsDoNotBlockARevocation(t *testing.T) {
	st := newSite(t, nil)
	admin, err := st.accounts.OldestAdmin()
	expect.NoError(t, err)
	var ends []func()
	for range ops.MaxIssuesCaller {
		end, err := st.calls.BeginIssue(account.CallerOf(admin))
		expect.NoError(t, err)
		ends = append(ends, end)
	}
	st.call("POST", "/tokens", `{"name":"x"}`).expect(t, "one more", 503, problemOf("overloaded"))
	st.call("DELETE", "/tokens/none", "").expect(t, "revoking", 404)
	ends[0]()
	for range 2 * ops.MaxIssuesCaller {
		st.call("POST", "/tokens", `{"name":"x"}`).expect(t, "when there is a place", 201)
	}
}

// heavyAnswer asks for a list of some 800 KB, more than the connection buffers.
func (st *site) heavyAnswer() net.Conn {
	st.t.Helper()
	c, err := st.publicAt.Dial()
	expect.NoError(st.t, err)
	st.t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, requestText("GET", "/api/v1/links?limit=1000", "", "Authorization: Bearer "+st.token))
	expect.NoError(st.t, err)
	return c
}

func TestALargeAnswerKeepsItsPlaceUntilItIsSent(t *testing.T) {
	st := newSite(t, nil)
	item := fmt.Sprintf(`{"url":"http://a/%s"}`, strings.Repeat("x", 8000))
	known(t, func() reply {
		return st.call("POST", "/shorten/bulk", "["+strings.Repeat(item+",", 99)+item+"]", "Idempotency-Key: items")
	}).need(t, "", 200)
	slow, gone := st.heavyAnswer(), st.heavyAnswer()
	for _, c := range []net.Conn{slow, gone} {
		if _, err := io.ReadFull(c, make([]byte, 100)); err != nil { // the answer is on its way
			t.Fatal(err)
		}
	}
	st.awaitHeavy(2)
	expect.NoError(t, gone.Close())
	st.awaitHeavy(1)
	go func() { _, _ = io.Copy(io.Discard, slow) }()
	st.awaitHeavy(0)
}
