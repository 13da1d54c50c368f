package api

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"shunt/api/account"
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

// Who has logged in may send as much as who has a token, and a session that is none no more than anybody.
func TestALargeBodyOfASessionIsTakenIfItMayBeSent(t *testing.T) {
	st := newSite(t, nil)
	st.person("boss@example.com", account.RoleAdmin)
	st.person("ann@example.com", account.RoleMember)
	boss, ann := st.logIn("boss@example.com"), st.logIn("ann@example.com")
	var items []string
	for i := range 500 {
		items = append(items, fmt.Sprintf(`{"code":"c%d","url":"http://a/%s"}`, i, strings.Repeat("x", 200)))
	}
	large := "[" + strings.Join(items, ",") + "]"
	for name, c := range map[string]struct {
		path, cookie string
		want         int
	}{
		"an admin's import":             {"/import", boss, 200},
		"a member's import":             {"/import", ann, 413},
		"an import of nobody":           {"/import", "Cookie: " + plainCookie + "=x", 413},
		"a member's bulk":               {"/shorten/bulk", ann, 200},
		"a bulk without any credential": {"/shorten/bulk", "Cookie: a=b", 413},
	} {
		body := large
		if c.path != "/import" {
			body = strings.ReplaceAll(large, `"code"`, `"alias"`)
		}
		r := send(t, st.publicAt, "POST", requestText("POST", "/api/v1"+c.path, body, c.cookie, ownPage, "Content-Type: application/json"))
		if r.status != c.want {
			t.Errorf("%s: got %d %.200s, want %d", name, r.status, r.body, c.want)
		}
	}
	var socketBody bulkAnswer
	r := send(t, st.localAt, "POST", requestText("POST", "/api/v1/import", large, "Content-Type: application/json"))
	if err := json.Unmarshal([]byte(r.body), &socketBody); err != nil || r.status != 200 || len(socketBody.Results) != 500 {
		t.Errorf("on the socket: got %d %.200s, %v", r.status, r.body, err)
	}
	tooLarge := send(t, st.localAt, "POST", requestText("POST", "/api/v1/import", large+strings.Repeat(" ", maxBulkBytes), "Content-Type: application/json"))
	if tooLarge.status != 413 || !strings.Contains(tooLarge.body, fmt.Sprint(maxBulkBytes)) {
		t.Errorf("beyond the limit, on the socket: got %d %.200s", tooLarge.status, tooLarge.body)
	}
}
