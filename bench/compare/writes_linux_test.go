package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"shunt/bench/compare/load"
)

func TestOnlyAnswersThatMadeLinksAreAccepted(t *testing.T) {
	const made = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nlink"
	for name, c := range map[string]struct {
		answer string
		ok     bool
	}{
		"made":           {made, true},
		"refused":        {strings.Replace(made, "201 Created", "429 Too Many Requests", 1), false},
		"without length": {strings.Replace(made, "Content-Length", "X", 1), false},
		"another body":   {strings.Replace(made, "link", "none", 1), false},
		"a cut body":     {made[:len(made)-1], false},
		"a cut head":     {made[:20], false},
		"nothing":        {"", false},
		"not HTTP":       {"+OK\r\n\r\n", false},
	} {
		if err := answerOf(201, []byte("link"))(bufio.NewReader(strings.NewReader(c.answer))); (err == nil) != c.ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRedisMustAnswerThatAKeyIsSet(t *testing.T) {
	for answer, ok := range map[string]bool{"+OK\r\n": true, "-ERR full\r\n": false, "+OK": false, "": false} {
		if err := redisSet().check(bufio.NewReader(strings.NewReader(answer))); (err == nil) != ok {
			t.Errorf("%q: got %v", answer, err)
		}
	}
}

func TestRequestsSayTheirLength(t *testing.T) {
	for name, p := range map[string]protocol{"one": shorten("127.0.0.1:1", "token"), "bulk": shortenBulk("127.0.0.1:1", "token")} {
		head, body, found := strings.Cut(string(p.append(nil, 7)), "\r\n\r\n")
		if _, length, _ := strings.Cut(head, "Content-Length: "); !found || length != strconv.Itoa(len(body)) {
			t.Errorf("%s: got length %q of %d bytes", name, length, len(body))
		}
		if got := strings.Count(body, load.TargetStart); got != p.links {
			t.Errorf("%s: got %d links, want %d", name, got, p.links)
		}
	}
}

func TestAWrongAnswerEndsARun(t *testing.T) {
	l := answering(t, "-ERR full\r\n")
	s := redisPosts(l)
	if _, err := s.run(t.Context()); err == nil || !strings.Contains(err.Error(), "-ERR full") {
		t.Errorf("got %v, want the answer", err)
	}
}

func TestARunCountsTheAnswersAfterTheWarmUp(t *testing.T) {
	for name, rate := range map[string]float64{"closed loop": 0, "open loop": 2000} {
		s := redisPosts(answering(t, "+OK\r\n"))
		s.rate = rate
		r, err := s.run(t.Context())
		if err != nil || r.Answers == 0 || r.P99 < r.P50 || r.P50 == 0 {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

func TestACancelledRunIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := redisPosts(answering(t, "+OK\r\n")).run(ctx); err == nil {
		t.Error("got no error")
	}
}

func redisPosts(l net.Listener) *posts {
	return &posts{
		address: l.Addr().String(), connections: 2, protocol: redisSet(), warmUp: 10 * time.Millisecond, length: 100 * time.Millisecond,
		clocks: func() (c load.Clocks, err error) { return }, own: func() time.Duration { return 0 },
	}
}

// answering returns a listener that answers each read with the same bytes, until the test ends.
func answering(t *testing.T, answer string) net.Listener {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				request := make([]byte, len(redisSet().append(nil, 1)))
				for {
					if _, err := io.ReadFull(conn, request); err != nil {
						return
					}
					if _, err := io.WriteString(conn, answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l
}

func TestExportsAreEqualButForTheirServer(t *testing.T) {
	const a, b = `{"code":"a","short_url":"http://127.0.0.1:1/a","url":"http://x/"}`, `{"code":"a","short_url":"http://127.0.0.1:22/a","url":"http://x/"}`
	for name, c := range map[string]struct {
		a, b  string
		lines int
		ok    bool
	}{
		"equal":       {a, b, 1, true},
		"differ":      {a, strings.Replace(b, "x", "y", 1), 1, false},
		"one is cut":  {a + "\n" + a, b, 2, false},
		"links lack":  {a, b, 2, false},
		"both lack":   {"", "", 1, false},
		"other codes": {a, strings.ReplaceAll(b, "a", "b"), 1, false},
	} {
		if err := equalExports(strings.NewReader(c.a), strings.NewReader(c.b), c.lines); (err == nil) != c.ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestScenariosOfWritesAreChosenByTheirNames(t *testing.T) {
	s := settings{tools: "x", rounds: 1, seconds: 1, links: 1, writes: "create,trip"}
	if err := s.check(); err != nil || len(s.chosenWrites()) != 2 {
		t.Errorf("got %v, %v", s.chosenWrites(), err)
	}
	if s.writes = "all"; len(s.chosenWrites()) != len(writingNames()) {
		t.Errorf("all: got %v", s.chosenWrites())
	}
	if s.writes = "hot"; s.check() == nil {
		t.Error("a scenario of redirects was accepted")
	}
}
