package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// HTTP on the port of HTTPS: a person has left out the s, or a proxy is set up for the wrong scheme. An empty reply or a
// TLS alert would help neither of them. The answer may go in the clear, since it has nothing of ours; of the request only
// the first bytes are looked at.

// plainText is the body of the answer. The whole answer is under 300 bytes and the first on its connection, so the
// socket's buffer takes it and nobody waits for the client.
const plainText = "This port speaks HTTPS. Use https:// in place of http://.\n"

// Handshake is that of TLS. A client that speaks HTTP instead is told so. fasthttp calls it once, on the connection's
// goroutine; then it reads, which fails for the same reason, and closes the connection.
func (c tlsConn) Handshake() error {
	err := c.Conn.(*tls.Conn).Handshake()
	var first tls.RecordHeaderError
	if errors.As(err, &first) && first.Conn != nil && looksLikeHTTP(first.RecordHeader) {
		c.owner.limits.Counts.PlainHTTP.Add(1)
		c.answerPlain(string(first.RecordHeader[:]) == "HEAD ")
	}
	return err
}

// looksLikeHTTP reports whether the bytes that should head a TLS record begin a request instead: with a method in
// capitals, as all registered ones are, and then a space and a target if there is room for them.
func looksLikeHTTP(first [5]byte) bool {
	n := 0
	for n < len(first) && 'A' <= first[n] && first[n] <= 'Z' {
		n++
	}
	switch {
	case n == len(first):
		return true
	case n == 0 || first[n] != ' ':
		return false
	}
	return n+1 == len(first) || first[n+1] > ' '
}

// answerPlain answers in the clear, and makes the close wait until the client has read the answer.
func (c tlsConn) answerPlain(head bool) {
	body := plainText
	if head {
		body = ""
	}
	_, err := fmt.Fprintf(c.socket(), "HTTP/1.1 400 Bad Request\r\nDate: %s\r\nConnection: close\r\nCache-Control: no-store\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", time.Now().UTC().Format(http.TimeFormat), len(plainText), body)
	c.plain = err == nil
	c.lingers.Store(c.plain)
}
