package wire

import (
	"io"
	"strings"
	"testing"

	"shunt/api/wire/conns"
)

func TestAPanicInALoopLosesOneAnswer(t *testing.T) {
	st := newLoopSite(t, 2, conns.Limits{Connections: 10})
	ask := func(target string) string { return requestText("GET", target) }
	_, r := st.dial(ask("/x?1") + ask("/x?2") + ask("/panic") + ask("/x?3"))
	for _, want := range []string{"http://a/1", "http://a/2"} {
		if got := readReply(t, r, "GET"); got.status != 302 || got.header.Get("Location") != want || got.close {
			t.Errorf("before the panic: got %+v, want %s", got, want)
		}
	}
	if got := readReply(t, r, "GET"); got.status != 500 || !got.close {
		t.Errorf("got %+v, want 500 and the end", got)
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("after the panic: got %q, %v", rest, err)
	}
	_, r = st.dial(ask("/x?4"))
	if got := readReply(t, r, "GET"); got.status != 302 {
		t.Errorf("after the panic, another client got %+v", got)
	}
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
	st.each(func(l *listener) { check(t, l.Close()) }) // the order waits
	release()
	for range clients {
		if got := <-answers; !strings.HasPrefix(got, "HTTP/1.1 500 ") {
			t.Errorf("got %q, want 500", got)
		}
	}
	check(t, st.CloseListeners())
}
