package wire

import (
	"io"
	"strings"
	"testing"

	"shunt/api/wire/conns"
	"shunt/engine/expect"
)

func TestAPanicInALoopLosesOneAnswer(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 10})
	ask := func(target string) string { return requestText("GET", target) }
	_, r := st.dial(ask("/x?1") + ask("/x?2") + ask("/panic") + ask("/x?3"))
	for _, want := range []string{"http://a/1", "http://a/2"} {
		got := readReply(t, r, "GET")
		expect.That(t, got.status == 302 && got.header.Get("Location") == want && !got.close, "before the panic: got %+v, want %s", got, want)
	}
	got := readReply(t, r, "GET")
	expect.That(t, got.status == 500 && got.close, "got %+v, want 500 and the end", got)
	rest, err := io.ReadAll(r)
	expect.That(t, len(rest) == 0 && err == nil, "after the panic: got %q, %v", rest, err)
	_, r = st.dial(ask("/x?4"))
	got = readReply(t, r, "GET")
	expect.Equal(t, got.status, 302, "after the panic, another client got %+v", got)
}

// While a loop obeys an order it may accept connections, and answer them.
func TestAPanicWhileALoopObeysLosesNoOrder(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 100})
	release := st.hold()
	answers := make(chan string)
	const clients = 20
	for range clients {
		c, r := st.dial(requestText("GET", "/panic"))
		go func() {
			all, _ := io.ReadAll(r)
			answers <- string(all)
			_ = c.Close()
		}()
	}
	st.Drain.Begin()
	st.each(func(l *listener) { expect.NoError(t, l.Close()) }) // the order waits
	release()
	for range clients {
		got := <-answers
		expect.That(t, strings.HasPrefix(got, "HTTP/1.1 500 "), "got %q, want 500", got)
	}
	expect.NoError(t, st.CloseListeners())
}
