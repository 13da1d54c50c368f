package api

import (
	"regexp"
	"strings"
	"testing"

	"shunt/api/brand"
	"shunt/engine/expect"
)

const testLogo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script>alert(1)</script></svg>`

// newBrandedSite returns a site with a name that has markup, and a link "live".
func newBrandedSite(t *testing.T, change func(*Options)) *site {
	logo, err := brand.ParseLogo([]byte(testLogo))
	expect.NoError(t, err)
	st := newSite(t, func(o *Options) {
		o.Brand = brand.Brand{Name: `<b>"A&B'`, SupportURL: "mailto:help@example.org?subject=a&b", Logo: logo}
		change(o)
	})
	st.shorten(`{"url":"https://good.example/","alias":"live"}`)
	return st
}

func TestTheBrandIsOnEveryPublicPageEscaped(t *testing.T) {
	st := newBrandedSite(t, func(*Options) {})
	st.shorten(`{"url":"https://good.example/","alias":"locked","password":"open sesame"}`)
	for _, path := range []string{"/", "/live+", "/none", "/none+", "/a/b", "/_/docs", "/locked", "/locked+"} {
		r := st.get(path)
		for _, want := range []string{
			`<a class="brand" href="/"><img src="/_/logo" alt=""> &lt;b&gt;&#34;A&amp;B&#39;</a>`,
			`<a class="support" href="mailto:help@example.org?subject=a&amp;b">Support</a>`,
		} {
			expect.Equal(t, strings.Count(r.body, want), 1, "%s: the page lacks %s", path, want)
		}
		expect.That(t, !strings.Contains(r.body, "<b>") && strings.Count(r.body, "<img") == 1, "%s: got markup of the name:\n%s", path, r.body)
		policy := r.header.Get("Content-Security-Policy")
		if want := "default-src 'none'; img-src 'self'; style-src 'sha256-" + hashOf(styleElement.FindStringSubmatch(r.body)[1]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"; path == "/locked" {
			expect.Equal(t, policy, strings.Replace(want, "form-action 'none'; ", "", 1), "the policy of a page with a form that leads wherever the link does")
		} else {
			expect.Equal(t, policy, want, "%s: the policy", path)
		}
	}
	wrong := send(t, st.publicAt, "POST", requestText("POST", "/locked", typing("wrong"), typedForm))
	wrong.expect(t, "a wrong password", 401, `<img src="/_/logo" alt=""> &lt;b&gt;&#34;A&amp;B&#39;</a>`, without("<b>"), "not the password")
	st.get("/none").expect(t, "an error page does not say whom to ask", `ask <a href="mailto:help@example.org?subject=a&amp;b">help@example.org</a>.`)
}

func TestALogoWithoutANameIsCalledAfterTheHost(t *testing.T) {
	st := newBrandedSite(t, func(o *Options) { o.BaseURL, o.Brand.Name = "https://sho.rt", "" })
	body := st.get("/").body
	expect.That(t, strings.Contains(body, `<img src="/_/logo" alt="sho.rt"></a>`) && strings.Contains(body, " · sho.rt</title>"), "got\n%s", body)
}

func TestTheLogoRunsNoScriptsAndIsCached(t *testing.T) {
	st := newBrandedSite(t, func(o *Options) { o.NoDashboard = true })
	r := st.get("/_/logo")
	tag := r.header.Get("ETag")
	for name, want := range map[string]string{
		"Content-Type": "image/svg+xml", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox",
		"Cache-Control": "public, max-age=300",
	} {
		expect.Equal(t, r.header.Get(name), want, name)
	}
	expect.That(t, r.status == 200 && r.body == testLogo && tag != "", "got %d, tag %s, %s", r.status, tag, r.body)
	st.get("/_/logo", "If-None-Match: "+tag).expect(t, "with the tag", 304, bodyOf(""), header("Content-Security-Policy", "default-src 'none'; sandbox"))
	send(t, st.publicAt, "POST", requestText("POST", "/_/logo", "")).expect(t, "POST", 405)
	newSite(t, nil).get("/_/logo").expect(t, "without a logo", 404)
}

func TestSignInIsOfferedOnlyWithADashboard(t *testing.T) {
	signIn := regexp.MustCompile(`<a [^>]*href="/_/">Sign in</a>`)
	body := newSite(t, nil).get("/").body
	expect.That(t, signIn.MatchString(body), "got\n%s", body)
	without := newSite(t, func(o *Options) { o.NoDashboard = true })
	body = without.get("/").body
	expect.That(t, !signIn.MatchString(body), "without a dashboard: got\n%s", body)
	for path, want := range map[string]int{
		"/_/": 404, "/_": 404, "/_/sign-in": 404, "/_/setup?code=x": 404, "/_/assets/x/style.css": 404, "/_/docs": 200,
	} {
		r := without.get(path)
		expect.That(t, r.status == want && (want != 404 || !strings.Contains(r.body, "password")), "%s: got %d, want %d", path, r.status, want)
	}
}

func TestABrandThatWasNotCheckedIsRefused(t *testing.T) {
	st := newSite(t, nil)
	for _, b := range []brand.Brand{{Name: "a\nb"}, {SupportURL: "javascript:alert(1)"}} {
		expect.That(t, expect.Err(NewServer(Options{Engine: st.engine, Accounts: st.accounts, Domains: st.domains, BaseURL: "https://sho.rt", Brand: b})) != nil, "%+v: taken", b)
	}
}
