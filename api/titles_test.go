package api

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"shunt/api/account"
	"shunt/api/fetch"
	"shunt/engine"
	"shunt/engine/expect"
)

// fetching lets a site ask for pages, also at an address of this machine that counts as public in tests, to which all
// names lead.
func fetching(o *Options) {
	here := netip.MustParseAddr("127.0.0.2")
	o.Fetch = fetch.New(fetch.Options{
		Public:   func(a netip.Addr) bool { return a.Unmap() == here || engine.PublicAddr(a) },
		Resolver: namesLeadTo(here),
	})
}

// namesLeadTo returns a resolver to which all names lead to an address.
func namesLeadTo(to netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) { return answeringNames(to), nil }}
}

// answeringNames returns a connection to a server that answers one question about a name.
func answeringNames(to netip.Addr) net.Conn {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		var length [2]byte // over a stream, as a pipe is one
		if _, err := io.ReadFull(far, length[:]); err != nil {
			return
		}
		question := make([]byte, int(length[0])<<8|int(length[1]))
		var m dnsmessage.Message
		if _, err := io.ReadFull(far, question); err != nil || m.Unpack(question) != nil {
			return
		}
		m.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
			m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: to.As4()}}}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = far.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...))
		}
	}()
	return near
}

// servePage serves a page, and returns an address of it.
func servePage(t *testing.T, text string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.2:0")
	expect.OK(t, err)
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to" {
			http.Redirect(w, r, r.URL.RawQuery, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, text)
	})}}
	s.Start()
	t.Cleanup(s.Close)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return "http://page.test:" + port + "/"
}

func TestTitlesAreFetchedOnlyIfTheServerMay(t *testing.T) {
	st, b := withAnn(t, nil)
	st.call("POST", "/titles", `{"url":"https://example.org/"}`).expect(t, "off", 403, problemOf("forbidden"), "--fetch-titles")
	expect.That(t, !strings.Contains(b.open("/_/links/new").body, "Fetch the title"), "a button that does nothing")
}

func TestATitleIsFetched(t *testing.T) {
	st := newSite(t, fetching)
	address := servePage(t, "<title>Grüße &amp; mehr</title>")
	st.call("POST", "/titles", fmt.Sprintf(`{"url":%q}`, " "+address)).expect(t, "a title", 200, `"title":"Grüße & mehr"`, `"icon":null`)
	for body, want := range map[string]string{
		`{}`: "url:required", `{"url":1}`: "url:type", `{"url":"x","y":1}`: "y:unknown", `{"url":"javascript:alert(1)"}`: "url:scheme",
		`{"url":"http://169.254.169.254/"}`: "url:private", `{"url":"http://[::1]/"}`: "url:private", `{"url":"http://0x7f000001/"}`: "url:private", `{"url":"http://localhost/"}`: "url:private",
		`{"url":"http://127.0.0.1:8080/x"}`:                            "url:private",
		fmt.Sprintf(`{"url":"%sto?http://169.254.169.254/"}`, address): "url:private", fmt.Sprintf(`{"url":"%sto?http://localhost/"}`, address): "url:private",
		fmt.Sprintf(`{"url":"%sto?file:///etc/passwd"}`, address): "url:scheme",
		`{"url":"http://page.test:1/"}`:                           "url:unreachable",
	} {
		st.call("POST", "/titles", body).expect(t, body, 422, fieldsOf(want))
	}
}

func TestAUserFetchesThirtyTitlesAMinute(t *testing.T) {
	st := newSite(t, fetching)
	token := st.member("ann@example.com")
	for range 30 {
		st.callAs(token, "POST", "/titles", `{"url":"http://127.0.0.1/"}`).need(t, "in time", 422)
	}
	r := st.callAs(token, "POST", "/titles", `{"url":"http://127.0.0.1/"}`)
	r.expect(t, "too often", 429, problemOf("rate_limited"), header("Retry-After", "2"))
	st.call("POST", "/titles", `{"url":"http://127.0.0.1/"}`).expect(t, "somebody else", 422)
	st.now.Add(2000)
	st.callAs(token, "POST", "/titles", `{"url":"http://127.0.0.1/"}`).expect(t, "later", 422)
}

func TestAFormFetchesTheTitleOfItsTarget(t *testing.T) {
	st := newSite(t, fetching)
	b := st.browseAs("ann@example.com", account.RoleMember)
	address := servePage(t, "<title>A <b>page</b></title>")
	page := b.submit(b.open("/_/links/new").form("/_/links/new").with("url", address, "alias", "one", "note", "kept", "fetch", "title"))
	form := page.form("/_/links/new")
	expect.Equal(t, form.values.Get("title")+"|"+form.values.Get("alias")+"|"+form.values.Get("note"), "A <b>page</b>|one|kept")
	b.get("/_/link/one").expect(t, "no link was made", 404)
	b.follow(form.with("fetch-", ""))
	expect.Equal(t, st.object("one").Title, "A <b>page</b>")
	edit := b.open("/_/link/one/edit").form("/_/link/one/edit").with("title", "", "fetch", "title")
	expect.Equal(t, b.submit(edit).form("/_/link/one/edit").values.Get("title"), "A <b>page</b>")
	for url, want := range map[string]string{"http://169.254.169.254/": "Leads to an address that is not on the public internet", "http://page.test:1/": "Cannot be reached"} {
		page := b.submit(form.with("url", url, "fetch", "title"))
		expect.Equal(t, page.status, 422, url)
		page.want(want)
	}
}
