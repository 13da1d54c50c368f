package api

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// expecting is the end of a request line, and a head that expects 100.
const expecting = " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"

// Earlier requests in the same packet, whose answers wait in one buffer with the interim response,
// make no difference.
func TestOnlyARequestWithABodyIsToldToContinue(t *testing.T) {
	expect.Long(t)
	t.Parallel()
	everyDoor(t, nil, func(t *testing.T, st *site, dial func() net.Conn) {
		for pad := 0; pad < 40; pad += stride {
			code := fmt.Sprintf("code%d", pad)
			st.shorten(fmt.Sprintf(`{"url":"http://a/%s","alias":%q,"redirect_status":307}`, strings.Repeat("x", 5*pad), code))
			before := strings.Repeat("GET /"+code+" HTTP/1.1\r\nHost: a\r\n\r\n", 30)
			for request, interims := range map[string]int{
				"GET /" + code + expecting + "\r\n":                                         0,
				"HEAD /" + code + expecting + "\r\n":                                        0,
				"POST /" + code + expecting + "\r\n":                                        0,
				"POST /" + code + expecting + "Content-Length: 0\r\n\r\n":                   0,
				"POST /" + code + expecting + "Content-Length: 1\r\n\r\nx":                  1,
				"GET /" + code + expecting + "Content-Length: 0\r\n\r\n":                    0,
				"GET /" + code + expecting + "Content-Length: 1\r\n\r\nx":                   1,
				"HEAD /" + code + expecting + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 1,
				"PUT /" + code + expecting + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n":  1,
			} {
				wantInStep(t, dial(), code, before+request+sentinelOf(code), 32, interims)
			}
		}
	})
}

// sentinelOf returns the last request, which ends the connection.
func sentinelOf(code string) string {
	return "GET /" + code + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
}

// wantInStep checks that raw is answered by exactly the given numbers of redirects of the code and
// of interim responses.
func wantInStep(t *testing.T, c net.Conn, code, raw string, redirects, interims int) {
	t.Helper()
	defer c.Close()
	go func() { _, _ = c.Write([]byte(raw)) }()
	var got bytes.Buffer
	expect.OK(t, expect.Err(got.ReadFrom(c)))
	all := got.String()
	r := bufio.NewReader(&got)
	for redirects+interims > 0 {
		switch answer := readReply(t, r, "HEAD"); { // redirects have no body
		case answer.status == 100 && interims > 0:
			interims--
		case answer.status == 307 && redirects > 0:
			redirects--
		default:
			t.Fatalf("%s: got %+v, want %d redirects and %d interim responses more, in %q", code, answer, redirects, interims, all)
		}
	}
	rest, _ := r.Peek(1)
	expect.That(t, len(rest) == 0, "%s: something comes after the last answer in %q", code, all)
}
