package e2e

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"time"
)

// A restartClient follows links in its own way. It is of one goroutine.
type restartClient struct {
	r      *restarts
	random *rand.Rand
	ask    func(c *restartClient)

	conn     net.Conn // nil: none is open
	reader   *bufio.Reader
	answered bool // conn has had an answer
}

// run asks until over is closed, or a request fails.
func (c *restartClient) run(over <-chan struct{}) {
	defer c.close()
	for !c.r.t.Failed() {
		select {
		case <-over:
			return
		default:
			c.ask(c)
		}
	}
}

// keep asks on a kept connection, again and again.
func (c *restartClient) keep() {
	c.follow(1)
	c.pause(4 * time.Millisecond)
}

// linger asks on a kept connection, with pauses in which a drain closes it.
func (c *restartClient) linger() {
	c.follow(1)
	c.pause(600 * time.Millisecond)
}

// pipeline sends several requests at once.
func (c *restartClient) pipeline() {
	c.follow(1 + c.random.IntN(16))
	c.pause(8 * time.Millisecond)
}

// connect asks on a connection of its own.
func (c *restartClient) connect() {
	c.followAlone(0)
	c.pause(8 * time.Millisecond)
}

// hesitate is connect, but the request follows late.
func (c *restartClient) hesitate() { c.followAlone(200 * time.Millisecond) }

func (c *restartClient) pause(most time.Duration) {
	time.Sleep(time.Duration(c.random.Int64N(int64(most))))
}

func (c *restartClient) draw(n int) []int {
	links := make([]int, n)
	for i := range links {
		links[i] = c.random.IntN(restartLinks)
	}
	return links
}

// followAlone follows a link on a new connection, which nothing excuses.
func (c *restartClient) followAlone(hesitation time.Duration) {
	c.close()
	begun := time.Now()
	if err := c.dial(); err != nil {
		c.fail("connecting", err)
		return
	}
	if hesitation > 0 {
		c.pause(hesitation)
		begun = time.Now()
	}
	links := c.draw(1)
	if _, err := c.conn.Write(burstOf(links, true)); err != nil {
		c.fail("sending on a new connection", err)
		return
	}
	if _, err := c.read(links[0]); err != nil {
		c.fail("on a new connection", err)
		return
	}
	c.done(begun)
	c.close()
}

// follow follows n links on the kept connection. What is not answered when that ends is asked for once
// again, as a client may (RFC 9110, 9.2.2; RFC 9112, 9.3.1 and 9.3.2).
func (c *restartClient) follow(n int) {
	links, begun := c.draw(n), time.Now()
	for excused := false; len(links) > 0; {
		if c.conn == nil {
			if err := c.dial(); err != nil {
				c.fail("connecting", err)
				return
			}
		}
		kept := c.answered
		left, closed, err := c.converse(links, begun)
		switch {
		case err == nil && closed && len(left) > 0:
			c.r.book.note(func(b *restartBook) { b.unanswered += len(left) })
		case err == nil:
		case errors.Is(err, errNoByte) && (kept || len(left) < len(links)) && !excused:
			excused = true
			c.r.book.note(func(b *restartBook) { b.again += len(left) })
			c.close()
		default:
			c.fail("on a kept connection", err)
			return
		}
		links = left
	}
}

// converse sends the requests at once and reads the answers. It returns the links that are not
// answered, and whether the server has said that it closes the connection.
func (c *restartClient) converse(links []int, begun time.Time) (left []int, closed bool, err error) {
	_, _ = c.conn.Write(burstOf(links, false)) // if the connection is closed, reading says so
	for len(links) > 0 {
		last, err := c.read(links[0])
		if err != nil {
			return links, false, err
		}
		links = links[1:]
		c.done(begun)
		if last {
			c.close()
			return links, true, nil
		}
	}
	return nil, false, nil
}

// errNoByte is the end of a connection where an answer could begin.
var errNoByte = errors.New("the connection ended before the first byte of an answer")

// read reads the answer for link, and reports whether it is the last on the connection.
func (c *restartClient) read(link int) (last bool, err error) {
	if _, err := c.reader.Peek(1); err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return false, err
		}
		return false, fmt.Errorf("%w: %v", errNoByte, err)
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return false, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return false, err
	}
	want := fmt.Sprintf("http://target/%d", link)
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusFound || got != want {
		return false, fmt.Errorf("got %d to %q, want 302 to %q: %s", response.StatusCode, got, want, body)
	}
	c.answered = true
	return response.Close, nil
}

// done counts a right answer to a request that was begun at that time.
func (c *restartClient) done(begun time.Time) {
	took := time.Since(begun)
	c.r.book.note(func(b *restartBook) { b.answered++; b.gap = max(b.gap, took) })
}

func (c *restartClient) fail(where string, err error) {
	c.r.book.note(func(b *restartBook) { b.failed++ })
	c.r.t.Errorf("%s: %v", where, err)
}

// restartPatience is how long a client waits for anything.
const restartPatience = 30 * time.Second

// dial opens a connection.
func (c *restartClient) dial() (err error) {
	d := net.Dialer{Timeout: restartPatience}
	if c.r.tls == nil {
		c.conn, err = d.Dial("tcp", c.r.address)
	} else {
		c.conn, err = tls.DialWithDialer(&d, "tcp", c.r.address, c.r.tls)
	}
	if err != nil {
		c.conn = nil
		return err
	}
	c.reader, c.answered = bufio.NewReader(c.conn), false
	return c.conn.SetDeadline(time.Now().Add(10 * restartPatience))
}

func (c *restartClient) close() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}
