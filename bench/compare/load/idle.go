package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// idleTimeout bounds each step of a connection that is going to be idle.
const idleTimeout = 10 * time.Second

// Hold makes a number of connections from many addresses, sends one request on each and reads the
// answer. Then it calls ready, and keeps the connections open until hold is at its end.
func Hold(s *Spec, ready func(), hold io.Reader) (err error) {
	request := templates(s)[0]
	bytes, open := request.appendTo(nil, new(codeOf(0))), make([]net.Conn, 0, s.Connections)
	defer func() {
		for _, c := range open { // reset, so that the kernel keeps nothing
			err = errors.Join(err, c.(*net.TCPConn).SetLinger(0), c.Close())
		}
	}()
	for n := range s.Connections {
		source := sourceOf(n)
		d := net.Dialer{Timeout: idleTimeout, LocalAddr: &net.TCPAddr{IP: source[:]}}
		conn, err := d.Dial("tcp4", s.Address)
		if err != nil {
			return fmt.Errorf("connection %d: %w", n+1, err)
		}
		open = append(open, conn)
		if err := askOnce(conn, bytes); err != nil {
			return fmt.Errorf("connection %d: %w", n+1, err)
		}
	}
	ready()
	_, err = io.Copy(io.Discard, hold)
	return err
}

func askOnce(c net.Conn, request []byte) error {
	if err := c.SetDeadline(time.Now().Add(idleTimeout)); err != nil {
		return err
	}
	if _, err := c.Write(request); err != nil {
		return err
	}
	answer, have := make([]byte, 4096), 0
	for {
		n, err := c.Read(answer[have:])
		if err != nil {
			return err
		}
		have += n
		switch length, _, err := answerLength(answer[:have]); {
		case err != nil:
			return err
		case length > 0:
			return c.SetDeadline(time.Time{})
		}
	}
}
