package e2e

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The costly requests that are sent at the same time: logins, large bodies that arrive slowly, QR
// codes.
const (
	costlyLogins  = 6  // each from its own address, one after the other
	costlyBodies  = 32 // of four members, 8 each
	costlyMembers = 4
	costlyUnlocks = 32 // strangers, each from their own address, one password after the other
	costlyQRCodes = 70 // all from one address, one after the other; after a 503 a client waits as long as Retry-After says

	slowBodyBytes = 8 << 20
	slowBodyPiece = 1 << 10 // a second
)

// costly is the clients that send these requests.
type costly struct {
	t       *testing.T
	server  *process
	tokens  []string // of the members
	over    chan struct{}
	clients sync.WaitGroup

	logins, bodies, qrCodes atomic.Int64 // answered by 200; bodies: pieces
	refused                 atomic.Int64
	wrong                   atomic.Int64 // passwords of a link, answered by 401
	short                   bool         // it runs for less than a second
}

func (c *costly) begin() {
	c.over = make(chan struct{})
	for n := range costlyLogins {
		c.clients.Go(func() { c.logIn(fmt.Sprintf("198.51.100.%d", n)) })
	}
	for n := range costlyBodies {
		c.clients.Go(func() { c.sendSlowly(c.tokens[n%len(c.tokens)]) })
	}
	for range costlyQRCodes {
		c.clients.Go(c.drawQRCodes)
	}
}

// beginUnlocks has strangers try the passwords of a link.
func (c *costly) beginUnlocks() {
	c.over = make(chan struct{})
	for n := range costlyUnlocks {
		c.clients.Go(func() { c.tryPasswords(fmt.Sprintf("198.51.100.%d", n)) })
	}
}

func (c *costly) tryPasswords(address string) {
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	for n := 0; c.rest(0); n++ {
		r, err := try(transport, "POST", c.server.public+"/locked", fmt.Sprint("password=wrong", n), "X-Forwarded-For", address, "Content-Type", "application/x-www-form-urlencoded")
		switch {
		case err != nil:
			c.t.Error(err)
			return
		case r.StatusCode == http.StatusUnauthorized:
			c.wrong.Add(1)
		default:
			c.refused.Add(1)
			c.rest(time.Second) // Retry-After
		}
	}
}

func (c *costly) end() {
	close(c.over)
	c.clients.Wait()
}

// rest waits for d, and reports whether to continue.
func (c *costly) rest(d time.Duration) bool {
	return rest(c.over, d)
}

func (c *costly) logIn(address string) {
	client := c.server.client()
	defer client.CloseIdleConnections()
	for c.rest(0) {
		if status, err := c.server.logIn(client, address, loginName, loginPassword); err == nil && status == http.StatusOK {
			c.logins.Add(1)
		} else {
			c.refused.Add(1)
		}
	}
}

// sendSlowly sends a large body piece by piece, and starts again when the connection is cut.
func (c *costly) sendSlowly(token string) {
	for c.rest(0) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.server.public, "http://"))
		if err != nil {
			c.t.Error(err)
			return
		}
		_, err = fmt.Fprintf(conn, "POST /api/v1/shorten/bulk HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nContent-Type: application/json\r\n"+
			"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", token, slowBodyBytes)
		for err == nil && c.rest(time.Second) {
			_, err = conn.Write(make([]byte, slowBodyPiece))
			c.bodies.Add(1)
		}
		_ = conn.Close()
	}
}

func (c *costly) drawQRCodes() {
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	for c.rest(0) {
		r, err := try(transport, "GET", c.server.public+"/x.png?size=1024", "", "X-Forwarded-For", "203.0.113.1")
		if err != nil {
			c.t.Error(err)
			return
		}
		if r.StatusCode == http.StatusOK {
			c.qrCodes.Add(1)
			continue
		}
		c.refused.Add(1)
		c.rest(time.Second) // Retry-After
	}
}
