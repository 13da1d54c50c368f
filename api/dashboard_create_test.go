package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/api/account"
	"shunt/engine/expect"
)

// withAnn returns a site and the browser of a member.
func withAnn(t *testing.T, change func(*Options)) (*site, *plainBrowser) {
	t.Helper()
	st := newSite(t, change)
	st.person("ann@example.com", account.RoleMember)
	return st, st.browse("ann@example.com")
}

// object returns a link of anybody as the API shows it.
func (st *site) object(code string) (o linkObject) {
	st.t.Helper()
	r := st.call("GET", "/links/"+code+"?owner=all", "")
	err := json.Unmarshal([]byte(r.body), &o)
	expect.MustThat(st.t, err == nil && r.status == 200, "%s: got %d %s, %v", code, r.status, r.body, err)
	return o
}

func TestAFormMakesALinkOfAllItsFields(t *testing.T) {
	st, b := withAnn(t, nil)
	made := b.follow(b.open("/_/links").form("/_/links").with(
		"url", " https://a.example/x?y=1#z ", "alias", "full", "title", "A <title>", "tags", `news, "a, b" , ü`, "expires_at", "2027-03-04T05:06",
		"max_hits", "0100", "redirect_status", "308", "query", "append", "disabled", "on"))
	made.want("The link is ready.", "http://127.0.0.1:8080/full", "The link does not redirect now: it is disabled.")
	o := st.object("full")
	got := fmt.Sprintf("%s|%s|%q|%v|%d|%d|%v|%v", o.URL, o.Title, o.Tags, o.ExpiresAt.Format(time.RFC3339), *o.MaxHits, o.RedirectStatus, o.ForwardQuery, o.State)
	expect.Equal(t, got, `https://a.example/x?y=1#z|A <title>|["news" "a, b" "ü"]|2027-03-04T05:06:00Z|100|308|true|disabled`)
	made = b.follow(b.open("/_/links/new?url=https://b.example/&alias=other").form("/_/links/new"))
	if got := made.at("made-address"); got != "http://127.0.0.1:8080/other" || !strings.Contains(made.body, `<img src="/_/link/other/qr.svg"`) {
		t.Errorf("the page after a form that was filled by its address: got %q %s", got, made.text())
	}
	again := b.open(made.path)
	expect.That(t, again.at("made-address") == "http://127.0.0.1:8080/other" && !strings.Contains(again.text(), "is ready"), "loaded again: got %s", again.text())
}

func TestAFormThatIsSentTwiceMakesOneLink(t *testing.T) {
	st, b := withAnn(t, nil)
	form := b.open("/_/links").form("/_/links").with("url", "https://a.example/")
	var sending sync.WaitGroup
	places := make(chan string, 16)
	for range cap(places) {
		sending.Go(func() { places <- b.submit(form).header.Get("Location") })
	}
	sending.Wait()
	first := <-places
	for range cap(places) - 1 {
		got := <-places
		expect.That(t, got == first && strings.HasPrefix(got, "/_/links?made="), "got %q, want %q", got, first)
	}
	expect.Equal(t, st.engine.Metrics().Links, 1, "links")
	got := b.submit(form.with("url", "https://b.example/")).header.Get("Location")
	expect.That(t, got != first && got != "", "another address in the same form: got %q", got)
}

func TestALinkThatIsThereIsSaidToBe(t *testing.T) {
	_, b := withAnn(t, nil)
	for _, want := range []string{"The link is ready.", "You already had this link, so no other was created."} {
		b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "x")).want(want)
	}
}

func TestAFormCanReuseALink(t *testing.T) {
	st, b := withAnn(t, nil)
	ask := func(fields ...string) *shown {
		t.Helper()
		return b.follow(b.open("/_/links/new").form("/_/links/new").with(append([]string{"url", "https://a.example/", "title", "A"}, fields...)...))
	}
	ask().want("The link is ready.") // without the box
	made := ask("reuse", "on")
	made.want("The link is ready.")
	again := ask("reuse", "on")
	again.want("You already had this link, so no other was created.")
	expect.Equal(t, again.at("made-address"), made.at("made-address"))
	ask("reuse", "on", "title", "B").want("The link is ready.")
	ask().want("The link is ready.")
	expect.Equal(t, st.engine.Metrics().Links, 4, "links")
	refused := b.submit(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "x", "reuse", "on"))
	expect.Equal(t, refused.at("link-reuse-error"), "Must not be sent with an alias, which names the link already.")
	expect.Equal(t, refused.form("/_/links/new").values.Get("reuse"), "on")
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "x"))
	for path, has := range map[string]bool{"/_/links/new": true, "/_/links/new?like=x": true, "/_/links": true, "/_/link/x/edit": false} {
		expect.That(t, strings.Contains(b.open(path).body, `id="link-reuse"`) == has, "%s has the box: want %v", path, has)
	}
}

func TestErrorsStandAtTheirFieldsAndWhatWasTypedStays(t *testing.T) {
	st, b := withAnn(t, func(o *Options) {
		blocking(t, o, "evil.example\n")
	})
	st.shorten(`{"url":"http://secret.example/","alias":"foreign"}`)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://mine.example/", "alias", "mine"))
	many := strings.Repeat("t%d,", 33)
	for i := range 33 {
		many = strings.Replace(many, "%d", fmt.Sprint(i), 1)
	}
	for name, c := range map[string]struct {
		field, value, want string
		status             int
	}{
		"no address":         {"url", "", "Must be given.", 422},
		"no scheme, no host": {"url", "example", "Must be an absolute address, with http:// or https:// before it.", 422},
		"script":             {"url", "javascript:alert(1)", "Must be", 422},
		"9,000 bytes":        {"url", "https://a.example/" + strings.Repeat("x", 9000), "Must be at most 8192 bytes", 422},
		"blocked":            {"url", "https://evil.example/", "block", 403},
		"our own":            {"url", "http://127.0.0.1:8080/x", "", 422},
		"not UTF-8":          {"title", "a\xff", "Has damaged characters.", 422},
		"own alias":          {"alias", "mine", `Alias is taken: "mine" leads to https://mine.example/.`, 409},
		"foreign alias":      {"alias", "foreign", "Alias is taken.", 409},
		"an empty segment":   {"alias", "a//b", "Must be names with one / between them; a name is not empty, . or ..", 422},
		"a reserved alias":   {"alias", "api/x", `Must not begin with "api/", which is reserved.`, 422},
		"hostile text":       {"alias", `"><script>alert(1)</script>`, "May only hold letters, digits, _, -, . and /.", 422},
		"a long title":       {"title", strings.Repeat("x", 513), "Must be at most 512 bytes.", 422},
		"33 tags":            {"tags", many, "Must be at most 32 tags.", 422},
		"a long tag":         {"tags", "a, b, " + strings.Repeat("x", 65), "Tag 3: must be at most 64 bytes.", 422},
		"a past expiry":      {"expires_at", "2026-01-02T03:04", "Must be in the future.", 422},
		"no time":            {"expires_at", "soon", "Must be a time such as", 422},
		"no hits":            {"max_hits", "0", "Must be a number from 1 to", 422},
		"not a number":       {"max_hits", "a few", "Must be a whole number.", 422},
		"half a hit":         {"max_hits", "1.5", "Must be a whole number.", 422},
		"an odd status":      {"redirect_status", "303", "Must be 301, 302, 307 or 308.", 422},
	} {
		for _, at := range []string{"/_/links", "/_/links/new"} {
			before := st.engine.Metrics().Links
			typed := b.open(at).form(at).with("url", "https://fine.example/?a=\"<b>", "title", "kept <b>", "tags", "one", c.field, c.value)
			page := b.submit(typed)
			id := "link-" + c.field
			if got := page.at(id + "-error"); page.status != c.status || !strings.HasPrefix(got, c.want) && !strings.Contains(got, c.want) || got == "" {
				t.Errorf("%s: got %d %q, want %d %q", name, page.status, got, c.status, c.want)
				continue
			}
			field := page.element(id)
			expect.That(t, has(field, "autofocus") && attribute(field, "aria-invalid") == "true" &&
				strings.Contains(attribute(field, "aria-describedby"), id+"-error"), "%s: the field does not say that it is wrong: %v", name, field.Attr)
			again := page.form("/_/links/new")
			for _, of := range []string{"url", "alias", "title", "tags", "expires_at", "max_hits", "key"} {
				got, want := again.values.Get(of), strings.TrimSpace(typed.values.Get(of))
				expect.That(t, got == want || strings.Contains(want, "\xff"), "%s: %s is %q, want what was typed, %q", name, of, got, want)
			}
			details := page.all("details", "more")
			expect.That(t, len(details) == 3 && has(details[0], "open") && !has(details[1], "open") && !has(details[2], "open"), "%s: the details are not unfolded", name)
			expect.That(t, !strings.Contains(page.body, "secret.example") && st.engine.Metrics().Links == before &&
				!strings.Contains(page.body, "<script>alert"), "%s: got %s", name, page.body)
		}
	}
}

func TestAFullDiskKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	disk := &sickDisk{FS: vfs.Default}
	st := newSiteOver(t, disk)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "x"))
	disk.full.Store(true)
	for deadline := time.Now().Add(patienceOfTests); st.metric("shunt_read_only") != "1"; time.Sleep(time.Millisecond) {
		expect.MustThat(t, !time.Now().After(deadline), "the full disk is not noticed")
	}
	for path, fields := range map[string][]string{
		"/_/links/new": {"url", "https://b.example/"}, "/_/links/bulk": {"addresses", "https://b.example/"}, "/_/link/x/edit": {"title", "other"},
	} {
		page := b.submit(b.open(path).form(path).with(fields...))
		if got := page.form(path).values.Get(fields[0]); page.status != 503 || page.header.Get("Retry-After") != "10" || got != fields[1] {
			t.Errorf("%s: got %d, Retry-After %q, the form with %q", path, page.status, page.header.Get("Retry-After"), got)
		}
		page.want("Nothing can be changed at present", "Whoever runs this server has to make room on its disk.")
	}
	b.submit(b.open("/_/link/x/delete").form("/_/link/x/delete")).expect(t, "a delete", 503)
	expect.Equal(t, listedOn(b.open("/_/links")), "x", "the list")
}

func TestPagesOfLinksSayThatTheStoreIsLoading(t *testing.T) {
	st := unloadedSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	for _, path := range []string{"/_/links", "/_/link/x/edit", "/_/link/x/delete"} {
		b.get(path).expect(t, path, 503, some("Retry-After"))
	}
	page := b.submit(b.open("/_/links/new").form("/_/links/new").with("url", "https://a.example/"))
	got := page.form("/_/links/new").values.Get("url")
	expect.That(t, page.status == 503 && got == "https://a.example/", "a new link: got %d, the form with %q", page.status, got)
}

func TestAFormOfAnEndedSessionIsFilledAgainNotSent(t *testing.T) {
	st, b := withAnn(t, nil)
	b.follow(b.open("/_/links").form("/_/links").with("url", "https://a.example/", "alias", "x"))
	for path, fields := range map[string][]string{
		"/_/links":       {"url", "https://b.example/?a=b&c=\"", "tags", "one, two"},
		"/_/links/new":   {"url", "https://b.example/", "disabled", "on"},
		"/_/links/bulk":  {"addresses", "https://b.example/\r\n\r\nhttps://c.example/", "tags", "x"},
		"/_/link/x/edit": {"url", "https://b.example/", "title", "other"},
	} {
		b.cookie = st.logIn("ann@example.com")
		form := b.open(path).form(path).with(fields...)
		st.as([]string{b.cookie, ownPage}, "DELETE", "/session", "").need(t, "", 204)
		signIn := b.submit(form)
		signIn.want("Sign in again")
		r := b.submit(signIn.form("/_/sign-in").with("email", "ann@example.com", "password", goodPassword))
		cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
		_, value, _ := strings.Cut(cookie, "=")
		st.secret(value)
		b.cookie = "Cookie: " + cookie
		page := b.open(r.header.Get("Location"))
		page.want("Nothing has been sent yet")
		got, want := page.form(path).values.Encode(), form.values.Encode()
		expect.That(t, page.path == path && got == want, "%s, filled again:\n got %s\nwant %s", page.path, got, want)
		o := st.object("x")
		expect.That(t, st.engine.Metrics().Links == 1 && o.URL == "https://a.example/", "%s: something was sent", path)
	}
}

func TestAnAddressWithoutItsSchemeGetsHTTPS(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	b := st.browse("ann@example.com")
	b.follow(b.open("/_/links").form("/_/links").with("url", "shop.example/spring?a=b", "alias", "x"))
	b.submit(b.open(bulk).form(bulk).with("addresses", "www.example.org\r\nmailto:ann@example.com"))
	got := st.object("x").URL
	expect.That(t, got == "https://shop.example/spring?a=b" && st.engine.Metrics().Links == 2, "got %s, %d links", got, st.engine.Metrics().Links)
}

func TestFormsRefuseHostileTargets(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	st := hostileSite(t, "http,https")
	st.shorten(`{"url":"https://good.example/","alias":"x"}`)
	st.person("boss@example.com", account.RoleAdmin)
	b := st.browse("boss@example.com")
	create, edit := b.open("/_/links").form("/_/links"), b.open(editX+"?owner=all").form(editX)
	var several []string
	for _, h := range hostileTargets(t) {
		for field, form := range map[string]string{
			"url": "%s", "expired_url": "%s", "card.image": "%s", "rules": "device=ios -> %s", "split": "1:%s\n1:https://good.example/",
		} {
			if field != "url" && h.line%5 != 0 { // all fields have one policy, so each fifth will do
				continue
			}
			if field != "url" && (strings.TrimSpace(h.target) == "" || strings.ContainsAny(h.target, "\r\n")) { // none, or another line
				continue
			}
			for _, to := range []*htmlForm{create, edit} {
				page := b.submit(to.with("url", "https://good.example/", "card.title", "t", field, fmt.Sprintf(form, h.target)))
				expect.That(t, page.status >= 400 && page.at("link-"+field+"-error") != "", "line %d, %s, %s of %s: got %d", h.line, h.kind, field, to.action, page.status)
			}
		}
		if strings.TrimSpace(h.target) != "" && !strings.Contains(h.target, "\n") && len(several) < 1000 {
			several = append(several, h.target)
		}
	}
	page := b.submit(b.open(bulk).form(bulk).with("addresses", strings.Join(several, "\r\n")))
	n := len(page.all("span", "error"))
	expect.That(t, page.status == 200 && n == len(several) && n >= 400 && st.engine.Metrics().Links == 1, "several: got %d, %d of %d refused", page.status, n, len(several))
	expect.Equal(t, st.get("/x").header.Get("Location"), "https://good.example/", "the link leads to")
}
