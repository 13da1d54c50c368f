package dashboard

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"shunt/api/dashboard/visit"
	"shunt/engine/expect"
)

func TestOnlyOurPagesAreReturnedTo(t *testing.T) {
	d := visit.New(visit.Options{}, parsed())
	for _, own := range []string{
		"/_/", "/_/links", "/_/links?q=https://example.com//x&tag=a+b", "/_/link/spring-sale/edit?owner=all", "/_/link/a%20b", "/_/users/5/delete",
		"/_/links?q=%0d%0aSet-Cookie:x", "/_/?period=24h", "/_/link/new",
	} {
		expect.Equal(t, d.NextPage(own).String(), own)
	}
	for _, other := range []string{
		"", "/", "//evil.example", "//evil.example/_/", "/_/\\evil.example", "/\\evil.example/_/", "/_//x", "/_//links", "/_/../x", "/_/..", "/_/.", "/_/./links",
		"/_/%2e%2e/x", "/_/link/..", "/_/link/%2e%2e", "/_/link/%2E./edit", "/_/tokens/../revoke", "/_/link/a%2fb/../..", "/_/link/x/../../../spring-sale", "/_/%2f/evil.example",
		"/_/%5cevil.example", "https://evil.example/_/", "http:/_/links", "javascript:alert(1)", "evil:/_/", "/_/links\r\nSet-Cookie: x=y", "/_/links\x00", "/_/links\t",
		"/_/links\x7f", " /_/links", "/_/%zz", "/_", "/_/nothing", "/_/links/", "/_/sign-in", "/_/sign-out", "/_/setup?code=x", "/_/docs", "/x", "/api/v1/links",
		"/_/account/password", "///_/links", "\\/_/links", "/_/links?" + strings.Repeat("q", visit.MaxNextBytes), "http://user@/_/", "?/_/", "#/_/", "/_/links/%00/../x",
	} {
		expect.Equal(t, d.NextPage(other).String(), Root, "%q", other)
	}
	expect.Equal(t, d.NextPage("/_/links?q=a#evil").String(), "/_/links?q=a", "a fragment")
}

func FuzzThePathToReturnTo(f *testing.F) {
	d := visit.New(visit.Options{}, parsed())
	for _, seed := range []string{"/_/", "/_/links?q=x", "/_/link/a%2f..%2f/edit", "//evil", "/_/\\x", "/_/../x", "\x00", "/_/link/é?\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := d.NextPage(next).String()
		u, err := url.Parse(got)
		expect.MustThat(t, err == nil && u.Host == "" && u.Scheme == "" && !strings.ContainsAny(got, "\r\n\\") && len(got) <= 3*visit.MaxNextBytes,
			"%q: got %q, %v", next, got, err)
		here, _ := url.Parse("https://sho.rt/_/sign-in")
		to := here.ResolveReference(u)
		expect.MustThat(t, to.Host == "sho.rt" && strings.HasPrefix(path.Clean(to.Path)+"/", Root) && d.HasPage(to.EscapedPath()),
			"%q: got %q, which leads to %s", next, got, to)
	})
}

func TestAFormBelongsToThePageThatShowsIt(t *testing.T) {
	d := visit.New(visit.Options{}, parsed())
	for path, want := range map[string]string{
		"/_/account/password": "/_/account", "/_/users/5/setup-link": "/_/users/5", "/_/link/x/disabled": "/_/link/x", "/_/link/x/edit": "/_/link/x/edit",
		"/_/links/bulk": "/_/links/bulk", "/_/tokens/a/revoke": "/_/tokens/a/revoke", "/_/sign-out": Root, "/_/setup": Root, "/_/": Root, "/_/none/at/all": Root,
		"": Root, "/": Root, "x": Root, "/_": Root, "////": Root,
	} {
		expect.Equal(t, d.PageOf(path), want, "%q", path)
	}
	for _, r := range pages().Rows {
		if path := strings.NewReplacer("{", "", "}", "").Replace(r.Path); r.Who != visit.Anybody && !strings.HasPrefix(path, d.PageOf(path)) {
			t.Errorf("%s is of the page %s", path, d.PageOf(path))
		}
	}
}
