package api

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// awaitLarge waits until so many places for large bodies are taken.
func (l *listener) awaitLarge(n int32) {
	for l.large.taken.Load() != n {
		runtime.Gosched()
	}
}

// largeHead is the head of a bulk of so many bytes; 0: in chunks.
func largeHead(token string, bytes int) string {
	length := "Transfer-Encoding: chunked"
	if bytes > 0 {
		length = fmt.Sprintf("Content-Length: %d", bytes)
	}
	return "POST /api/v1/shorten/bulk HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAuthorization: Bearer " + token + "\r\n" +
		length + "\r\n\r\n"
}

func TestSoManyLargeBodiesComeAtATimeAndNoMore(t *testing.T) {
	st := newSite(t, nil)
	addr, l := realListener(t, st)
	const size = 200 << 10
	item := `[{"url":"http://a/"}` + strings.Repeat(" ", size-21) + `]`
	chunk := fmt.Sprintf("%x\r\n%s\r\n", size, item)

	first, answer := dial(t, addr, largeHead(st.token, size))
	for range maxLargeBodies/2 - 1 {
		dial(t, addr, largeHead(st.token, size)+item[:10])
	}
	for range maxLargeBodies / 2 {
		dial(t, addr, largeHead(st.token, 0)+chunk[:size-1])
	}
	l.awaitLarge(maxLargeBodies)

	for name, raw := range map[string]string{
		"a known length": largeHead(st.token, size), "chunks": largeHead(st.token, 0) + chunk, "of a nobody": largeHead("shunt_x", size),
	} {
		_, r := dial(t, addr, raw)
		if got := readReply(t, r, "POST"); got.status != 503 || got.problem() != "overloaded" || got.header.Get("Retry-After") == "" || !got.close {
			t.Errorf("one more, %s: got %+v, want 503 overloaded and the connection closed", name, got)
		}
	}
	if got := st.call("POST", "/shorten/bulk", `[{"url":"http://a/"}]`); got.status != 200 {
		t.Errorf("a small one: got %d %s", got.status, got.body)
	}

	if _, err := io.WriteString(first, item); err != nil {
		t.Fatal(err)
	}
	if got := readReply(t, answer, "POST"); got.status != 200 || got.close {
		t.Errorf("the first: got %+v, want 200", got)
	}
	l.awaitLarge(maxLargeBodies - 1) // although the connection is there
	l.closeAll()
	l.awaitLarge(0)
}

func TestWhoIsRefusedALargeBodyKeepsNoPlace(t *testing.T) {
	st := newSite(t, nil)
	addr, l := realListener(t, st)
	for range 2 * maxLargeBodies {
		_, r := dial(t, addr, largeHead("shunt_x", 1<<20)) // and waits for what the other side has to say
		if got := readReply(t, r, "POST"); got.status != 413 {
			t.Fatalf("got %d %s, want 413", got.status, got.body)
		}
		if n := l.large.taken.Load(); n != 0 {
			t.Fatalf("%d places are taken", n)
		}
	}
}
