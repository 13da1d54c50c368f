package api

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/engine/expect"
)

const (
	appleLinks   = `{"applinks":{"details":[{"appIDs":["ABCDE12345.com.example.app"],"components":[{"/":"/<b>*"}]}]}}`
	androidLinks = `[{"relation":["delegate_permission/common.handle_all_urls"],"target":{"namespace":"android_app","package_name":"com.example","sha256_cert_fingerprints":["14:6D"]}}]`
)

func TestADomainServesItsAppLinksThroughEveryDoor(t *testing.T) {
	const apple, android = "/.well-known/apple-app-site-association", "/.well-known/assetlinks.json"
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.call("POST", "/domains", `{"host":"b.test","apple_app_site_association": `+strings.ReplaceAll(appleLinks, ",", " ,\n ")+`}`).expect(t, "", 201, `"apple_app_site_association":`+appleLinks, `"assetlinks":null`)
		st.call("PATCH", "/domains/127.0.0.1:8080", `{"assetlinks":`+androidLinks+`}`).expect(t, "the default domain", 200, `"assetlinks":`+androidLinks)
		for _, c := range []struct{ host, path, want string }{
			{"b.test", apple, appleLinks}, {"b.test", android, ""}, {"other.test", apple, ""}, {"other.test", android, androidLinks}, {"b.test", "/apple-app-site-association", ""},
		} {
			r := askAs(t, dial, c.host, c.path)
			if c.want == "" {
				expect.Equal(t, r.status, 404, "%s%s", c.host, c.path)
				continue
			}
			r.expect(t, c.host+c.path, 200, bodyOf(c.want), header("Content-Type", "application/json"), header("Cache-Control", "public, max-age=3600"), header("X-Content-Type-Options", "nosniff"), header("Location", ""))
			head := answered(t, dial(), "HEAD "+c.path+" HTTP/1.1\r\nHost: "+c.host+"\r\nConnection: close\r\n\r\n")
			expect.That(t, strings.HasPrefix(head, "HTTP/1.1 200 ") && strings.HasSuffix(head, "\r\n\r\n") && strings.Contains(head, fmt.Sprintf("\r\nContent-Length: %d\r\n", len(c.want))), "HEAD: got\n%s", head)
			expect.Contains(t, answered(t, dial(), "POST "+c.path+" HTTP/1.1\r\nHost: "+c.host+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), "HTTP/1.1 405 ", "POST")
		}
		st.call("PATCH", "/domains/b.test", `{"apple_app_site_association":null}`).expect(t, "", 200, `"apple_app_site_association":null`)
		expect.Equal(t, askAs(t, dial, "b.test", apple).status, 404, "once it is unset")
	})
}

func TestAppLinksThatAreWrongAreRefused(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test"})
	for body, want := range map[string]string{
		`{"apple_app_site_association":[]}`: "apple_app_site_association:type", `{"apple_app_site_association":"{}"}`: "apple_app_site_association:type",
		`{"assetlinks":{}}`: "assetlinks:type", `{"assetlinks":true}`: "assetlinks:type",
		`{"assetlinks":[{"a":1},7]}`: "assetlinks:type", `{"assetlinks":[null]}`: "assetlinks:type", `{"assetlinks":[{"x` + strings.Repeat("x", domain.MaxAppLinksBytes-8) + `":1}]}`: "assetlinks:too_long",
	} {
		expect.Equal(t, st.call("PATCH", "/domains/b.test", body).fields(), want, "%.60s", body)
	}
	largest := `[{"` + strings.Repeat("x", domain.MaxAppLinksBytes-8) + `":1}]`
	st.call("PATCH", "/domains/b.test", `{"assetlinks":[ `+largest[1:]+` ,"apple_app_site_association":{"x`+strings.Repeat("y", domain.MaxAppLinksBytes-9)+`":1}}`).expect(t, "the largest", 200)
	expect.Equal(t, askAs(t, doors[0].open(t, st), "b.test", "/.well-known/assetlinks.json").body, largest)
	st.call("GET", "/audit?limit=1", "").expect(t, "the audit log", 200, `"assetlinks"`, `"apple_app_site_association"`, "xxx…")
	expect.Equal(t, st.call("PATCH", "/domains/b.test", `{"assetlinks":{"a":}}`).problem(), "malformed_json", "what is not JSON")
}

func TestAppLinksAreSetOnThePageOfADomain(t *testing.T) {
	st := newSite(t, nil)
	st.addDomain(domain.Domain{Host: "b.test"})
	b := st.browseAs("boss@example.com", account.RoleAdmin)
	const action = "/_/domains/b.test"
	page := b.follow(b.open(action).form(action).with("apple_app_site_association", appleLinks, "assetlinks", " "+androidLinks+"\r\n"))
	page.want("The domain is saved.")
	wantHarmless(page)
	expect.Contains(t, strings.ReplaceAll(page.form(action).values.Get("apple_app_site_association"), "\r", ""), "{\n  \"applinks\": {")
	dial := doors[0].open(t, st)
	expect.Equal(t, askAs(t, dial, "b.test", "/.well-known/assetlinks.json").body, androidLinks)
	before := st.call("GET", "/audit", "").body
	b.follow(page.form(action)).want("The domain is saved.")
	expect.Equal(t, st.call("GET", "/audit", "").body, before, "the form as it was shown changes something")
	for field, value := range map[string]string{"apple_app_site_association": "[]", "assetlinks": `[{"a"`} {
		refused := b.submit(b.open(action).form(action).with(field, value))
		expect.That(t, refused.status == 422 && strings.HasPrefix(refused.at("domain-"+field+"-error"), "Must be JSON: "), "%s: got %d %s", field, refused.status, refused.text())
		expect.Equal(t, strings.TrimSpace(refused.form(action).values.Get(field)), value, "as typed")
	}
	b.follow(b.open(action).form(action).with("apple_app_site_association", "", "assetlinks", "")).want("The domain is saved.")
	expect.Equal(t, askAs(t, dial, "b.test", "/.well-known/assetlinks.json").status, 404)
}
