package api

import (
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/engine/expect"
)

// Tools that send forms, such as uploaders of pictures, get what others get; who wants text gets the address alone.
func TestAFormMakesALinkAndTextIsItsAddress(t *testing.T) {
	st := newSite(t, nil)
	const encoded = "Content-Type: application/x-www-form-urlencoded"
	create := func(body string, lines ...string) reply {
		return send(t, st.publicAt, "POST", requestText("POST", "/api/v1/shorten", body, append(lines, "Authorization: Bearer "+st.token)...))
	}
	r := create("url=example.org%2Fa%3Fb&alias=x&tags=a,+b&max_hits=7&forward_query=on&title=", encoded)
	r.expect(t, "a form", 201, `"url":"https://example.org/a?b"`, `"tags":["a","b"]`, `"max_hits":7`, `"forward_query":true`)
	parts := "--X\r\nContent-Disposition: form-data; name=\"url\"\r\n\r\nhttps://example.org/c\r\n--X\r\nContent-Disposition: form-data; name=\"alias\"\r\n\r\ny\r\n--X--\r\n"
	r = create(parts, "Content-Type: multipart/form-data; boundary=X", "Accept: text/plain")
	expect.That(t, r.status == 201 && r.body == "http://127.0.0.1:8080/y" && strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") && r.header.Get("ETag") != "", "text: got %d %q %v", r.status, r.body, r.header)
	r = create(parts, "Content-Type: multipart/form-data; boundary=X", "Accept: text/plain;q=0.9, */*;q=0.1")
	expect.That(t, r.status == 200 && r.body == "http://127.0.0.1:8080/y", "again: got %d %q", r.status, r.body)
	create("url=https://example.org/d", encoded, "Accept: application/json, text/plain, */*").expect(t, "what axios sends", 201, `"url":"https://example.org/d"`)
	for body, want := range map[string]string{
		"alias=z": "url:required", "url=ftp://a/": "url:scheme", "url=http://a/&max_hits=many": "max_hits:type", "url=http://a/&url=http://b/": "url:duplicate", "url=http://a/&no=x": "no:unknown",
	} {
		r := create(body, encoded, "Accept: text/plain")
		expect.That(t, r.status == 422 && r.fields() == want, "%s: got %d %s, want %s", body, r.status, r.body, want)
	}
	expect.Equal(t, create("url=%zz", encoded).status, 400, "no form")
	expect.Equal(t, create(`{"url":"http://a/"}`, "Content-Type: text/html").status, 415, "neither JSON nor a form")
	const key = "Idempotency-Key: abcdefgh-1"
	first, again := create("url=https://example.org/e", encoded, key), create("url=https%3A//example.org/e", encoded, key)
	expect.That(t, first.status == 201 && first.body == again.body, "repeated: got %s and %s", first.body, again.body)
}

// A form of a foreign page would come with the session of whoever looks at that page.
func TestAFormOfAForeignPageMakesNoLink(t *testing.T) {
	st := newSite(t, nil)
	st.person("ann@example.com", account.RoleMember)
	cookie := st.logIn("ann@example.com")
	for name, lines := range map[string][]string{
		"cross-site": {"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, "an old browser": {"Origin: https://evil.example"}, "no origin": nil,
	} {
		r := send(t, st.publicAt, "POST", requestText("POST", "/api/v1/shorten", "url=https://example.org/", append(lines, cookie, "Content-Type: application/x-www-form-urlencoded")...))
		expect.That(t, r.status == 403 || r.status == 401, "%s: got %d %s", name, r.status, r.body)
	}
}
