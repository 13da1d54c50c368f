package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// This file answers HTTP on the port of HTTPS: a person left out the s, or a proxy is set up for
// the wrong scheme. An empty reply or a TLS alert would help neither of them, so they get a 400 in
// the clear. That is safe: the answer holds no data of the server, and only the first bytes of the
// request are read.

// plainText is the body of the answer. The whole answer is under 300 bytes and the first on its
// connection, so it fits in the socket's buffer, and the write does not wait for the client.
const plainText = "This port speaks HTTPS. Use https:// in place of http://.\n"

// Handshake runs the TLS handshake. A client that speaks HTTP instead gets the 400. fasthttp calls
// it once, on the connection's goroutine. If it fails, fasthttp's read fails for the same reason,
// and fasthttp closes the connection.
func (c tlsConn) Handshake() error {
	err := c.Conn.(*tls.Conn).Handshake()
	if err == nil && len(c.ConnectionState().PeerCertificates) > 0 {
		c.owner.finish(c.row) // the client has shown a certificate
	}
	var first tls.RecordHeaderError
	if errors.As(err, &first) && first.Conn != nil && looksLikeHTTP(first.RecordHeader) {
		c.owner.limits.Counts.PlainHTTP.Add(1)
		c.answerPlain(string(first.RecordHeader[:]) == "HEAD ")
	}
	return err
}

// looksLikeHTTP reports whether the bytes in place of a TLS record header begin an HTTP request: a
// method in capitals, as all registered methods are, then a space and a target if five bytes are
// enough for them.
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

// answerPlain answers in the clear and makes Close wait until the client has read the answer.
func (c tlsConn) answerPlain(isHEAD bool) {
	body := plainText
	if isHEAD {
		body = ""
	}
	_, err := fmt.Fprintf(c.socket(), "HTTP/1.1 400 Bad Request\r\nDate: %s\r\n"+
		"Connection: close\r\nCache-Control: no-store\r\n"+
		"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s",
		time.Now().UTC().Format(http.TimeFormat), len(plainText), body)
	c.plain = err == nil
	c.lingers.Store(c.plain)
}
