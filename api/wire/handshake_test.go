package wire

import (
	"io"
	"strings"
	"testing"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

// clientHello is the beginning of a TLS handshake: a record of 512 bytes, cut off.
const clientHello = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"

func TestAHandshakeThatDoesNotEndIsReaped(t *testing.T) {
	for name, sent := range map[string]string{"nothing is sent": "", "it stops in the middle": clientHello} {
		t.Run(name, func(t *testing.T) {
			st := newSecureSite(t)
			c, _ := st.dial(sent)
			st.l.await(func(c *conns.Served) bool { return true })
			for range conns.DefaultPatience.Head / conns.SweepInterval {
				st.Sweep()
			}
			expect.Equal(t, st.Open(), 1, "after 10 s connections")
			st.Sweep()
			rest, _ := io.ReadAll(c) // an alert, or nothing; then the end, or a reset
			expect.That(t, !strings.Contains(string(rest), "HTTP/"), "got %q in the clear", rest)
			st.l.awaitNone()
		})
	}
}

// A byte now and then must not extend the time of a handshake.
func TestAHandshakeThatTricklesIsReaped(t *testing.T) {
	st := newSecureSite(t)
	c, _ := st.dial(clientHello)
	st.l.await(func(c *conns.Served) bool { return true })
	for range conns.DefaultPatience.Head/conns.SweepInterval + 1 {
		_, _ = io.WriteString(c, "x") // fails at last
		st.Sweep()
	}
	st.l.awaitNone()
}
