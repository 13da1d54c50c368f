package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/api/account"
	"shunt/api/problem"
	"shunt/engine/expect"
)

// signIn fills in the form to sign in on the page at path.
func (b *plainBrowser) signIn(path, email, password string) *shown {
	b.st.t.Helper()
	return b.fill(b.open(path), "/_/sign-in", "email", email, "password", password)
}

func TestAVisitorSignsInAndOut(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.visitor()
	b.get("/_/").expect(t, "before", 303, header("Location", "/_/sign-in"))
	p := b.signIn("/_/sign-in", "ANN@example.com", goodPassword)
	p.want("Hits today")
	expect.That(t, p.path == "/_/" && strings.HasPrefix(b.cookie, "Cookie: shunt_session="), "got %s with %q", p.path, b.cookie)
	b.get("/_/sign-in?next=/_/tokens").expect(t, "signing in again", 303, header("Location", "/_/tokens"))
	old := b.cookie
	if p := b.fill(p, "/_/sign-out"); p.path != "/_/sign-in" || b.cookie != "" {
		t.Errorf("got %s with %q", p.path, b.cookie)
	}
	b.cookie = old
	b.get("/_/").expect(t, "with the old cookie", 303)
	st.visitor().post("/_/sign-out", formType, "").expect(t, "a stranger signs out", 303)
}

func TestAVisitorReturnsToThePageThatWasAskedFor(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	st.shorten(`{"url":"https://evil.example/","alias":"evil"}`)
	for asked, want := range map[string]string{
		"/_/links?q=a//b&tag=x+y": "/_/links?q=a//b&tag=x+y", "/_/tokens": "/_/tokens", "/_/": "/_/",
	} {
		b := st.visitor()
		p := b.get(asked)
		expect.MustEqual(t, p.status, 303, asked)
		answer := b.submit(b.open(p.header.Get("Location")).form("/_/sign-in").with("email", "ann@example.com", "password", goodPassword))
		got := answer.header.Get("Location")
		expect.That(t, answer.status == 303 && got == want, "%s: got %d to %q, want %q", asked, answer.status, got, want)
	}
	for _, evil := range []string{"//evil.example", "/_/\\evil.example", "/_/../evil", "/_/%2e%2e/evil", "https://evil.example/_/", "/evil", "/_/x\r\nX: y", "/_/setup?code=x"} {
		b := st.visitor()
		for _, form := range []*htmlForm{
			b.open("/_/sign-in?next=" + url.QueryEscape(evil)).form("/_/sign-in"), b.open("/_/sign-in").form("/_/sign-in").with("next", evil),
		} {
			b.cookie = ""
			answer := b.submit(form.with("email", "ann@example.com", "password", goodPassword))
			got := answer.header.Get("Location")
			expect.That(t, answer.status == 303 && got == "/_/" && answer.header.Get("X") == "", "%s: got %d to %q, want the overview", evil, answer.status, got)
		}
	}
}

func TestSigningInHasTheMessagesAndLimitsOfTheAPI(t *testing.T) {
	st := limitedSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b, api := st.visitor(), asker{t, st.from("192.0.2.2"), nil}
	b.at = st.from("192.0.2.1")
	form := (&htmlForm{action: "/_/sign-in"}).with("next", "/_/links", "email", "ann@example.com", "password", "wrong \"<b>")
	for i, want := range []int{401, 401, 429} {
		p, r := b.submit(form), api.ask("POST", "/api/v1/session", `{"email":"ann@example.com","password":"wrong \"<b>"}`)
		var body problem.Body
		expect.NoError(t, json.Unmarshal([]byte(r.body), &body))
		expect.That(t, p.status == want && r.status == want && p.header.Get("Retry-After") == r.header.Get("Retry-After") && b.cookie == "",
			"%d: got %d and %d, want %d; Retry-After %q and %q", i, p.status, r.status, want, p.header.Get("Retry-After"), r.header.Get("Retry-After"))
		plain, _, _ := strings.Cut(body.Detail[1:], "; see RateLimit-Policy")
		p.want(plain)
		if v := p.form("/_/sign-in").values; v.Get("email") != "ann@example.com" || v.Get("next") != "/_/links" || v.Get("password") != "" || strings.Contains(p.body, "<b>") {
			t.Errorf("the form again: got %v", v)
		}
	}
	b.submit(form.with("password", goodPassword)).expect(t, "the right password after that", 429)
	st.now.Add(60_000)
	b.submit(form.with("password", goodPassword)).expect(t, "later", 303, header("Location", "/_/links"))
	expect.Equal(t, st.metric("shunt_auth_failures_total"), "4", "auth_failures_total")
}

func TestALinkOnAnotherSiteLeadsThroughAPageOfOurs(t *testing.T) {
	st := newSite(t, nil)
	b := st.visitor()
	b.lines = []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"}
	for path, want := range map[string]string{
		"/_/links?q=a&tag=%22%3E%3Cb": "/_/links?q=a&tag=%22%3E%3Cb", "/_/link/javascript:alert(1)": "/_/link/javascript:alert%281%29",
		"/_/": "/_/",
	} {
		p := b.open(path)
		p.want("One moment")
		got, _ := url.PathUnescape(p.link("Continue"))
		if want, _ = url.PathUnescape(want); got != want || strings.Contains(p.body, "<b") && strings.Contains(p.body, "\"><b") {
			t.Errorf("%s: got the link %q, want %q", path, p.link("Continue"), want)
		}
		expect.Contains(t, p.body, `http-equiv="refresh" content="0; url=/_/`, path)
	}
	b.get("/_/nothing").expect(t, "no page", 404)
	for referer, want := range map[string]int{"http://elsewhere.example/": 200, "http://elsewhere.example/_/links": 303, "http://any.example/_/links": 303, "": 303, "%zz": 303} {
		b.lines = []string{"Referer: " + referer} // over plain HTTP there is no other sign
		b.get("/_/links").expect(t, fmt.Sprintf("from %q", referer), want)
	}
}

func TestFormsWorkAtEveryAddressOfAPlainServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Options)
		peer   string
		lines  []string
		want   int
	}{
		"another name":        {nil, "127.0.0.1", []string{"Origin: http://any.example"}, 303},
		"its own name":        {nil, "127.0.0.1", []string{"Origin: http://127.0.0.1:8080"}, 303},
		"a page over HTTPS":   {nil, "127.0.0.1", []string{"Origin: https://any.example"}, 403},
		"a page on this port": {nil, "127.0.0.1", []string{"Origin: http://any.example:80"}, 403},
		"a newer browser":     {nil, "127.0.0.1", []string{"Origin: http://any.example", "Sec-Fetch-Site: cross-site"}, 403},
		"a proxy with HTTPS": {
			func(o *Options) { o.TrustedProxies = someProxies.Trusted[:1] }, "10.0.0.1", []string{"X-Forwarded-Proto: https", "Origin: https://any.example"}, 303,
		},
		"a proxy that names the host": {
			func(o *Options) { o.TrustedProxies, o.HostHeader = someProxies.Trusted[:1], "X-Forwarded-Host" }, "10.0.0.1",
			[]string{"X-Forwarded-Proto: https", "X-Forwarded-Host: go.example", "Origin: https://go.example"}, 303,
		},
		"a proxy whose word on the host is not asked for": {
			func(o *Options) { o.TrustedProxies = someProxies.Trusted[:1] }, "10.0.0.1",
			[]string{"X-Forwarded-Proto: https", "X-Forwarded-Host: go.example", "Origin: https://go.example"}, 403,
		},
		"a page over HTTP, HTTPS reached": {
			func(o *Options) { o.TrustedProxies = someProxies.Trusted[:1] }, "10.0.0.1", []string{"X-Forwarded-Proto: https", "Origin: http://any.example"}, 403,
		},
	} {
		st := newSite(t, c.change)
		st.person("ann@example.com", account.RoleMember)
		b := &plainBrowser{st, "", c.lines, st.from(c.peer), nil}
		form := b.open("/_/sign-in").form("/_/sign-in").with("email", "ann@example.com", "password", goodPassword)
		b.submit(form).expect(t, name, c.want)
		if c.want != 303 {
			continue
		}
		if p := b.fill(b.open("/_/tokens"), "/_/tokens", "name", "n"); p.at("token") == "" {
			t.Errorf("%s: a form: got %d %s", name, p.status, p.text())
		} else {
			st.secret(p.at("token"))
		}
		own := strings.Contains(strings.Join(c.lines, ""), "127.0.0.1:8080")
		r := send(t, b.at, "POST", requestText("POST", "/api/v1/shorten", `{"url":"http://a/"}`, append(c.lines, b.cookie, "Content-Type: application/json")...))
		expect.That(t, (r.status == 201) == own, "%s: the API: got %d, whose rule is stricter", name, r.status)
	}
}

func TestALoadingServerSaysSoOnItsPages(t *testing.T) {
	st := unloadedSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.visitor()
	b.open("/_/sign-in").want("still loading its links")
	if p := b.signIn("/_/sign-in", "ann@example.com", goodPassword); p.status != 503 || p.header.Get("Retry-After") == "" {
		t.Errorf("the overview: got %d", p.status)
	} else {
		p.want("still loading its links")
	}
	b.open("/_/account").want("Sessions", "still loading its links")
}

func TestAStalledStoreIsSaidOnPagesThatAreStillRead(t *testing.T) {
	t.Parallel()
	disk := &sickDisk{FS: vfs.Default}
	st := newSiteOver(t, disk)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	form := b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/", "alias", "x")
	disk.hangs.Lock()
	unhang := sync.OnceFunc(disk.hangs.Unlock)
	defer unhang()
	p := b.submit(form)
	if p.want("The server's disk does not answer"); p.status != 503 || p.form("/_/links/new").values.Get("url") != "https://a.example/" {
		t.Errorf("got %d %s", p.status, p.text())
	}
	for _, path := range []string{"/_/", "/_/links/new", "/_/account", "/_/tokens"} {
		b.open(path).want("The server's disk does not answer")
	}
	unhang()
	b.follow(form)
	expect.That(t, !strings.Contains(b.open("/_/links").text(), "does not answer"), "after a write it is still said")
}
