package api

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/fetch"
	"shunt/engine"
	"shunt/engine/expect"
)

// checking lets a site check targets without pauses.
func checking(o *Options) {
	here := netip.MustParseAddr("127.0.0.2")
	o.Fetch = fetch.New(fetch.Options{
		Between: time.Nanosecond, Public: func(a netip.Addr) bool { return a.Unmap() == here || engine.PublicAddr(a) }, Resolver: namesLeadTo(here),
	})
}

// serveStatuses serves /status-NNN, counts the requests by method, and holds those for /held until letGo is called.
func serveStatuses(t *testing.T) (address string, heads, gets *atomic.Int64, held chan struct{}, letGo func()) {
	t.Helper()
	var release chan struct{}
	heads, gets, held, release = new(atomic.Int64), new(atomic.Int64), make(chan struct{}, 9), make(chan struct{})
	letGo = sync.OnceFunc(func() { close(release) })
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	expect.OK(t, err)
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		map[bool]*atomic.Int64{true: heads, false: gets}[r.Method == "HEAD"].Add(1)
		status := 200
		_, _ = fmt.Sscanf(r.URL.Path, "/status-%d", &status)
		switch {
		case r.URL.Path == "/held":
			held <- struct{}{}
			<-release
		case r.URL.Path == "/no-head" && r.Method == "HEAD":
			status = 404
		case r.URL.Path == "/inside":
			http.Redirect(w, r, "http://127.0.0.1/", http.StatusFound)
			return
		}
		w.WriteHeader(status)
	})}}
	s.Start()
	t.Cleanup(s.Close)
	t.Cleanup(letGo)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "http://page.test:" + port, heads, gets, held, letGo
}

// checked waits until the check of a token is over.
func (st *site) checked(token string) (c fetch.Check) {
	st.t.Helper()
	for c.State == "" || c.State == fetch.Running {
		r := st.callAs(token, "GET", "/target-check", "")
		r.need(st.t, "the check", 200)
		expect.OK(st.t, json.Unmarshal([]byte(r.body), &c))
	}
	return c
}

func TestDeadTargetsAreFound(t *testing.T) {
	st := newSite(t, checking)
	address, heads, gets, _, _ := serveStatuses(t)
	token := st.member("ann@example.com")
	for code, path := range map[string]string{
		"fine": "/", "gone": "/status-410", "missing": "/status-404", "broken": "/status-500", "busy": "/status-503", "closed": "/status-401", "kept": "/status-403", "limited": "/status-429", "no-head": "/no-head",
		"inside": "/inside",
	} {
		st.callAs(token, "POST", "/shorten", fmt.Sprintf(`{"url":%q,"alias":%q}`, address+path, code)).need(t, code, 201)
	}
	st.callAs(token, "POST", "/shorten", `{"url":"http://page.test:1/","alias":"silent"}`).need(t, "silent", 201)
	st.callAs(token, "POST", "/shorten", `{"url":"http://127.0.0.1:1/","alias":"private"}`).need(t, "private", 201)
	st.shorten(fmt.Sprintf(`{"url":"%s/status-404","alias":"foreign"}`, address))
	st.callAs(token, "GET", "/target-check", "").expect(t, "at first", 200, `{"state":"none","started_at":null,"ended_at":null,"checked":0,"unasked":0,"dead":[],"more":false}`)
	st.callAs(token, "POST", "/target-check", "").expect(t, "begun", 200, `"state":"running"`)
	c := st.checked(token)
	reasons := map[string]string{}
	for _, d := range c.Dead {
		reasons[d.Code] = d.Reason
	}
	expect.Equal(t, fmt.Sprint(reasons), fmt.Sprint(map[string]string{
		"gone": "answers with status 410", "missing": "answers with status 404", "broken": "answers with status 500", "busy": "answers with status 503", "silent": "cannot be reached",
	}))
	expect.That(t, c.State == "done" && c.Checked == 12 && c.Unasked == 2 && c.EndedAt != nil && !c.More, "got %+v", c)
	expect.That(t, heads.Load() == 10 && gets.Load() == 5, "%d HEAD, %d GET", heads.Load(), gets.Load())
	st.call("GET", "/target-check", "").expect(t, "somebody else", 200, `"state":"none"`)
	st.callAs(token, "POST", "/target-check?q=missing", "").expect(t, "of a list", 200)
	expect.Equal(t, st.checked(token).Checked, 1)
	for query, fields := range map[string]string{"x=1": "x:unknown", "state=dead": "state:range"} {
		st.callAs(token, "POST", "/target-check?"+query, "").expect(t, query, 422, fieldsOf(fields))
	}
	st.callAs(token, "POST", "/target-check?owner=all", "").expect(t, "of all users", 403)
}

// TestAUserHasOneCheckWhichEndsWithTheRight has a target that does not answer for a while.
func TestAUserHasOneCheckWhichEndsWithTheRight(t *testing.T) {
	st := newSite(t, checking)
	address, _, _, held, letGo := serveStatuses(t)
	token := st.member("ann@example.com")
	for i := range 3 {
		st.callAs(token, "POST", "/shorten", fmt.Sprintf(`{"url":"%s/held?%d"}`, address, i)).need(t, "a link", 201)
	}
	first := st.callAs(token, "POST", "/target-check", "")
	first.need(t, "begun", 200)
	<-held
	st.now.Add(1000)
	again := st.callAs(token, "POST", "/target-check", "")
	expect.Equal(t, again.body, first.body, "a second one")
	st.callAs(token, "DELETE", "/target-check", "").expect(t, "stopped", 204)
	st.callAs(token, "GET", "/target-check", "").expect(t, "stopped", 200, `"state":"stopped"`, `"checked":0`)
	st.callAs(token, "POST", "/target-check", "").expect(t, "another", 200, `"state":"running"`)
	<-held
	u, err := st.accounts.UserByName("ann@example.com")
	expect.OK(t, err)
	st.call("DELETE", fmt.Sprint("/users/", u.ID, "?links=keep"), "").need(t, "the user is deleted", 204)
	letGo()
	for n := st.checks.Running(); n > 0; n = st.checks.Running() {
	}
	expect.Equal(t, len(held), 0, "targets that were asked for after the user was deleted")
}

func TestChecksAreOffUnlessTheServerMay(t *testing.T) {
	st, b := withAnn(t, nil)
	st.call("POST", "/target-check", "").expect(t, "off", 403, "--fetch-titles")
	b.get("/_/links/check").expect(t, "the page", 404)
	expect.That(t, !strings.Contains(b.open("/_/links").body, "links/check"), "a link that leads nowhere")
}

func TestThePageOfACheckShowsDeadTargets(t *testing.T) {
	st := newSite(t, checking)
	b := st.browseAs("ann@example.com", account.RoleMember)
	address, _, _, _, _ := serveStatuses(t)
	for _, code := range []string{"gone", "other"} {
		b.follow(b.open("/_/links").form("/_/links").with("url", address+"/status-404", "alias", code, "tags", "t-"+code))
	}
	page := b.open(b.open("/_/links?tag=t-gone").link("Look for dead targets"))
	page.want("You have checked no targets since the server started.", "Check tag: t-gone")
	b.follow(page.form("/_/links/check"))
	for strings.Contains(page.text(), "under way") || strings.Contains(page.text(), "You have checked no") {
		page = b.open("/_/links/check?tag=t-gone")
	}
	page.want("Links checked 1", "Dead targets 1", "gone", "answers with status 404")
	b.open(page.link("gone")).want("/gone")
	b.get("/_/links/check?owner=all").expect(t, "the page of others' links", 200)
	expect.Equal(t, b.submit(&htmlForm{"/_/links/check", map[string][]string{"owner": {"all"}}}).status, 403)
}
