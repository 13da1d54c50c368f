package api

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// matches checks a text by a regular expression.
func matches(t *testing.T, text, pattern string) {
	t.Helper()
	expect.That(t, regexp.MustCompile(pattern).MatchString(text), "got %s, want %s", text, pattern)
}

// TestAScanCountsApartThroughEveryDoor follows links as scanners do, and as others do.
func TestAScanCountsApartThroughEveryDoor(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://plain.example/","alias":"plain"}`)
		st.shorten(`{"url":"http://all.example/?x=1#y","alias":"all","forward_query":true}`)
		st.shorten(`{"url":"http://keep.example/?_qr=own","alias":"keep","query":"keep"}`)
		st.shorten(`{"url":"http://own.example/","alias":"ruled","forward_query":true,"rules":[` +
			`{"url":"http://scanned.example/","conditions":[{"type":"any-value-query-param","match_key":"_qr"}]},` +
			`{"url":"http://ruled.example/","conditions":[{"type":"query-param","match_key":"a","match_value":"b"}]}]}`)
		st.shorten(`{"url":"http://path.example/","alias":"path","forward_path":true,"forward_query":true}`)
		for _, c := range []struct{ path, location string }{
			{"/plain?_qr", "http://plain.example/"}, {"/plain?_qr=1&x", "http://plain.example/"}, {"/plain?x&_qr", "http://plain.example/"},
			{"/plain", "http://plain.example/"}, {"/plain?x", "http://plain.example/"},
			{"/all?_qr", "http://all.example/?x=1#y"}, {"/all?_qr=", "http://all.example/?x=1#y"}, {"/all?a=b&_qr=1&c", "http://all.example/?x=1&a=b&c#y"},
			{"/all?%5Fqr&a", "http://all.example/?x=1&a#y"}, {"/all?a=_qr", "http://all.example/?x=1&a=_qr#y"},
			{"/all&_qr&b", "http://all.example/?x=1&b#y"}, {"/keep?_qr&_qr=2", "http://keep.example/?_qr=own"},
			{"/ruled?_qr", "http://own.example/"}, {"/ruled?_qr&a=b", "http://ruled.example/?a=b"}, {"/path/c/d?_qr", "http://path.example/c/d"},
		} {
			got := answered(t, dial(), requestText("GET", c.path, "", browser, "Referer: https://news.example/"))
			expect.That(t, strings.Contains(got, "\r\nLocation: "+c.location+"\r\n"), "%s: got\n%s\nwant %s", c.path, got, c.location)
		}
		for _, line := range []string{"User-Agent: Googlebot/2.1", "Sec-Purpose: prefetch"} { // neither is a hit
			answered(t, dial(), requestText("GET", "/plain?_qr", "", line))
		}
		answered(t, dial(), requestText("HEAD", "/plain?_qr", ""))
		for code, want := range map[string]string{
			"plain": `"hits":5,.*"scans":3,"referrers":\[\{"value":"QR code","hits":3\},\{"value":"news.example","hits":2\}\]`,
			"all":   `"hits":6,.*"scans":5,"referrers":\[\{"value":"QR code","hits":5\},\{"value":"news.example","hits":1\}\]`,
			"keep":  `"hits":1,.*"scans":1,`, "ruled": `"hits":2,.*"scans":2,`, "path": `"hits":1,.*"scans":1,`,
		} {
			r := st.call("GET", "/stats/"+code+"?include=scans,referrers", "")
			matches(t, r.body, want)
		}
		r := st.call("GET", "/stats?include=scans", "")
		matches(t, r.body, `"hits":15,.*"scans":12`)
		r = st.call("GET", "/stats/plain?include=scans,referrers", "", "Accept: text/csv")
		r.expect(t, "as CSV", 200, "\nscans,,,,,3,\n", "\nreferrers,,,,QR code,3,\n")
	})
}

// A visitor who scans the code of a link with a password types it, and is sent on with the mark: so the scan counts.
func TestAScanOfALockedLinkCountsOnceItIsOpen(t *testing.T) {
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		st.shorten(`{"url":"http://secret.example/","alias":"locked","password":"open sesame","forward_query":true}`)
		got := answered(t, dial(), requestText("POST", "/locked?a=b&_qr", typing("open sesame"), typedForm, browser))
		expect.That(t, strings.HasPrefix(got, "HTTP/1.1 303 ") && strings.Contains(got, "\r\nLocation: /locked?_qr&a=b\r\n"), "got\n%s", got)
		got = answered(t, dial(), requestText("GET", "/locked?_qr&a=b", "", cookieOf(got), browser))
		expect.That(t, strings.Contains(got, "\r\nLocation: http://secret.example/?a=b\r\n"), "got\n%s", got)
		st.call("GET", "/stats/locked?include=scans", "").expect(t, "figures", 200, `"hits":1`, `"scans":1`)
	})
}

// More than 256 sites cannot push scans out of the figures, nor can a client name itself a QR code.
func TestNobodyHidesOrInventsScans(t *testing.T) {
	st := newSite(t, nil)
	st.shorten(`{"url":"http://a/","alias":"a"}`)
	st.get("/a?_qr", browser).need(t, "a scan", 302)
	for i := range 600 {
		st.get("/a", browser, fmt.Sprintf("Referer: https://site%d.example/", i)).need(t, "a click", 302)
	}
	for _, referrer := range []string{"QR code", "https://QR code/", "https://qr%20code/", "android-app://QR code/", "https://xn--QR code/"} {
		st.get("/a", browser, "Referer: "+referrer).need(t, "a click", 302)
	}
	st.call("GET", "/stats/a?include=scans,referrers", "").expect(t, "figures", 200, `"hits":606`, `"scans":1,`)
}
