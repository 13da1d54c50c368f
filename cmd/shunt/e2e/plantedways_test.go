package e2e

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// This file has the clients of planted_test.go and their requests.

// A plantedClient is a visitor with unique values.
type plantedClient struct {
	what            string
	round           int        // how many earlier clients use the same way
	address         netip.Addr // of the client
	direct          netip.Addr // of the socket, if the client connects without the proxy; loopback
	agent, referrer string
	secret          string // used as cookie, query, password and other parts of a request
}

// plantedClients draws n clients. Of those with the same way, every second has an IPv6 address.
// Each part of an address has the most digits that it can have.
func plantedClients(n int) []*plantedClient {
	random := rand.New(rand.NewPCG(20261121, 5))
	wide := func() byte { return byte(100 + random.IntN(156)) }
	clients := make([]*plantedClient, n)
	for i := range clients {
		c := &plantedClient{
			what: fmt.Sprintf("client %d", i), round: i / len(plantedWays), direct: netip.AddrFrom4([4]byte{127, wide(), wide(), wide()}),
			agent: plantedWord(random, "Agent"), referrer: plantedWord(random, "Page"), secret: plantedWord(random, "Secret"),
		}
		c.address = netip.AddrFrom4([4]byte{128 + wide()%64, wide(), wide(), wide()})
		if c.round%2 == 1 {
			c.address = plantedIPv6(random)
		}
		clients[i] = c
	}
	return clients
}

// plantedIPv6 draws an address of eight groups of four digits.
func plantedIPv6(random *rand.Rand) netip.Addr {
	var b [16]byte
	for i := range b {
		b[i] = byte(0x10 + random.IntN(0xf0))
	}
	b[0] = 0x2a
	return netip.AddrFrom16(b)
}

func plantedWord(random *rand.Rand, kind string) string {
	word := []byte("Planted" + kind)
	for range 12 {
		word = append(word, byte('a'+random.IntN(26)))
	}
	return string(word)
}

// plantIn adds all values of c that must not be kept.
func (c *plantedClient) plantIn(n *needles) {
	n.addAddress(c.what, c.address)
	n.addAddress(c.what, c.direct)
	for _, text := range []string{c.agent, c.referrer, c.secret} {
		n.addText(c.what, text)
	}
}

// userAgent returns that of a browser, a tool or a bot, or only the planted word.
func (c *plantedClient) userAgent() string {
	forms := []string{"Mozilla/5.0 (X11; Linux x86_64) %s/1.0 Firefox/140.0", "curl/8.14 %s", "Mozilla/5.0 (compatible; Googlebot/2.1; %s)", "%s"}
	return fmt.Sprintf(forms[c.round/2%len(forms)], c.agent)
}

// A plantedWay is a kind of request. The values of the client replace words in braces.
type plantedWay struct {
	name   string
	status int    // of the last answer; 0: any answer or none
	line   string // method and path
	fields string // after those that every request has
	body   string
	raw    string // instead of all these
	times  int    // how often it is sent; 0: once
	direct bool   // by a peer that is not a trusted proxy
	admin  bool   // to the admin address

	refused string // the message of the line that names the client; empty: there is none
}

const (
	plantedFields = "User-Agent: {agent}\r\nReferer: https://kept-referrer.example/{referrer}?{referrer}\r\nX-Forwarded-For: {client}\r\n" +
		"X-Forwarded-Proto: https\r\nCookie: a={secret}\r\n"
	plantedHead = " HTTP/1.1\r\nHost: {secret}.example\r\n" + plantedFields
	adminHead   = " HTTP/1.1\r\nHost: localhost\r\n" + plantedFields

	asAdmin  = "Authorization: Bearer {admin}\r\nContent-Type: application/json\r\n"
	asReader = "Authorization: Bearer {reader}\r\nContent-Type: application/json\r\n"
	asPoor   = "Authorization: Bearer {poor}\r\nContent-Type: application/json\r\n"
	asNobody = "Authorization: Bearer shunt_{secret}\r\nContent-Type: application/json\r\n"
	inJSON   = "Content-Type: application/json\r\n"

	login   = "POST /api/v1/session"
	shorten = "POST /api/v1/shorten"
)

var plantedWays = []plantedWay{
	{name: "a redirect", status: 302, line: "GET /known?{secret}"},
	{name: "a redirect with a slash", status: 302, line: "GET /known/"},
	{name: "a redirect in absolute form", status: 302, line: "GET http://{secret}.example/known"},
	{name: "a forwarded query", status: 302, line: "GET /forward?{secret}"},
	{name: "HEAD", status: 302, line: "HEAD /known"},
	{name: "a prefetch", status: 503, line: "GET /known", fields: "Sec-Purpose: prefetch\r\n"},
	{name: "a POST that is redirected", status: 307, line: "POST /keep", body: "{secret}"},
	{name: "many redirects", status: 302, line: "GET /known", times: 20},
	{name: "another method", status: 405, line: "DELETE /known"},
	{name: "a link that is used up", status: 410, line: "GET /capped"},
	{name: "a link that has expired", status: 410, line: "GET /expired"},
	{name: "a target that is blocked", status: 403, line: "GET /blocked"},
	{name: "a miss", status: 404, line: "GET /nowhere?{secret}"},
	{name: "a miss, as JSON", status: 404, line: "GET /nowhere", fields: "Accept: application/json\r\n"},
	{name: "too many misses", status: 429, line: "GET /nowhere", times: 4},
	{name: "an invalid path", status: 404, line: "GET /{secret}//x"},
	{name: "a preview", status: 200, line: "GET /known+"},
	{name: "a QR code, SVG", status: 200, line: "GET /known.svg"},
	{name: "a QR code, PNG", status: 200, line: "GET /known.png?size=64"},
	{name: "a QR code of an unknown code", status: 404, line: "GET /nowhere.svg"},
	{name: "the landing page", status: 200, line: "GET /"},
	{name: "robots.txt", status: 200, line: "GET /robots.txt"},

	{name: "a referrer with a password and a port", status: 302,
		raw: "GET /known HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\nReferer: https://{secret}:{secret}@kept-referrer.example:444/{referrer}#{referrer}\r\n" +
			"X-Forwarded-For: {client}\r\n\r\n"},
	{name: "an invalid referrer", status: 302,
		raw: "GET /known HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\nReferer: {referrer} {secret}\r\nX-Forwarded-For: {client}\r\n\r\n"},
	{name: "a chain of proxies", status: 302, raw: "GET /known HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\nX-Forwarded-For: {client}, 127.0.0.1\r\n\r\n"},
	{name: "headers that are not trusted", status: 302, line: "GET /known",
		fields: "Forwarded: for=\"{client}\"\r\nX-Real-IP: {client}\r\nX-Client-IP: {client}\r\nCF-Connecting-IP: {client}\r\nFrom: {secret}@a.example\r\n"},
	{name: "HTTP authentication", status: 302, line: "GET /known", fields: "Authorization: Basic {secret}\r\nProxy-Authorization: Basic {secret}\r\n"},

	{name: "no Host", status: 400, raw: "GET /known HTTP/1.1\r\n" + plantedFields + "\r\n"},
	{name: "two Hosts", status: 400, raw: "GET /known" + plantedHead + "Host: b\r\n\r\n"},
	{name: "a folded line", status: 400, raw: "GET /known" + plantedHead + "X: a\r\n {secret}\r\n\r\n"},
	{name: "a line that is not a field", status: 400, raw: "GET /known" + plantedHead + "{secret}\r\n\r\n"},
	{name: "two lengths", status: 400, raw: "POST /keep" + plantedHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
	{name: "chunks and a length", status: 400, raw: "POST /keep" + plantedHead + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{name: "an invalid chunk", status: 400, raw: "POST /keep" + plantedHead + "Transfer-Encoding: chunked\r\n\r\n{secret}\r\n\r\n"},
	{name: "another coding", status: 501, raw: "POST /keep" + plantedHead + "Transfer-Encoding: {secret}, chunked\r\n\r\n0\r\n\r\n"},
	{name: "another version", status: 505, raw: "GET /known HTTP/3.0\r\nHost: a\r\n" + plantedFields + "\r\n"},
	{name: "a target that is too long", status: 414, line: "GET /known?{secret}" + strings.Repeat("x", 20_000)},
	{name: "fields that are too large", status: 431, line: "GET /known", fields: "X: {secret}" + strings.Repeat("x", 20_000) + "\r\n"},
	{name: "a body that is too large", status: 413, line: shorten, fields: asAdmin, body: `{"url":"{secret}` + strings.Repeat("x", 70_000)},
	{name: "a request that is cut off", raw: "GET /known" + plantedHead},
	{name: "TLS to a plain port", raw: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03{secret}{agent}\r\n\r\n"},

	{name: "an API call without a token", status: 401, line: "GET /api/v1/me"},
	{name: "an API call with a wrong token", status: 401, line: shorten, fields: asNobody, body: `{"url":"http://{secret}.example/"}`, refused: "token refused"},
	{name: "a missing scope", status: 403, line: "PATCH /api/v1/links/known", fields: asReader, body: `{"title":"{secret}"}`},
	{name: "malformed JSON", status: 400, line: shorten, fields: asAdmin, body: `{"url":"http://{secret}.example/"`},
	{name: "an invalid target", status: 422, line: shorten, fields: asAdmin, body: `{"url":"ftp://{secret}.example/","{secret}":1}`},
	{name: "a body that is not JSON", status: 415, line: shorten, fields: "Authorization: Bearer {admin}\r\nContent-Type: text/{secret}\r\n", body: "{secret}"},
	{name: "a foreign link", status: 404, line: "GET /api/v1/links/{secret}", fields: asAdmin},
	{name: "an unknown endpoint", status: 404, line: "GET /api/v1/{secret}", fields: asAdmin},
	{name: "a method that is not allowed", status: 405, line: "PUT /api/v1/links/{secret}", fields: asAdmin},
	{name: "an alias that is taken", status: 409, line: shorten, fields: asAdmin, body: `{"url":"http://{secret}.example/","alias":"known"}`},
	{name: "an old version", status: 412, line: "PATCH /api/v1/links/known", fields: asAdmin + "If-Match: \"{secret}\"\r\n", body: `{"title":"{secret}"}`},
	{name: "an unknown parameter", status: 422, line: "GET /api/v1/stats/known?include={secret}", fields: asAdmin},
	{name: "a create", status: 201, line: shorten, fields: asAdmin, body: `{"url":"http://a.example/"}`},
	{name: "a create with a key", status: 201, line: shorten, fields: asAdmin + "Idempotency-Key: {secret}\r\n", body: `{"url":"http://a.example/"}`},
	{name: "a bulk", status: 200, line: shorten + "/bulk", fields: asAdmin, body: `[{"url":"http://a.example/"},{"url":"ftp://{secret}"}]`},
	{name: "too many creates", status: 429, line: shorten, fields: asPoor, body: `{"url":"http://a.example/"}`, times: 2},
	{name: "a patch", status: 200, line: "PATCH /api/v1/links/patched", fields: asAdmin, body: `{"max_hits":{unique}}`},
	{name: "a list", status: 200, line: "GET /api/v1/links?q={secret}", fields: asAdmin},
	{name: "an export", status: 200, line: "GET /api/v1/export", fields: asAdmin},
	{name: "live figures", status: 200, line: "GET /api/v1/stats/known/live", fields: asAdmin},
	{name: "a new token", status: 201, line: "POST /api/v1/tokens", fields: asAdmin, body: `{"name":"planted"}`},
	{name: "an unknown session", status: 401, line: "GET /api/v1/me", fields: "Cookie: shunt_session={secret}; __Host-shunt_session={secret}\r\n"},
	{name: "a login", status: 200, line: login, fields: inJSON, body: `{"email":"ann@planted.example","password":"correct horse battery"}`},
	{name: "a wrong password", status: 401, line: login, fields: inJSON, body: `{"email":"ann@planted.example","password":"{secret}"}`, refused: "login failed"},
	{name: "an unknown user", status: 401, line: login, fields: inJSON, body: `{"email":"{secret}@planted.example","password":"{secret}"}`, refused: "login failed"},
	{name: "too many logins", status: 429, line: login, fields: inJSON, body: `{"email":"{secret}@planted.example","password":"{secret}"}`, times: 2, refused: "login failed"},

	{name: "a redirect without the proxy", status: 302, line: "GET /known?{secret}", direct: true},
	{name: "misses without the proxy", status: 429, line: "GET /nowhere", times: 4, direct: true},
	{name: "a bad request without the proxy", status: 400, raw: "GET /known HTTP/1.1\r\n" + plantedFields + "\r\n", direct: true},
	{name: "a token by a proxy that is not trusted", status: 403, line: "GET /api/v1/me", fields: asAdmin, direct: true},
	{name: "a login by a proxy that is not trusted", status: 403, line: login, fields: inJSON, body: `{"email":"{secret}@a.example"}`, direct: true},
	{name: "an API call without token and proxy", status: 401, raw: "GET /api/v1/me HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\n\r\n", direct: true},

	{name: "the metrics", status: 200, raw: "GET /metrics?{secret}" + adminHead + "\r\n", admin: true},
	{name: "the admin address's misses", status: 404, raw: "GET /{secret}" + adminHead + "\r\n", admin: true},
	{name: "another name at the admin address", status: 403, line: "GET /metrics?{secret}", admin: true},
	{name: "another page at the admin address", status: 403, raw: "GET /metrics" + adminHead + "Origin: http://{secret}.example\r\n\r\n", admin: true},
	{name: "the admin address's bad requests", status: 400, raw: "GET /readyz" + plantedHead + "Host: b\r\n\r\n", admin: true},
}

// request returns the bytes of w's request by c.
func (w *plantedWay) request(c *plantedClient, words map[string]string) string {
	text := w.raw
	replace := []string{"{agent}", c.userAgent(), "{referrer}", c.referrer, "{secret}", c.secret, "{client}", c.forwarded()}
	for word, value := range words {
		replace = append(replace, "{"+word+"}", value)
	}
	r := strings.NewReplacer(replace...)
	if text == "" {
		text = w.line + plantedHead + w.fields
		body := r.Replace(w.body)
		if body != "" || strings.HasPrefix(w.line, "P") {
			text += fmt.Sprintf("Content-Length: %d\r\n", len(body))
		}
		return r.Replace(text) + "\r\n" + body
	}
	return r.Replace(text)
}

// forwarded returns the address as a proxy writes it: alone, or with a port.
func (c *plantedClient) forwarded() string {
	if c.round%3 == 0 {
		return netip.AddrPortFrom(c.address, 4711).String()
	}
	return c.address.String()
}

// dial connects to address; without the proxy, from the client's own address.
func (c *plantedClient) dial(t *testing.T, address string, direct bool) net.Conn {
	t.Helper()
	d := net.Dialer{Timeout: 10 * time.Second}
	if direct {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.direct, 0))
	}
	conn, err := d.Dial("tcp", address)
	expect.OK(t, err, c.what)
	expect.OK(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	return conn
}

// send sends w's request to p, w.times times on one connection, and checks the status of the last
// answer.
func (w *plantedWay) send(t *testing.T, p *process, c *plantedClient, words map[string]string) {
	t.Helper()
	address := p.public
	if w.admin {
		address = p.admin
	}
	conn := c.dial(t, strings.TrimPrefix(address, "http://"), w.direct)
	defer conn.Close()
	raw := w.request(c, words)
	if w.status == 0 {
		_, _ = io.WriteString(conn, raw) // the server may have refused it already
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		return
	}
	method, _, _ := strings.Cut(raw, " ")
	answers, got := bufio.NewReader(conn), 0
	for range max(1, w.times) {
		go io.WriteString(conn, raw) // the server may refuse it before it reads it
		response, err := http.ReadResponse(answers, &http.Request{Method: method})
		expect.OK(t, err, "%s, %s", w.name, c.what)
		if got = response.StatusCode; response.ContentLength >= 0 {
			_, _ = io.Copy(io.Discard, response.Body)
		}
	}
	expect.Equal(t, got, w.status, "%s, %s", w.name, c.what)
}

// sendTLS sends requests to an HTTPS listener: a redirect, bytes that are not a handshake, an
// abandoned handshake, and plain HTTP to the other port.
func (c *plantedClient) sendTLS(t *testing.T, p *process, plain string) {
	t.Helper()
	public, way := strings.TrimPrefix(p.public, "https://"), plantedWays[0]
	request := way.request(c, nil)
	conn := tls.Client(c.dial(t, public, true), &tls.Config{InsecureSkipVerify: true})
	expect.OK(t, expect.Err(io.WriteString(conn, request)))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	expect.That(t, err == nil && response.StatusCode == way.status, "over TLS: got %v, %v", response, err)
	conn.Close()
	for _, row := range [][2]string{{public, request}, {public, "\x16\x03\x01\x00\x05{agent}"}, {plain, request}, {plain, request[:20]}} {
		conn := c.dial(t, row[0], true)
		_, _ = io.WriteString(conn, row[1])
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	distrustful := tls.Client(c.dial(t, public, true), &tls.Config{ServerName: strings.ToLower(c.secret) + ".example"})
	expect.That(t, distrustful.Handshake() != nil, "a handshake with an unknown authority has succeeded")
	distrustful.Close()
}

// wayOf returns the way of a client: they are distributed evenly.
func wayOf(client int) *plantedWay { return &plantedWays[client%len(plantedWays)] }

// wayNames returns the names of the ways of the clients whose values were found.
func wayNames(whats []string) (names []string) {
	for _, what := range whats {
		var i int
		if _, err := fmt.Sscanf(what, "client %d", &i); err == nil && !slices.Contains(names, wayOf(i).name) {
			names = append(names, wayOf(i).name)
		}
	}
	return names
}
