package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/api/redirect"
	"shunt/api/turnstile"
	"shunt/engine/expect"
)

// newPagesSite returns a site with a link of each kind.
func newPagesSite(t *testing.T) *site {
	st := newSite(t, func(o *Options) {
		o.BaseURL = "https://sho.rt"
		o.AllowHTTP = true
		blocking(t, o, "")
	})
	st.shorten(`{"url":"https://good.example/x?a=1&b=\"<script>\"#y","alias":"live"}`)
	st.shorten(`{"url":"https://good.example/secret","alias":"capped","max_hits":1}`)
	st.shorten(`{"url":"https://good.example/","alias":"used","max_hits":1}`)
	st.shorten(`{"url":"https://good.example/","alias":"past","expires_at":"2026-01-02T03:04:06Z"}`)
	st.shorten(`{"url":"https://evil.example/","alias":"evil"}`)
	st.shorten(`{"url":"https://good.example/","alias":"post","redirect_status":307}`)
	st.get("/used").need(t, "the only hit of a link", 302)
	expect.OK(t, expect.Err(st.targets.Blocked.Replace([]byte("evil.example"))))
	st.now.Add(time.Minute.Milliseconds())
	return st
}

func TestPublicPathsAnswerAsTheContractSays(t *testing.T) {
	st := newPagesSite(t)
	for request, want := range map[string]string{
		"GET /":                                   "200 text/html; charset=utf-8",
		"GET /?x":                                 "200 text/html; charset=utf-8",
		"GET http://any.example":                  "200 text/html; charset=utf-8",
		"GET /robots.txt":                         "200 text/plain; charset=utf-8",
		"GET /favicon.ico":                        "200 image/x-icon",
		"GET /live+":                              "200 text/html; charset=utf-8",
		"GET /live+?x":                            "200 text/html; charset=utf-8",
		"GET http://a.example/live+":              "200 text/html; charset=utf-8",
		"GET /capped+":                            "200 text/html; charset=utf-8",
		"GET /used+":                              "410 text/html; charset=utf-8",
		"GET /past+":                              "410 text/html; charset=utf-8",
		"GET /evil+":                              "403 text/html; charset=utf-8",
		"GET /none+":                              "404 text/html; charset=utf-8",
		"GET /live.svg":                           "200 image/svg+xml",
		"GET /live.svg?size=1":                    "200 image/svg+xml",
		"GET /used.svg":                           "410 text/html; charset=utf-8",
		"GET /past.svg":                           "410 text/html; charset=utf-8",
		"GET /evil.svg":                           "403 text/html; charset=utf-8",
		"GET /none.svg":                           "404 text/html; charset=utf-8",
		"GET /live.png":                           "200 image/png",
		"GET /live.png?size=64":                   "200 image/png",
		"GET /live.png?size=2048&v=1":             "200 image/png",
		"GET /live.png?size=63":                   "422 application/problem+json",
		"GET /live.png?size=2049":                 "422 application/problem+json",
		"GET /live.png?size=":                     "422 application/problem+json",
		"GET /live.png?size=%2b99":                "422 application/problem+json",
		"GET /live.png?size=-99":                  "422 application/problem+json",
		"GET /live.png?size=1e3":                  "422 application/problem+json",
		"GET /live.png?size=64&size=65":           "422 application/problem+json",
		"GET /live.png?size=99999999999999999999": "422 application/problem+json",
		"GET /used.png":                           "410 text/html; charset=utf-8",
		"GET /none.png":                           "404 text/html; charset=utf-8",
		"GET /live++":                             "404 text/html; charset=utf-8",
		"GET /live+/":                             "404 text/html; charset=utf-8",
		"GET /live%2b":                            "404 text/html; charset=utf-8",
		"GET /live.svg+":                          "404 text/html; charset=utf-8",
		"GET /live+.svg":                          "404 text/html; charset=utf-8",
		"GET /live.SVG":                           "404 text/html; charset=utf-8",
		"GET /live.gif":                           "404 text/html; charset=utf-8",
		"GET /+":                                  "404 text/html; charset=utf-8",
		"GET /.svg":                               "404 text/html; charset=utf-8",
		"GET //":                                  "404 text/html; charset=utf-8",
		"GET //live+":                             "404 text/html; charset=utf-8",
		"GET /a/live+":                            "404 text/html; charset=utf-8",
		"GET /robots.txt/":                        "404 text/html; charset=utf-8",
		"GET /_/x":                                "404 text/html; charset=utf-8",
		"GET /" + strings.Repeat("a", 65) + "+":   "404 text/html; charset=utf-8",
		"POST /":                                  "405 text/html; charset=utf-8",
		"PUT /robots.txt":                         "405 text/html; charset=utf-8",
		"OPTIONS /live+":                          "405 text/html; charset=utf-8",
		"POST /live.png":                          "405 text/html; charset=utf-8",
		"DELETE /live.svg":                        "405 text/html; charset=utf-8",
		"POST /live":                              "405 text/html; charset=utf-8",
		"POST /live.gif":                          "404 text/html; charset=utf-8",
		"POST /post":                              "307 ",
	} {
		method, target, _ := strings.Cut(request, " ")
		r := send(t, st.publicAt, method, requestText(method, target, ""))
		expect.Equal(t, statusAndType(r), want, request)
		allow := r.header.Get("Allow")
		expect.Equal(t, r.status == 405, allow == "GET, HEAD", "%s: got Allow: %s", request, allow)
		if r.status != 404 || method != "GET" {
			continue
		}
		st.get(target, "Accept: application/json").expect(t, request+" with JSON preferred", problemOf("not_found"), header("Vary", "Accept"))
	}
}

func TestHEADIsAnsweredAsGETWithoutTheBody(t *testing.T) {
	st := newPagesSite(t)
	for _, path := range []string{"/", "/_/docs", "/robots.txt", "/favicon.ico", "/live+", "/live.svg", "/live.png", "/none+", "/used+", "/evil+", "/live.gif"} {
		get := st.get(path)
		head := send(t, st.publicAt, "HEAD", requestText("HEAD", path, ""))
		head.expect(t, path, get.status, bodyOf(""), header("Content-Length", fmt.Sprint(len(get.body))))
		get.header.Del("Content-Length")
		head.header.Del("Content-Length")
		get.body = ""
		expect.Equal(t, head.whole(), get.whole(), path)
	}
}

func TestEveryPageHasTheHeadersOfAPage(t *testing.T) {
	st := newPagesSite(t)
	const image, page = "default-src 'none'; frame-ancestors 'none'", "page"
	for path, want := range map[string][2]string{ // policy, Cache-Control
		"/":               {page, "public, max-age=300"},
		"/_/docs":         {page, "public, max-age=300"},
		"/robots.txt":     {image, "public, max-age=86400"},
		"/favicon.ico":    {image, "public, max-age=86400"},
		"/live+":          {page, "no-store"},
		"/capped+":        {page, "no-store"},
		"/used+":          {page, "no-store"},
		"/past":           {page, "no-store"},
		"/used":           {page, "no-store"},
		"/evil":           {page, "no-store"},
		"/none":           {page, "no-store"},
		"/none+":          {page, "no-store"},
		"/no/such":        {page, "no-store"},
		"/live.svg":       {image, "public, max-age=300"},
		"/live.png":       {image, "public, max-age=300"},
		"/api/v1/none":    {"", "no-store"},
		"/live.png?size=": {"", "no-store"},
	} {
		r := st.get(path)
		policy := r.header.Get("Content-Security-Policy")
		if want[0] == page {
			st.wantStyleAllowed(path, policy, r.body)
		} else if policy != want[0] {
			t.Errorf("%s: got policy %s, want %s", path, policy, want[0])
		}
		expect.Equal(t, r.header.Get("Cache-Control"), want[1], path)
		expect.That(t, (want[0] == "" || r.header.Get("Referrer-Policy") == "no-referrer") && r.header.Get("X-Content-Type-Options") == "nosniff",
			"%s: got %v", path, r.header)
		for _, name := range []string{"Server", "X-Powered-By", "Via"} {
			r.expect(t, fmt.Sprintf("%s: got %s", path, name), header(name, ""))
		}
	}
	for o := redirect.UnknownCode; o < redirect.Prefetched; o++ { // a prefetch, the last, has no page
		ctx := requestFrom(tcpAddr("192.0.2.1"))
		st.pages.Answer(ctx, o)
		h := &ctx.Response.Header
		policy, caching := string(h.Peek("Content-Security-Policy")), "no-store"
		if o == redirect.Locked { // its form leads wherever the link does
			policy, caching = strings.Replace(policy, "; frame-ancestors", "; form-action 'none'; frame-ancestors", 1), "private, no-store"
		}
		st.wantStyleAllowed(o.Reason(), policy, string(ctx.Response.Body()))
		if string(h.Peek("Cache-Control")) != caching || string(h.Peek("Vary")) != "Accept" || string(h.Peek("X-Content-Type-Options")) != "nosniff" ||
			string(h.Peek("Referrer-Policy")) != "no-referrer" {
			t.Errorf("%s: got %s", o.Reason(), h)
		}
	}
	r := st.get("/live")
	names := make([]string, 0, len(r.header))
	for name := range r.header {
		names = append(names, name)
	}
	slices.Sort(names)
	expect.Equal(t, fmt.Sprint(names), "[Cache-Control Content-Length Date Location]", "a redirect has the fields")
}

var styleElement = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// wantStyleAllowed checks that the policy allows the one style of the page and nothing else, and
// that the page has nothing else.
func (st *site) wantStyleAllowed(path, policy, body string) {
	st.t.Helper()
	styles := styleElement.FindAllStringSubmatch(body, -1)
	expect.MustEqual(st.t, len(styles), 1, "%s styles", path)
	expect.Equal(st.t, policy, "default-src 'none'; style-src 'sha256-"+hashOf(styles[0][1])+"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", path)
	expect.Equal(st.t, regexp.MustCompile(`<script|<img|<link|<iframe|\sstyle=|\son[a-z]+=|src=`).FindString(body), "", "%s holds", path)
}

func hashOf(text string) string {
	hash := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(hash[:])
}

func TestTheRootRedirectIsConfigured(t *testing.T) {
	st := newSite(t, func(o *Options) { o.RootRedirect = "https://WWW.example.com/Home?x#y" })
	st.get("/?utm=1").expect(t, "", 302, header("Location", "https://www.example.com/Home?x#y"), header("Cache-Control", "private, no-store"), bodyOf(""))
	send(t, st.publicAt, "POST", requestText("POST", "/", "")).expect(t, "POST", 405)
	for _, bad := range []string{"/home", "javascript:alert(1)", "http://127.0.0.1:8080/", "http://localhost:8080/x", "http://a b/", "https://u@a/"} {
		o := Options{Engine: st.engine, Accounts: st.accounts, Domains: st.domains, BaseURL: "http://127.0.0.1:8080", RootRedirect: bad}
		_, err := NewServer(o)
		expect.That(t, err != nil && strings.Contains(err.Error(), "root redirect"), "%s: got %v, want an error that names it", bad, err)
	}
}

func TestPagesAreShownWhileLinksAreLoaded(t *testing.T) {
	st := unloadedSite(t, nil)
	for path, want := range map[string]int{"/x+": 404, "/x.svg": 404, "/x.png": 404, "/": 200, "/robots.txt": 200} { // the store has no x
		st.get(path).expect(t, path, want)
	}
}

func TestQRCodesAndPreviewsAreRefusedWhenTooManyWait(t *testing.T) {
	st := newPagesSite(t)
	for path, gate := range map[string]**turnstile.Turnstile{"/live.svg": &st.others.QRCodes.Places, "/live.png": &st.others.QRCodes.Places, "/live+": &st.others.Previews.Places} {
		whole := *gate
		*gate = turnstile.New(turnstile.Limits{Places: 1})
		expect.NoError(t, (*gate).Enter(turnstile.Key{}))
		st.get(path, "Accept: application/json").expect(t, path, 503, problemOf("overloaded"), some("Retry-After"))
		st.get("/live").expect(t, "a redirect meanwhile", 302)
		if *gate = whole; st.get(path).status != 200 {
			t.Errorf("%s afterwards: refused", path)
		}
	}
}
