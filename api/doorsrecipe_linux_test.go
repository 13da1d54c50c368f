package api

import (
	"fmt"
	"slices"
	"strings"
)

// A recipe draws what a client sends, with one byte for each choice, so that a fuzzer that changes a
// byte changes one choice. When it is used up, every choice is the first one, which is ordinary.
type recipe []byte

// upTo draws a number below n, which is at most 256.
func (r *recipe) upTo(n int) int {
	if len(*r) == 0 {
		return 0
	}
	b := (*r)[0]
	*r = (*r)[1:]
	return int(b) % n
}

func (r *recipe) pick(from []string) string { return from[r.upTo(len(from))] }

// oneIn is true once in n times.
func (r *recipe) oneIn(n int) bool { return r.upTo(n) == n-1 }

// Recipes choose from these lists. A value that a list has several times is chosen more often.
var (
	recipeMethods = []string{"GET", "GET", "GET", "GET", "GET", "HEAD", "HEAD", "POST", "POST", "PUT", "OPTIONS", "DELETE", "PATCH", "get", "BREW", "GETT", "", "CONNECT"}
	recipeTargets = []string{
		"/locked", "/rules", "/rules?x=%41&a=3", "/split", "/split/", "/card", "/card?x=%41", "/keep", "/keep", "/KEEP", "/once", "/once?x=1&y=%41", "/once?", "/for-ever", "/until", "/capped", "/off", "/nope", "/nope?x", "/keep/", "/keep/?x",
		"/keep?u=https://b/c?d", "/keep+", "/keep/qr", "/keep//", "//", "/", "/_", "/_/", "/_/login", "/_/nope", "/api/v1/me", "/api/v1/links/keep", "/api/v1/links",
		"/api/v1/nope", "/api", "/robots.txt", "/favicon.ico", "/.well-known/security.txt", "http://b/keep", "HTTP://b:80/keep/?q", "http://b", "*", "/k%65ep", "/KEEP", "/Keep",
		"/" + strings.Repeat("a", 64), "/" + strings.Repeat("a", 65), "/keep?" + strings.Repeat("x", 700), "/once?" + strings.Repeat("x", 8170),
		"/keep?" + strings.Repeat("x", 9<<10), "/keep#x", "/ke ep", "/k\xc3\xa9ep", "/keep?\x7f", "keep", "", "/keep.", "/a.b", "/smuggled",
		"http://b.example/keep", "http://B.Example.:80/once?x", "HTTP://b.example:8080/stra%C3%9Fe", "http://b.example/KEEP/", "http://b.example/nope", "http://b.example", "http://a/keep?x",
	}
	recipeSpoilt = []string{
		"/k%65ep.", "/keep%20", "/keep\u200b", "/keep%E2%80%8b)", "/once&x=\xff", "/once.&a?b", "/once?\xe9\"<>", "/once?x#\xff", "/#?", "/nope.", "/keep+.", "/k%65ep+", "/off,", "/_/.", "/%5F/", "/api/v1/me#x", "/\xff",
		"/a/b", "/a/b/", "/%61/b?x", "/a%2Fb", "/a/b).", "/a/b&x", "/a/b+", "/a/b.svg", "/a//b", "/a/../keep", "/v1.2", "/v1.2.", "/v1%2e2", "/dot.", "/dot..", "/dot", "/keep.svg.",
		"/keep.PNG", "/rest/v3", "/.well-known", "/robots%2Etxt", "/yourls-api.php", "/%5F/login", "/%61pi/v1/me", "/_/x.svg", "/...",
		"/split/a?b", "/card/a?b", "/card).", "/card+", "/rules.", "/locked.", "/LOCKED+", "/locked.svg", "/locked/a", "/rules+", "/split+", "/split.svg", "/deep/a?b", "/deep/../x", "/deep/a/%2E%2e", "/deep/x.png", "/deep//a", "/once/a?b", "/stra\u00dfe", "/STRA%E1%BA%9EE/", "/stra%C3%9Fe+", "/keep%CC%81", "/deep/\xe9",
	}
	recipeVersions = []string{"HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "http/1.1", "HTTP/1.", ""}
	recipeHosts    = []string{"Host: a", "Host: a", "Host: a", "Host: a", "host:b.example:8080", "HOST: [::1]:80", "Host: a:", "Host:", "Host: a b", "Host: a\r\nHost: a", "X: y", "Host:\ta", "Host: a ", "Host : a"}
	recipeDomains  = []string{"a", "a", "b.example", "B.Example.:80"}
	recipeHarmless = []string{
		browser, "User-Agent: curl/8.8.0", "user-agent: Twitterbot/1.0", "Accept: text/html", "Accept: application/json", "accept-encoding: gzip", "Accept-Language: de", "X: y", "accept-language:  en, DE-at ;q=0.9", "Accept-Language: de;q=0.8",
		"Connection: keep-alive", "Referer: https://www.example.com/a", "referer: https://t.co/", "X-Forwarded-For: 192.0.2.7", "x-forwarded-for: 203.0.113.9, 10.1.1.1", "CF-IPCountry: DE",
		"Purpose: prefetch", "Cookie: a=b", "cookie: a=b; " + string(unlockHere), "Authorization: Bearer " + string(tokenHere), "Expect: 100-continue", "Content-Length: 0", "Upgrade: h2c", "User-Agent:\tb", "X-Forwarded-For: 2001:db8::7", "X-Forwarded-Host: B.example:80",
	}
	recipeFields = []string{
		browser, browser, "user-agent: Twitterbot/1.0", "User-Agent: curl/8.8.0", "User-Agent:", "User-Agent: a\r\nUser-Agent: b", "User-Agent: " + strings.Repeat("u", 300), "User-Agent:\tb\t",
		"Accept: text/html", "Accept: application/json", "Accept: */*", "Accept-Encoding: gzip", "accept-encoding: br, gzip;q=0", "Accept-Language: de", "Accept-Language: fr\r\nACCEPT-language:\tde", "Accept-Language: de\r\n\t,fr", "Accept-Language:", "Accept-Language: d\xe9, de ; q=1",
		"Connection: close", "Connection: keep-alive", "connection: Keep-Alive", "Connection: Close", "CONNECTION: CLOSE", "Connection: close, TE", "Connection: TE , close,",
		"Connection:", "Connection: upgrade", "Connection: keep-alive\r\nConnection: close", "Connection: close\r\nConnection: keep-alive", "Connection:close", "Connection:  close  ", "Connection:\tclose",
		"Connection: closed", "Connection: clos\xe9", "Connection: \"close\"", "Proxy-Connection: close", "Keep-Alive: 5",
		"Content-Length: 0", "Content-Length: 5", "content-length:00", "Content-Length: x", "Content-Length: 0\r\nContent-Length: 0", "Content-Length: 70000", "Transfer-Encoding: chunked",
		"transfer-encoding: CHUNKED", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Expect: 100-continue", "expect:100-Continue", "Expect: more", "Upgrade: h2c", "Upgrade: websocket",
		"Trailer: X", "TE: trailers", "Referer: https://www.example.com/a", "referer: https://t.co/", "Referer:", "Referer: nonsense", "Referer: a\r\nReferer: b", "Referrer: x",
		"X-Forwarded-For: 192.0.2.7", "x-forwarded-for: 203.0.113.9, 10.1.1.1", "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 192.0.2.7", "X-Forwarded-For: unknown", "X-Forwarded-For:",
		"X-Forwarded-For: 1\r\nX-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: 10.0.0.2\r\nX-Forwarded-For: 10.0.0.3\r\nX-Forwarded-For: 10.0.0.4", "X-Forwarded-For: 2001:db8::7", "X_Forwarded_For: 192.0.2.8",
		"X-Forwarded-Proto: https", "X-Forwarded-Host: b", "x-forwarded-host: a, b.example", "X-Forwarded-Host: b.example\r\nX-Forwarded-Host: b c", "X-Forwarded-Host: b.example,", "Forwarded: for=192.0.2.9", "CF-IPCountry: DE", "cf-ipcountry: fr", "CF-IPCountry:", "CF-IPCountry: DE\r\nCF-IPCountry: AT", "CF-IPCountry: XX",
		"Sec-Purpose: prefetch;prerender", "Purpose: prefetch", "purpose: x", "X-Purpose: preview", "X-Moz: PREFETCH", "Purpose: x\r\nX-Moz: prefetch", "Sec-Purpose:",
		"Cookie: a=b", "Cookie: a=b; c\r\nCookie: d=e", "COOKIE: x\r\nCookie:" + string(unlockHere), "Cookie: shunt_unlock=" + strings.Repeat("shunt_unlock=A", 99), "Cookie: " + strings.Repeat("x", 15000), "Authorization: Bearer " + string(tokenHere), "Authorization: Bearer nope", "Content-Type: application/json",
		"Content-Type: text/html\r\nContent-Type: x", "Origin: https://a.example", "If-None-Match: *", "If-Modified-Since: Sat, 01 Nov 2025 10:00:00 GMT", "Range: bytes=0-1", "Date: x", "Server: x", "Location: http://x/",
		"X: y", "X:", "X: \xe9\xff", "X: a\tb", "!#$%&'*+-.^_`|~0: y", "X : y", " X: y", "X", ": y", "X\x00: y", "X: \x01", "X: y\r z", "X: y\r\n z", "X: y\nZ: y", strings.Repeat("X: y\r\n", 100) + "X: y",
		strings.Repeat("X:\r\n", 128) + "X:", "X: " + strings.Repeat("y", 3000), strings.Repeat("n", 200) + ": y", "Sec-Fetch-Site: none", "DNT: 1", "Via: 1.1 a", "Max-Forwards: 0", "HTTP2-Settings: AAM",
	}
	recipeEnds   = []string{"\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r", "\r\r\n", "", " \r\n"}
	recipeBodies = []string{
		"", "", "", "abcde", "0\r\n\r\n", "5\r\nabcde\r\n0\r\n\r\n", "5;a=b\r\nabcde\r\n0\r\nX: y\r\n\r\n", "23\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\n\r\n", "5\r\nabc", "x\r\n", "{}", "\x00", "password=open+sesame",
	}
	recipeBetween = []string{"", "", "", "", "", "", "", "\r\n", "\r\n\r\n", "\n", " ", "\x16\x03\x01", "abcde"}
)

// input draws an input: up to eight requests, some of them changed, in pieces.
func (r *recipe) input() *input {
	in := &input{probes: !r.oneIn(4), late: r.oneIn(4)}
	for range r.upTo(maxPieces + 1) {
		in.pieces = append(in.pieces, byte(r.upTo(256)))
	}
	var b strings.Builder
	for range 1 + r.upTo(8) {
		if r.oneIn(6) {
			b.WriteString(r.pick(recipeBetween))
		}
		switch r.upTo(8) {
		case 6:
			b.WriteString(r.ordinary())
		case 7:
			b.WriteString(r.request())
		default:
			b.WriteString(r.plain())
		}
	}
	in.raw = []byte(b.String())
	for range max(0, r.upTo(8)-5) {
		in.raw = r.changed(in.raw)
	}
	return in
}

// plain draws a request that is probably plain, or many with the same fields.
func (r *recipe) plain() string {
	var b strings.Builder
	for range r.upTo(5) {
		b.WriteString(r.pick(recipeHarmless) + "\r\n")
	}
	if r.oneIn(8) {
		b.WriteString(r.pick(recipeFields) + "\r\n")
	}
	b.WriteString("\r\n")
	lines := make([]string, 1+r.upTo(3)) // used in turn
	for i := range lines {
		lines[i] = r.pick([]string{"GET", "GET", "GET", "HEAD"}) + " " + r.pick(recipeTargets[:20]) + " HTTP/1.1\r\nHost: " + r.pick(recipeDomains) + "\r\n" + b.String()
	}
	times := []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 7, 20, 100}[r.upTo(14)]
	b.Reset()
	for i := range min(times, 1+20_000/len(lines[0])) {
		b.WriteString(lines[i%len(lines)])
	}
	return b.String()
}

// ordinary draws a request that is well-formed and not plain, with a body or without one.
func (r *recipe) ordinary() string {
	var b strings.Builder
	body := r.pick([]string{"", "abcde", strings.Repeat("x", 5000), "5\r\nabcde\r\n0\r\n\r\n", "5;a=b\r\nabcde\r\n0\r\nX: y\r\n\r\n"})
	method := r.pick([]string{"POST", "GET", "PUT", "HEAD", "OPTIONS", "DELETE"})
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, r.pick(slices.Concat(recipeTargets[:42], recipeSpoilt)), r.pick(recipeDomains))
	for range r.upTo(5) {
		b.WriteString(r.pick(recipeHarmless) + "\r\n")
	}
	switch {
	case (method == "GET" || method == "HEAD") && !r.oneIn(3):
		body = ""
	case strings.HasSuffix(body, "\r\n"):
		b.WriteString("Transfer-Encoding: chunked\r\n")
	default:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return b.String() + "\r\n" + body
}

// request draws any request, with a body or without one.
func (r *recipe) request() string {
	var b strings.Builder
	b.WriteString(r.pick(recipeMethods) + " " + r.pick(slices.Concat(recipeTargets, recipeSpoilt)) + " " + r.pick(recipeVersions) + r.pick(recipeEnds))
	b.WriteString(r.pick(recipeHosts) + r.pick(recipeEnds))
	for range r.upTo(6) {
		b.WriteString(r.pick(recipeFields) + r.pick(recipeEnds))
	}
	body := r.pick(recipeBodies)
	switch r.upTo(4) {
	case 1:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	case 2:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	}
	b.WriteString(r.pick(recipeEnds) + body)
	return b.String()
}

// changed changes a byte or a few, or cuts the end off.
func (r *recipe) changed(raw []byte) []byte {
	at := 0
	if len(raw) > 0 {
		at = (r.upTo(256)<<8 | r.upTo(256)) % len(raw)
	}
	rest := raw[at:]
	few := min(len(rest), 1+r.upTo(4))
	switch r.upTo(5) {
	case 0:
		return slices.Concat(raw[:at], rest[few:])
	case 1:
		return slices.Concat(raw[:at], []byte{byte(r.upTo(256))}, rest)
	case 2:
		return slices.Concat(raw[:at], []byte{byte(r.upTo(256))}, rest[min(1, len(rest)):])
	case 3:
		return slices.Concat(raw[:at], rest[:few], rest)
	}
	return raw[:at]
}
