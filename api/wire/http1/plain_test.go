package http1

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"shunt/api/wiretest"
)

var somePurposes = []string{"Sec-Purpose", "purpose", "x-purpose", "X-Moz"}

// ordinary has a request of each ordinary client as it sends it.
var ordinary = map[string]string{
	"curl":            "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
	"curl -I":         "HEAD /aB3dE6gH HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
	"wget":            "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: Wget/1.21.3\r\nAccept: */*\r\nAccept-Encoding: identity\r\nConnection: Keep-Alive\r\n\r\n",
	"wrk":             "GET /aB3dE6gH HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
	"ab":              "GET /aB3dE6gH HTTP/1.0\r\nHost: 127.0.0.1:8080\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
	"k6":              "GET /aB3dE6gH HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: k6/0.55.0 (https://k6.io/)\r\n\r\n",
	"Go":              "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n\r\n",
	"Go, one request": "GET /aB3dE6gH HTTP/1.1\r\nHost: [::1]:8080\r\nUser-Agent: Go-http-client/1.1\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n",
	"Firefox": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\nReferer: https://www.example.com/a/b\r\nUpgrade-Insecure-Requests: 1\r\n" +
		"Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-User: ?1\r\nPriority: u=1\r\n\r\n",
	"Chrome": "GET /aB3dE6gH?utm_source=news&utm_medium=email HTTP/1.1\r\nHost: sho.rt\r\nConnection: keep-alive\r\n" +
		"sec-ch-ua: \"Chromium\";v=\"130\", \"Google Chrome\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: \"Windows\"\r\n" +
		"Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7\r\n" +
		"Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\nSec-Fetch-Dest: document\r\nReferer: https://www.example.com/\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7\r\n\r\n",
	"Chrome, prefetch": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nConnection: keep-alive\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36\r\n" +
		"Accept: */*\r\nSec-Purpose: prefetch;prerender\r\nPurpose: prefetch\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n",
	"Safari": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nUpgrade-Insecure-Requests: 1\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1\r\n" +
		"Accept-Language: en-GB,en;q=0.9\r\nPriority: u=0, i\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n\r\n",
	"Googlebot": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nConnection: keep-alive\r\nAccept: text/html,application/xhtml+xml,application/signed-exchange;v=b3,application/xml;q=0.9,*/*;q=0.8\r\n" +
		"From: googlebot(at)googlebot.com\r\nUser-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\r\n" +
		"Accept-Encoding: gzip, deflate, br\r\nIf-Modified-Since: Sat, 01 Nov 2025 10:00:00 GMT\r\n\r\n",
	"okhttp": "GET /aB3dE6gH HTTP/1.1\r\nHost: sho.rt\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip\r\nUser-Agent: okhttp/4.12.0\r\n\r\n",
	"nginx 1.22": "GET /aB3dE6gH HTTP/1.0\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\nHost: sho.rt\r\nConnection: close\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0\r\n" +
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n" +
		"Accept-Encoding: gzip, deflate, br, zstd\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n" +
		"Sec-Fetch-Site: none\r\nSec-Fetch-User: ?1\r\n\r\n",
	"HAProxy": "GET /aB3dE6gH HTTP/1.1\r\nhost: sho.rt\r\nuser-agent: curl/7.88.1\r\naccept: */*\r\nx-forwarded-for: 203.0.113.9\r\nx-forwarded-for: 192.0.2.7\r\nx-forwarded-proto: https\r\n\r\n",
}

func newReader() *Reader { return NewReader(&manyProxies, somePurposes) }

func TestOrdinaryRequestsArePlain(t *testing.T) {
	rd := newReader()
	for client, raw := range ordinary {
		for _, peer := range []netip.Addr{trustedPeer, strangePeer} {
			if n := checkPlain(t, rd, []byte(raw+wiretest.Smuggled), peer); n != len(raw) {
				t.Errorf("%s: got %d, want %d", client, n, len(raw))
			}
		}
	}
}

func TestNothingThatIsRefusedIsPlain(t *testing.T) {
	rd := newReader()
	for _, row := range wiretest.Refused() {
		if n := checkPlain(t, rd, []byte(row.Raw), trustedPeer); n != 0 {
			t.Errorf("%s: %q is plain", row.Name, row.Raw[:n])
		}
	}
}

func TestAcceptedRequestsAreReadAsByFasthttp(t *testing.T) {
	rd := newReader()
	plain := 0
	for _, row := range wiretest.Accepted() {
		if checkPlain(t, rd, []byte(row.Raw), trustedPeer) > 0 {
			plain++
		}
	}
	if plain < 15 {
		t.Errorf("only %d of the accepted requests are plain", plain)
	}
}

func TestAPlainRequestHasWhatARedirectNeeds(t *testing.T) {
	const fields = "Host: sho.rt\r\nUser-Agent:  a b \r\nReferer:https://x.example/?q\r\n"
	for name, c := range map[string]struct {
		raw  string
		want Plain
	}{
		"GET":                    {"GET /aB-_9 HTTP/1.1\r\n" + fields + "\r\n", Plain{Segment: []byte("aB-_9")}},
		"HEAD":                   {"HEAD /a HTTP/1.1\r\n" + fields + "\r\n", Plain{Segment: []byte("a"), Head: true}},
		"a slash after the code": {"GET /a/ HTTP/1.1\r\n" + fields + "\r\n", Plain{Segment: []byte("a")}},
		"a query":                {"GET /a?b=c?d/e HTTP/1.1\r\n" + fields + "\r\n", Plain{Segment: []byte("a"), Query: []byte("b=c?d/e")}},
		"both":                   {"GET /a/?b HTTP/1.1\r\n" + fields + "\r\n", Plain{Segment: []byte("a"), Query: []byte("b")}},
		"an empty query":         {"GET /a? HTTP/1.1\r\n" + fields + "\r\n", Plain{Segment: []byte("a")}},
		"the code _":             {"GET /_ HTTP/1.1\r\n" + fields + "\r\n", Plain{Segment: []byte("_")}},
		"it closes":              {"GET /a HTTP/1.1\r\n" + fields + "connection: close\r\n\r\n", Plain{Segment: []byte("a"), Closes: true}},
		"it stays open":          {"GET /a HTTP/1.1\r\n" + fields + "Connection: Keep-Alive\r\n\r\n", Plain{Segment: []byte("a")}},
		"HTTP/1.0":               {"GET /a HTTP/1.0\r\n" + fields + "\r\n", Plain{Segment: []byte("a"), Closes: true}},
		"HTTP/1.0 that closes":   {"GET /a HTTP/1.0\r\n" + fields + "Connection: close\r\n\r\n", Plain{Segment: []byte("a"), Closes: true}},
		"a client": {"GET /a HTTP/1.1\r\n" + fields + "x-forwarded-for: 192.0.2.7\r\nX-FORWARDED-FOR: 10.0.0.9\r\n\r\n",
			Plain{Segment: []byte("a"), Client: netip.MustParseAddr("192.0.2.7")}},
		"a country": {"GET /a HTTP/1.1\r\n" + fields + "CF-IPCountry: US\r\nCF-IPCountry:\r\nCF-IPCountry: DE\r\n\r\n",
			Plain{Segment: []byte("a"), Country: []byte("DE")}},
		"a name that is 256 bytes longer": {"GET /a HTTP/1.1\r\n" + fields + "User-Agent" + strings.Repeat("s", 256) + ": c\r\n\r\n", Plain{Segment: []byte("a")}},
		"a purpose": {"GET /a HTTP/1.1\r\n" + fields + "X: y\r\nx-MOZ: prefetch\r\nZ: z\r\n\r\n",
			Plain{Segment: []byte("a"), Purposes: []byte("x-MOZ: prefetch\r\nZ: z\r\n\r\n")}},
		"a purpose first": {"GET /a HTTP/1.1\r\nPurpose: preview\r\n" + fields + "\r\n",
			Plain{Segment: []byte("a"), Purposes: []byte("Purpose: preview\r\n" + fields + "\r\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Raw, c.want.UserAgent, c.want.Referrer, c.want.Peer = []byte(c.raw), []byte("a b"), []byte("https://x.example/?q"), trustedPeer
			if !c.want.Client.IsValid() {
				c.want.Client = trustedPeer
			}
			got := leftover()
			if n, more := newReader().Read([]byte(c.raw), trustedPeer, &got); n != len(c.raw) || more {
				t.Fatalf("got %d, %v, want %d, false", n, more, len(c.raw))
			}
			comparePlain(t, &got, &c.want)
			if got.NowMs != 42 {
				t.Errorf("the time is %d, want that of before, 42", got.NowMs)
			}
		})
	}
}

// leftover returns a Plain that has been used before.
func leftover() Plain {
	x := []byte("x")
	return Plain{Raw: x, Segment: x, Query: x, UserAgent: x, Referrer: x, Purposes: x, Country: x, Head: true, Closes: true, NowMs: 42}
}

func TestWhatFieldsLackIsNotThatOfTheRequestBefore(t *testing.T) {
	raw := "GET /a HTTP/1.1\r\nHost: b\r\n\r\n"
	got := leftover()
	if n, _ := newReader().Read([]byte(raw), strangePeer, &got); n != len(raw) {
		t.Fatal("not plain")
	}
	comparePlain(t, &got, &Plain{Raw: []byte(raw), Segment: []byte("a"), Peer: strangePeer, Client: strangePeer})
}

func TestWhatIsInDoubtIsNotPlain(t *testing.T) {
	const head = " HTTP/1.1\r\nHost: a\r\n"
	rd := newReader()
	for name, raw := range map[string]string{
		"another method":             "POST /a" + head + "\r\n",
		"a method in lower case":     "get /a" + head + "\r\n",
		"a longer method":            "GETX /a" + head + "\r\n",
		"an empty line first":        "\r\nGET /a" + head + "\r\n",
		"no code":                    "GET /" + head + "\r\n",
		"no code, but a query":       "GET /?a" + head + "\r\n",
		"two slashes first":          "GET //a" + head + "\r\n",
		"two slashes after the code": "GET /a//" + head + "\r\n",
		"two segments":               "GET /a/b" + head + "\r\n",
		"a dot":                      "GET /robots.txt" + head + "\r\n",
		"an escape":                  "GET /%61" + head + "\r\n",
		"a plus":                     "GET /a+" + head + "\r\n",
		"the overview":               "GET /_/" + head + "\r\n",
		"the overview, with a query": "GET /_/?a" + head + "\r\n",
		"a byte beyond ASCII":        "GET /\xe9" + head + "\r\n",
		"absolute-form":              "GET http://a/b" + head + "\r\n",
		"a fragment":                 "GET /a#b" + head + "\r\n",
		"a fragment of the query":    "GET /a?b#c" + head + "\r\n",
		"a query beyond ASCII":       "GET /a?\xe9" + head + "\r\n",
		"a query with a NUL":         "GET /a?b\x00c" + head + "\r\n",
		"a query with DEL":           "GET /a?b\x7f" + head + "\r\n",
		"a query with a tab":         "GET /a?b\tc" + head + "\r\n",
		"two spaces":                 "GET /a  HTTP/1.1\r\nHost: a\r\n\r\n",
		"two spaces first":           "GET  /a HTTP/1.1\r\nHost: a\r\n\r\n",
		"a tab":                      "GET\t/a HTTP/1.1\r\nHost: a\r\n\r\n",
		"HTTP/1.2":                   "GET /a HTTP/1.2\r\nHost: a\r\n\r\n",
		"HTTP/0.9":                   "GET /a\r\n",
		"HTTP/2":                     "GET /a HTTP/2.0\r\nHost: a\r\n\r\n",
		"http/1.1":                   "GET /a http/1.1\r\nHost: a\r\n\r\n",
		"a space after the version":  "GET /a HTTP/1.1 \r\nHost: a\r\n\r\n",
		"LF alone":                   "GET /a HTTP/1.1\nHost: a\n\n",
		"CR alone":                   "GET /a HTTP/1.1\rHost: a\r\r",
		"LF alone after a field":     "GET /a" + head + "X: y\nZ: z\r\n\r\n",
		"LF alone at the end":        "GET /a" + head + "\n",
		"two CR":                     "GET /a" + head + "X: y\r\r\n\r\n",
		"CR inside a value":          "GET /a" + head + "X: y\rz\r\n\r\n",
		"no Host":                    "GET /a HTTP/1.1\r\nX: y\r\n\r\n",
		"no fields":                  "GET /a HTTP/1.1\r\n\r\n",
		"two Hosts":                  "GET /a" + head + "Host: a\r\n\r\n",
		"two Hosts in HTTP/1.0":      "GET /a HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n",
		"an empty Host":              "GET /a HTTP/1.1\r\nHost:\r\n\r\n",
		"a Host with a path":         "GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n",
		"a Host with a wrong port":   "GET /a HTTP/1.1\r\nHost: a:b\r\n\r\n",
		"a Host of half an address":  "GET /a HTTP/1.1\r\nHost: [::1\r\n\r\n",
		"a Host in HTTP/1.0, wrong":  "GET /a HTTP/1.0\r\nHost: a b\r\n\r\n",
		"no colon":                   "GET /a" + head + "X\r\n\r\n",
		"no colon, the value has it": "GET /a" + head + "X y: z\r\n\r\n",
		"no name":                    "GET /a" + head + ": y\r\n\r\n",
		"a space before the colon":   "GET /a" + head + "X : y\r\n\r\n",
		"a folded line":              "GET /a" + head + "X: y\r\n z\r\n\r\n",
		"a folded line of a tab":     "GET /a" + head + "X: y\r\n\tz\r\n\r\n",
		"a space before the first":   "GET /a HTTP/1.1\r\n Host: a\r\n\r\n",
		"a name beyond ASCII":        "GET /a" + head + "X\xe9: y\r\n\r\n",
		"a long name beyond ASCII":   "GET /a" + head + "Xxxxxxxxxxxxxxxxxxx\xe9: y\r\n\r\n",
		"a name with a NUL":          "GET /a" + head + "X\x00: y\r\n\r\n",
		"a name with a bracket":      "GET /a" + head + "X[: y\r\n\r\n",
		"a tab in a value":           "GET /a" + head + "X: y\tz\r\n\r\n",
		"a tab before a value":       "GET /a" + head + "X:\ty\r\n\r\n",
		"a value with a NUL":         "GET /a" + head + "X: y\x00\r\n\r\n",
		"a value with DEL":           "GET /a" + head + "X: y\x7f\r\n\r\n",
		"a value beyond ASCII":       "GET /a" + head + "User-Agent: \xc3\xa9\r\n\r\n",
		"a length":                   "GET /a" + head + "Content-Length: 5\r\n\r\nabcde",
		"a length of 0":              "GET /a" + head + "content-length: 0\r\n\r\n",
		"a coding":                   "GET /a" + head + "TRANSFER-ENCODING: chunked\r\n\r\n0\r\n\r\n",
		"an expectation":             "GET /a" + head + "Expect: 100-continue\r\n\r\n",
		"an upgrade":                 "GET /a" + head + "Upgrade: websocket\r\n\r\n",
		"a trailer":                  "GET /a" + head + "Trailer: X\r\n\r\n",
		"Connection: upgrade":        "GET /a" + head + "Connection: Upgrade\r\n\r\n",
		"Connection: Close":          "GET /a" + head + "Connection: Close\r\n\r\n",
		"two options":                "GET /a" + head + "Connection: keep-alive, close\r\n\r\n",
		"an empty Connection":        "GET /a" + head + "Connection:\r\n\r\n",
		"two Connections":            "GET /a" + head + "Connection: close\r\nConnection: close\r\n\r\n",
		"two Connections that stay":  "GET /a" + head + "Connection: keep-alive\r\nConnection: keep-alive\r\n\r\n",
		"HTTP/1.0 that stays open":   "GET /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
		"two User-Agents":            "GET /a" + head + "User-Agent: b\r\nuser-agent: b\r\n\r\n",
		"two Referers":               "GET /a" + head + "Referer: b\r\nreferer:\r\n\r\n",
		"five lines of the client":   "GET /a" + head + strings.Repeat("X-Forwarded-For: 192.0.2.7\r\n", maxClientLines+1) + "\r\n",
	} {
		var r Plain
		if n, more := rd.Read([]byte(raw), trustedPeer, &r); n != 0 || more {
			t.Errorf("%s: %q: got %d, %v, want 0, false", name, raw, n, more)
		}
	}
}

func TestABeginningIsGivenUpAsSoonAsItCannotBePlain(t *testing.T) {
	rd := newReader()
	for raw, want := range map[string]bool{
		"": true, "G": true, "HEAD": true, "GET ": true, "GET /": true, "HEAD /": true, "GET /a": true, "GET /a/": true, "GET /a?b": true,
		"GET /a HTTP/1": true, "GET /a HTTP/1.1\r": true, "GET /a HTTP/1.1\r\n": true, "GET /a HTTP/1.1\r\nHo": true, "GET /a HTTP/1.1\r\nHost:": true,
		"GET /a HTTP/1.1\r\nHost: a\r\n\r": true,
		"GET /" + strings.Repeat("a", 64):  true, "GET /a?" + strings.Repeat("b", 9000): true,
		"\r": false, "\x16\x03\x01": false, "P": false, "GO": false, "HELO": false, "GET *": false, "GET h": false, "GET //": false, "GET /?": false,
		"GET /api/": true, "GET /api/v": false, "GET /_": true, "GET /_/": false, "GET /a.": false, "GET /a#": false, "GET /a?b#": false, "GET /a  ": false,
		"GET /a HTTP/2": false, "GET /a HTTP/1.1\n": false, "GET /a HTTP/1.1\r\r": false, "GET /a HTTP/1.1\r\n ": false, "GET /a HTTP/1.1\r\n:": false,
		"GET /a HTTP/1.1\r\nHost ": false, "GET /a HTTP/1.1\r\nHost: \t": false, "GET /a HTTP/1.1\r\nHost: a/\r\n": false,
		"GET /a HTTP/1.1\r\nContent-Length: 0\r\n":                        false,
		"GET /" + strings.Repeat("a", 65):                                 false,
		"GET /a?" + strings.Repeat("b", maxRequestLineBytes):              false,
		"GET /a HTTP/1.1\r\n" + strings.Repeat("X:\r\n", maxFields) + "Y": false,
		"GET /a HTTP/1.1\r\nX: " + strings.Repeat("b", MaxHeaderBytes):    false,
	} {
		var r Plain
		if n, more := rd.Read([]byte(raw), trustedPeer, &r); n != 0 || more != want {
			t.Errorf("%.60q: got %d, %v, want 0, %v", raw, n, more, want)
		}
	}
}

func TestTheLimitsOfPlainRequestsAreTheGates(t *testing.T) {
	const request, host = "GET /a HTTP/1.1\r\n", "Host: a\r\n"
	line := maxRequestLineBytes - len("GET /a? HTTP/1.1\r\n")
	for name, c := range map[string]struct {
		raw   func(n int) string
		limit int
	}{
		"bytes of the code":         {func(n int) string { return "GET /" + strings.Repeat("a", n) + " HTTP/1.1\r\n" + host + "\r\n" }, 64},
		"bytes of the request line": {func(n int) string { return "GET /a?" + strings.Repeat("b", n) + " HTTP/1.1\r\n" + host + "\r\n" }, line},
		"bytes of the head": {func(n int) string { return request + host + "X:" + strings.Repeat("b", n) + "\r\n\r\n" },
			MaxHeaderBytes - len(request+host+"X:\r\n\r\n")},
		"fields": {func(n int) string { return request + host + strings.Repeat("X: y\r\n", n) + "\r\n" }, maxFields - 1},
		"lines of the client": {func(n int) string { return request + host + strings.Repeat("X-Forwarded-For: ::1\r\n", n) + "\r\n" },
			maxClientLines},
	} {
		for _, n := range []int{c.limit, c.limit + 1} {
			raw := c.raw(n)
			if got := checkPlain(t, newReader(), []byte(raw), trustedPeer) == len(raw); got != (n == c.limit) {
				t.Errorf("%d %s: plain: %v", n, name, got)
			}
		}
	}
}

func TestSettingsThatNameSpecialFieldsMakeNothingPlain(t *testing.T) {
	raw := []byte(ordinary["curl"])
	for _, name := range []string{"Host", "user-agent", "Referer", "CONNECTION", "Content-Length", "Cookie", "Content-Type", "Trailer", "X-^", "X Y", "X:"} {
		for setting, rd := range map[string]*Reader{
			"the client": NewReader(&Proxies{Trusted: manyProxies.Trusted, Header: name}, somePurposes),
			"a country":  NewReader(&Proxies{Trusted: manyProxies.Trusted, CountryHeader: name}, somePurposes),
			"a purpose":  NewReader(&manyProxies, append([]string{name}, somePurposes...)),
		} {
			var r Plain
			if n, more := rd.Read(raw, trustedPeer, &r); n != 0 || more {
				t.Errorf("%s names %s: got %d, %v", name, setting, n, more)
			}
		}
	}
}

func TestTooManyPurposesMakeNothingPlain(t *testing.T) {
	var purposes []string
	for i := range maxNames + 1 {
		purposes = append(purposes, "X-"+strings.Repeat("a", i))
	}
	raw := []byte(ordinary["curl"])
	for n, want := range map[int]int{maxNames: len(raw), maxNames + 1: 0} {
		var r Plain
		if got, _ := NewReader(&Proxies{}, purposes[:n]).Read(raw, trustedPeer, &r); got != want {
			t.Errorf("%d names: got %d, want %d", n, got, want)
		}
	}
}

func TestOneFieldMayNameClientCountryAndPurpose(t *testing.T) {
	rd := NewReader(&Proxies{Trusted: manyProxies.Trusted, Header: "X-All", CountryHeader: "x-all"}, []string{"X-ALL"})
	raw := "GET /a HTTP/1.1\r\nHost: b\r\nX-All: 192.0.2.7\r\n\r\n"
	var r Plain
	if n, _ := rd.Read([]byte(raw), trustedPeer, &r); n != len(raw) {
		t.Fatal("not plain")
	}
	if r.Client != netip.MustParseAddr("192.0.2.7") || string(r.Country) != "192.0.2.7" || !bytes.HasPrefix(r.Purposes, []byte("X-All")) {
		t.Errorf("client %v, country %q, purposes %q", r.Client, r.Country, r.Purposes)
	}
}

func TestReadingPlainRequestsAllocatesNothing(t *testing.T) {
	rd := newReader()
	for client, raw := range ordinary {
		b := []byte(raw)
		var r Plain
		if n := testing.AllocsPerRun(100, func() { rd.Read(b, trustedPeer, &r) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", client, n)
		}
	}
}
