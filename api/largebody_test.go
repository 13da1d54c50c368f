package api

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
)

// awaitLarge waits until so many places for large bodies are taken.
func (l *listener) awaitLarge(n int) {
	for l.large.Held() != n {
		runtime.Gosched()
	}
}

// awaitWaiting waits until the given number of bodies wait for a place.
func (l *listener) awaitWaiting(n int) {
	for l.large.Waiting() != n {
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

// largeBodyBytes is how long the text of largeItem is: a bulk of one link.
const largeBodyBytes = 200 << 10

func largeItem() string { return `[{"url":"http://a/"}` + strings.Repeat(" ", largeBodyBytes-21) + `]` }

// members returns tokens of n members.
func (st *site) members(n int) (tokens []string) {
	for i := range n {
		tokens = append(tokens, st.member(fmt.Sprintf("member%d@example.com", i)))
	}
	return tokens
}

// holdLarge begins a large body for each of tokens, again and again until every place is held. It
// returns the first with its reader: of all others, which come in chunks, half has come at least.
func holdLarge(t *testing.T, addr string, l *listener, tokens []string) (first net.Conn, answer *bufio.Reader) {
	t.Helper()
	for n := range maxLargeBodies {
		token := tokens[n%len(tokens)]
		raw := largeHead(token, largeBodyBytes) + largeItem()[:10]
		if n > 0 {
			raw = largeHead(token, 0) + fmt.Sprintf("%x\r\n%s", largeBodyBytes, largeItem()[:largeBodyBytes-1])
		}
		c, r := dial(t, addr, raw)
		if n == 0 {
			first, answer = c, r
		}
	}
	l.awaitLarge(maxLargeBodies)
	return first, answer
}

func TestSoManyLargeBodiesComeAtATimeAndNoMore(t *testing.T) {
	st := newSite(t, nil)
	addr, l := realListener(t, st)
	tokens := st.members(maxLargeBodies / maxLargeBodiesCaller)
	first, answer := holdLarge(t, addr, l, tokens)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", largeBodyBytes, largeItem())
	for name, c := range map[string]struct {
		raw    string
		status int
	}{
		"one more than a share":             {largeHead(tokens[0], largeBodyBytes), 503},
		"one more than a share, in chunks":  {largeHead(tokens[0], 0) + chunk, 503},
		"one that expects to be asked":      {strings.Replace(largeHead(tokens[0], largeBodyBytes), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1), 503},
		"one of a nobody, who has no place": {largeHead("shunt_x", largeBodyBytes), 413},
		"the same, and it expects to be asked": {
			strings.Replace(largeHead("shunt_x", largeBodyBytes), "\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1), 413,
		},
	} {
		_, r := dial(t, addr, c.raw)
		got := readReply(t, r, "POST")
		if got.status != c.status || got.status == 503 && (got.problem() != "overloaded" || got.header.Get("Retry-After") == "") || !got.close {
			t.Errorf("%s: got %+v, want %d and the connection closed", name, got, c.status)
		}
	}
	if got := st.callAs(tokens[0], "POST", "/shorten/bulk", `[{"url":"http://a/"}]`); got.status != 200 {
		t.Errorf("a small one: got %d %s", got.status, got.body)
	}

	_, next := dial(t, addr, largeHead(st.token, largeBodyBytes)+largeItem())
	l.awaitWaiting(1)
	if _, err := io.WriteString(first, largeItem()[10:]); err != nil {
		t.Fatal(err)
	}
	if got := readReply(t, answer, "POST"); got.status != 200 || got.close {
		t.Errorf("the first: got %+v, want 200", got)
	}
	if got := readReply(t, next, "POST"); got.status != 200 || got.close {
		t.Errorf("the one that waited for it: got %+v, want 200", got)
	}
	l.awaitLarge(maxLargeBodies - 1) // although the connections are there
	l.closeAll()
	l.awaitLarge(0)
}

func TestOneMemberDoesNotKeepTheAdminFromImporting(t *testing.T) {
	st := newSite(t, nil)
	addr, l := realListener(t, st)
	greedy := st.member("ann@example.com")
	for range 2 * maxLargeBodies {
		dial(t, addr, largeHead(greedy, largeBodyBytes)+largeItem()[:10])
	}
	l.awaitLarge(maxLargeBodiesCaller)
	body := `{"code":"c","url":"http://a/"}` + strings.Repeat("\n", largeBodyBytes)
	_, r := dial(t, addr, requestText("POST", "/api/v1/import", body, bearer(st.token), "Content-Type: application/x-ndjson"))
	if got := readReply(t, r, "POST"); got.status != 200 {
		t.Errorf("the admin's import: got %d %s, want 200", got.status, got.body)
	}
}

func TestASlowLargeBodyLosesItsPlaceWhenOthersWait(t *testing.T) {
	st := newSite(t, nil)
	addr, l := realListener(t, st)
	tokens := st.members(maxLargeBodies / maxLargeBodiesCaller)
	_, slowest := holdLarge(t, addr, l, tokens)
	sweeps := func() {
		for range largeBodyGrace + 1 {
			l.sweep()
		}
	}
	sweeps()
	if l.large.Held() != maxLargeBodies {
		t.Fatal("a slow body was cut although nobody waited")
	}
	_, r := dial(t, addr, largeHead(st.token, largeBodyBytes)+largeItem())
	l.awaitWaiting(1)
	sweeps()
	if got := readReply(t, slowest, "POST"); got.status != 408 || !strings.Contains(got.body, "256 KiB") || !got.close {
		t.Errorf("the slowest: got %+v, want 408", got)
	}
	if got := readReply(t, r, "POST"); got.status != 200 {
		t.Errorf("the one that waited: got %d %s, want 200", got.status, got.body)
	}
	l.awaitLarge(maxLargeBodies - 1) // one waited, so one was cut
}

func TestALargeBodyIsBehindIfItMovesLessThanTheRate(t *testing.T) {
	for name, c := range map[string]struct {
		seconds, moved  int64
		taken, arriving bool
		behind          bool
	}{
		"none":                       {100, 0, false, false, false},
		"just begun":                 {largeBodyGrace, 0, true, true, false},
		"nothing has come":           {largeBodyGrace + 1, 0, true, true, true},
		"it moves":                   {largeBodyGrace + 10, 10 * largeBodyRate, true, true, false},
		"it moves a little too slow": {largeBodyGrace + 10, 10*largeBodyRate - 1, true, true, true},
		"it has come":                {100, 1 << 20, true, false, false},
	} {
		const began = 7
		var p largePlace
		p.since.Store(began)
		p.taken.Store(c.taken)
		p.arriving.Store(c.arriving)
		if lag := p.lag(began+c.seconds, c.moved); lag > 0 != c.behind {
			t.Errorf("%s: got a lag of %d, want one: %v", name, lag, c.behind)
		}
	}
}

// The last bytes of a large body and the beginning of the next one may come in one piece.
func TestALargeBodyHasArrivedAlsoIfTheNextOneHasBegun(t *testing.T) {
	for name, head := range map[string]string{"of a length": largeHead("x", largeBodyBytes), "in chunks": largeHead("x", 0)} {
		first := largeItem()
		if name == "in chunks" {
			first = fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", largeBodyBytes, first)
		}
		var g gate
		pass := func(raw string) { g.pass([]byte(raw)) }
		pass(head)
		g.large.taken.Store(true)
		g.large.arriving.Store(true)
		pass(first[:len(first)-10])
		if !g.large.arriving.Load() {
			t.Errorf("%s: it has arrived before its end", name)
		}
		pass(first[len(first)-10:] + largeHead("x", 5) + "12")
		if g.refused != nil || !g.inBody() || g.large.arriving.Load() {
			t.Errorf("%s: got %v and still arriving: %v, want it to have arrived", name, g.refused, g.large.arriving.Load())
		}
	}
}

func TestTheHookForAHeaderFindsItsConnection(t *testing.T) {
	st := newSite(t, nil)
	found := make(chan *conn, 1)
	s := st.newFleet(func(*fasthttp.RequestCtx) {}, limits{connections: 1}, publicPatience)
	s.http.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		found <- connOf(contextOf(h).Conn())
		return fasthttp.RequestConfig{}
	}
	ln := st.serve(s.serve)
	send(t, ln, "POST", requestText("POST", "/x", "body"))
	if c := <-found; c == nil || c.owner.Listener != ln {
		t.Errorf("got %+v, want the connection of the request", c)
	}
	check(t, errors.Join(s.closeListeners(), s.http.Shutdown()))
}

func TestWhoIsRefusedALargeBodyKeepsNoPlace(t *testing.T) {
	st := newSite(t, nil)
	addr, l := realListener(t, st)
	for range 2 * maxLargeBodies {
		_, r := dial(t, addr, largeHead("shunt_x", 1<<20)) // and waits for what the other side has to say
		if got := readReply(t, r, "POST"); got.status != 413 {
			t.Fatalf("got %d %s, want 413", got.status, got.body)
		}
		if n := l.large.Held(); n != 0 {
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
