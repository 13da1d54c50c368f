package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/client"
	"shunt/api/domain"
	"shunt/engine"
	"shunt/engine/expect"
)

// wantPaths asks on a host for paths, and wants these locations: a 404 for an empty one.
func wantPaths(t *testing.T, dial func() net.Conn, host string, want map[string]string) {
	t.Helper()
	for path, location := range want {
		r := askAs(t, dial, host, path)
		status := 302
		if location == "" {
			status = 404
		}
		expect.That(t, r.status == status && r.header.Get("Location") == location, "%s%s: got %d %q, want %d %q", host, path, r.status, r.header.Get("Location"), status, location)
	}
}

// setDefault changes the settings of the default domain.
func (st *site) setDefault(change func(*domain.Settings)) {
	st.t.Helper()
	_, err := st.domains.Edit(account.Caller{}, st.domains.Default().Host, st.targets, func(d *domain.Domain) error {
		change(&d.Settings)
		return nil
	})
	expect.OK(st.t, err)
}

func TestCodesOfADomainThatFoldsAreTypedInAnyCase(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{Folds: true}})
		for _, alias := range []string{"Promo", "abcdefgh", "Docs/Setup"} {
			for _, host := range []string{"127.0.0.1", "b.test"} {
				st.call("POST", "/shorten", fmt.Sprintf(`{"url":"https://%s.example/%s","alias":%q,"domain":%q}`, host, alias, alias, host)).need(t, alias, 201)
			}
		}
		st.call("POST", "/import", `[{"code":"FOO","url":"https://b.example/FOO","domain":"b.test"},{"code":"foo","url":"https://b.example/foo","domain":"b.test"},{"code":"Foo","url":"https://b.example/Foo","domain":"b.test","disabled":true}]`).need(t, "", 200)
		st.call("POST", "/import", `[{"code":"BaR","url":"https://b.example/BaR","domain":"b.test"},{"code":"BAR","url":"https://b.example/BAR","domain":"b.test"}]`).need(t, "", 200)
		wantPaths(t, dial, "b.test", map[string]string{
			"/pROMO": "https://b.test.example/Promo", "/Promo": "https://b.test.example/Promo", "/promo/": "https://b.test.example/Promo", "/PROMO).": "https://b.test.example/Promo",
			"/ABCDEFGH": "https://b.test.example/abcdefgh", "/AbcDefgH?x": "https://b.test.example/abcdefgh", "/docs/SETUP": "https://b.test.example/Docs/Setup", "/docs/setup.": "https://b.test.example/Docs/Setup",
			"/FOO": "https://b.example/FOO", "/foo": "https://b.example/foo", "/fOO": "https://b.example/foo", "/foO": "https://b.example/foo",
			"/bar": "https://b.example/BaR", "/BAR": "https://b.example/BAR", "/promotion": "", "/DOCS": "",
		})
		expect.Equal(t, askAs(t, dial, "b.test", "/Foo").status, 410, "a link of the code itself comes first, even if it is off")
		expect.Equal(t, askAs(t, dial, "b.test", "/PROMO+").status, 200, "the preview")
		expect.Equal(t, askAs(t, dial, "b.test", "/PROMO.svg").status, 200, "the QR code")
		wantPaths(t, dial, "127.0.0.1", map[string]string{"/Promo": "https://127.0.0.1.example/Promo", "/promo": "", "/ABCDEFGH": "", "/docs/setup": ""})
		figures, err := st.engine.Stats(t.Context(), engine.Key{Domain: 1, Code: "Promo"})
		expect.That(t, err == nil && figures.Hits == 4, "hits: got %+v, %v", figures, err)
		for range 20 {
			var made struct{ Code string }
			r := st.call("POST", "/shorten", `{"url":"https://b.example/","domain":"b.test"}`)
			r.need(t, "drawn", 201)
			expect.OK(t, json.Unmarshal([]byte(r.body), &made))
			expect.That(t, len(made.Code) == engine.DrawnCodeBytes && made.Code == strings.ToLower(made.Code), "drawn: got %q", made.Code)
		}
	})
}

func TestALinkPassesTheRestOfItsPathOn(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		for _, link := range []string{
			`{"alias":"docs","url":"https://e.org/p?x=1#f","query":"append","forward_path":true}`,
			`{"alias":"d","url":"https://e.org","forward_path":true}`,
			`{"alias":"s","url":"https://e.org/","forward_path":true}`,
			`{"alias":"q","url":"https://e.org?x=1","forward_path":true}`,
			`{"alias":"a","url":"https://a.org/","forward_path":true}`,
			`{"alias":"a/b","url":"https://ab.org/","forward_path":true}`,
			`{"alias":"a/b/plain","url":"https://plain.org/"}`,
			`{"alias":"off","url":"https://e.org/","forward_path":true,"disabled":true}`,
			`{"alias":"docs/soon","url":"https://soon.org/","starts_at":"2030-01-01T00:00:00Z","forward_path":true}`,
			`{"alias":"perm","url":"https://e.org/","forward_path":true,"redirect_status":301}`,
		} {
			st.shorten(link)
		}
		wantPaths(t, dial, "127.0.0.1", map[string]string{
			"/docs": "https://e.org/p?x=1#f", "/docs/": "https://e.org/p?x=1#f", "/docs/a?y=2": "https://e.org/p/a?x=1&y=2#f", "/docs/a/b/": "https://e.org/p/a/b/?x=1#f", "/docs//a": "https://e.org/p/a?x=1#f",
			"/docs/a%20b/%C3%A4": "https://e.org/p/a%20b/%C3%A4?x=1#f", "/docs/a%2Fb": "https://e.org/p/a%2Fb?x=1#f", "/docs/a&y": "https://e.org/p/a&y?x=1#f", "/%64ocs/%61": "https://e.org/p/%61?x=1#f",
			"/docs/logo.png": "https://e.org/p/logo.png?x=1#f", "/docs/x+": "https://e.org/p/x+?x=1#f", "/docs/a:b@c": "https://e.org/p/a:b@c?x=1#f", "/docs/" + strings.Repeat("x", 100): "https://e.org/p/" + strings.Repeat("x", 100) + "?x=1#f",
			"/d/.evil.com": "https://e.org/.evil.com", "/d/@evil": "https://e.org/@evil", "/d//evil.com": "https://e.org/evil.com", "/d///evil.com/": "https://e.org/evil.com/", "/s//evil.com": "https://e.org/evil.com", "/q/a?y=2": "https://e.org/a?x=1",
			"/d/%2e%2e/x": "", "/d/../x": "", "/d/.": "https://e.org", "/d/x/..": "", "/d/x/%2E%2e": "", "/d/.%2e": "https://e.org", "/d/.%2e/": "https://e.org", "/d/./": "https://e.org", "/d/..%2fx": "", "/d/x%2F..%2fy": "", `/d/a\b`: "", "/d/a%5cb": "", "/d/%5C%5cevil": "",
			"/a/x": "https://a.org/x", "/a/b/c": "https://ab.org/c", "/a/b/": "https://ab.org/", "/a/bc": "https://a.org/bc", "/a/b/plain": "https://plain.org/", "/a/b/plain/x": "https://ab.org/plain/x", "/a/c/d": "https://a.org/c/d",
			"/docs/soon": "https://e.org/p/soon?x=1#f", "/docs/soon/x": "https://e.org/p/soon/x?x=1#f", "/docsx": "", "/x/docs": "", "/docsx/a": "",
		})
		expect.Equal(t, askAs(t, dial, "127.0.0.1", "/off/x").status, 410, "a link that is off")
		expect.Equal(t, askAs(t, dial, "127.0.0.1", "/d/"+strings.Repeat("x", 8180)).status, 414, "a location that is too long")
		expect.That(t, strings.Contains(askAs(t, dial, "127.0.0.1", "/a/b/plain+").body, "plain.org"), "the preview of a link comes before the path of another")
		expect.Equal(t, askAs(t, dial, "127.0.0.1", "/perm/x").header.Get("Cache-Control"), "private, max-age=90", "a permanent one")
		figures, err := st.engine.Stats(t.Context(), keyOf("q"))
		expect.That(t, err == nil && figures.Hits == 1, "hits of q: got %+v, %v", figures, err)
	})
}

func TestAliasesHaveLettersOfAllScriptsWhereTheirDomainAllowsThem(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.addDomain(domain.Domain{Host: "b.test", Settings: domain.Settings{UnicodeCodes: true, Folds: true}})
		st.call("POST", "/shorten", `{"url":"https://e.org/","alias":"straße"}`).expect(t, "on another domain", 422, problemOf("invalid"), `"field":"alias"`)
		st.call("POST", "/import", `[{"url":"https://e.org/","code":"straße"}]`).expect(t, "on another domain", 200, `"field":"code"`)
		make := func(alias string) reply {
			return st.call("POST", "/shorten", fmt.Sprintf(`{"domain":"b.test","url":"https://e.org/%d","alias":%q,"forward_path":true}`, len(alias), alias))
		}
		make("bücher").expect(t, "", 201, `"code":"bücher"`, `"short_url":"http://b.test:8080/b%C3%BCcher"`, header("Location", "/api/v1/links/b%C3%BCcher?domain=b.test"))
		make("BÜCHER").expect(t, "in another case", 409, problemOf("alias_taken"))
		make("\u212Aino").expect(t, "a letter that is another one in NFC", 201, `"code":"Kino"`)
		make("ſtadt").expect(t, "", 201)
		make("STADT").expect(t, "a letter that folds to an ASCII one", 409, problemOf("alias_taken"))
		make("e\u0301te\u0301").expect(t, "not in NFC", 201, `"code":"été"`)
		make("日本/東京").expect(t, "", 201)
		make("a\u202Eb").expect(t, "a mark that turns text", 422, problemOf("invalid"))
		wantPaths(t, dial, "b.test", map[string]string{
			"/bücher": "https://e.org/7", "/b%C3%BCcher": "https://e.org/7", "/B%c3%9cCHER/": "https://e.org/7", "/bu%CC%88cher": "https://e.org/7", "/bücher).": "https://e.org/7", "/b%C3%BCcher%E2%80%8B": "https://e.org/7", "/bücher/a": "https://e.org/7/a", "/bücher/ä": "https://e.org/7/%C3%A4",
			"/été": "https://e.org/7", "/stadt": "https://e.org/6", "/%E6%97%A5%E6%9C%AC/%E6%9D%B1%E4%BA%AC": "https://e.org/13", "/日本/東京/x": "https://e.org/13/x", "/kino": "https://e.org/6",
			"/b%C3cher": "", "/b%FCcher": "", "/bu cher"[:3] + "cher": "", "/bücherei": "",
		})
		for _, path := range []string{"/bücher+", "/b%C3%BCcher+", "/b%C3%BCcher.svg", "/BÜCHER.png"} {
			expect.Equal(t, askAs(t, dial, "b.test", path).status, 200, path)
		}
		c, _ := st.goClient(st.token, nil)
		link, err := c.Link(t.Context(), "bücher", client.InDomain("b.test"))
		expect.That(t, err == nil && link.Code == "bücher", "the client: got %+v, %v", link, err)
		st.call("GET", "/stats/b%C3%BCcher?domain=b.test", "").expect(t, "figures", 200, `"hits":8`)
		st.call("DELETE", "/links/b%C3%BCcher?domain=b.test", "").expect(t, "", 204)
		expect.Equal(t, askAs(t, dial, "b.test", "/bücher").status, 404, "after it is deleted")
	})
}

func TestADomainMayKeepWhatFollowsAnAddress(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.setDefault(func(s *domain.Settings) { s.KeepsEnds = true })
		st.shorten(`{"url":"https://e.org/","alias":"abc"}`)
		wantPaths(t, dial, "127.0.0.1", map[string]string{"/abc": "https://e.org/", "/abc/": "https://e.org/", "/abc.": "", "/abc)": "", "/abc%20": "", "/abc+).": "", "/abc.svg)": "", "/abc&x=1": ""})
	})
}

// A path that might mean a link which is not loaded yet gets 503, never 404.
func TestTypedPathsAreNever404BeforeAllMeaningsAreLoaded(t *testing.T) {
	for _, d := range doors {
		t.Run("door="+d.name, func(t *testing.T) {
			st := unloadedSite(t, d.options(nil))
			st.setDefault(func(s *domain.Settings) { s.Folds = true })
			st.plant("Promo", nil)
			st.plant("docs", func(r *engine.Record) { r.SetForwardPath(true) })
			st.plant("docs/plain", nil)
			c := d.open(t, st)()
			defer c.Close()
			r := bufio.NewReader(c)
			for _, asked := range []struct {
				path, want string
				status     int
			}{
				{"/promo", "", 503}, {"/Promo", "Promo", 302}, {"/promo", "", 503}, {"/promo+", "", 503}, {"/promo.", "", 503}, {"/docs/a", "", 503}, {"/docs/plain", "docs/plain", 302}, {"/docs/a", "", 503}, {"/%20", "", 404},
			} {
				expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", asked.path, "", browser))))
				answer := readReply(t, r, "GET")
				answer.expect(t, asked.path, asked.status)
				expect.That(t, asked.status != 302 || answer.header.Get("Location") == "https://example.com/"+asked.want, "%s: got %+v", asked.path, answer)
			}
			st.setDefault(func(s *domain.Settings) { s.Folds = false })
			for path, want := range map[string]string{"/docs/a": "docs/a", "/docs/plain/b": "docs/plain/b", "/docs/x.png": "docs/x.png"} {
				expect.OK(t, expect.Err(io.WriteString(c, requestText("GET", path, "", browser))))
				readReply(t, r, "GET").expect(t, path, 302, header("Location", "https://example.com/"+want))
			}
		})
	}
}

func TestTheRulesOfPathsOfADomainAreSetByTheAPI(t *testing.T) {
	st := newSite(t, nil)
	c, _ := st.goClient(st.token, nil)
	no := false
	d, err := c.AddDomain(t.Context(), client.DomainDraft{Host: "b.test", Case: "fold", Trim: &no, UnicodeCodes: true})
	expect.That(t, err == nil && d.Case == "fold" && !d.Trim && d.UnicodeCodes, "added: got %+v, %v", d, err)
	d, err = c.EditDomain(t.Context(), "b.test", client.DomainEdit{Case: client.Set("sensitive"), Trim: client.Reset[bool](), UnicodeCodes: client.Reset[bool]()})
	expect.That(t, err == nil && d.Case == "sensitive" && d.Trim && !d.UnicodeCodes, "edited: got %+v, %v", d, err)
	for _, body := range []string{`{"case":"lower"}`, `{"case":""}`, `{"case":true}`, `{"trim":"true"}`, `{"unicode_codes":1}`} {
		st.call("PATCH", "/domains/b.test", body).expect(t, body, 422, problemOf("invalid"))
	}
	text := st.call("GET", "/audit", "").body
	for _, want := range []string{"case", "fold", "sensitive", "trim", "unicode_codes"} {
		expect.Contains(t, text, want)
	}
}

func TestAnImportMayAddDomains(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "a.test", Aliases: []string{"www.a.test"}})
	lines := `[{"code":"one","url":"https://e.org/1","domain":"new.test"},
{"code":"two","url":"https://e.org/2","domain":"NEW.test."},
{"code":"three","url":"https://e.org/3","domain":"www.a.test"},
{"code":"four","url":"https://e.org/4"},
{"code":"five","url":"https://e.org/5","domain":"not a host"},
{"code":"six","url":"https://e.org/6","domain":"10.0.0.1"}]`
	st.call("POST", "/import", lines).expect(t, "without it", 200, `{"created":2,"existing":0,"failed":4,`)
	expect.Equal(t, len(st.domains.All()), 2, "domains")
	st.call("POST", "/import?create_domains=yes", lines).expect(t, "another value", 422, problemOf("invalid"))
	r := st.call("POST", "/import?create_domains=true", lines)
	r.expect(t, "with it", 200, `{"created":2,"existing":2,"failed":2,`, `"domain":"new.test"`)
	expect.Equal(t, len(st.domains.All()), 3, "domains")
	st.call("GET", "/links/two?domain=new.test", "").expect(t, "", 200, `"url":"https://e.org/2"`)
	st.call("POST", "/import?domain=new.test", `[{"code":"four","url":"https://e.org/4"},{"code":"three","url":"https://e.org/3","domain":"a.test"}]`).
		expect(t, "a domain for those without one", 200, `{"created":1,"existing":1,"failed":0,`)
	st.call("GET", "/links/four?domain=new.test", "").expect(t, "", 200, `"url":"https://e.org/4"`)
	expect.Contains(t, st.call("GET", "/audit", "").body, `"domain.added"`)
	st.callAs(st.member("ann@example.com"), "POST", "/import?create_domains=true", lines).expect(t, "a member", 403)
}
