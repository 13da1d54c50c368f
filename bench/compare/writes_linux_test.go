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

// made is an answer that says that a link was made.
const made = "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nlink"

func TestOnlyAnswersThatMadeLinksAreAccepted(t *testing.T) {
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
	l := answering(t, strings.Replace(made, "201 Created", "429 Too Many Requests", 1))
	s := postsTo(l)
	if _, err := s.run(t.Context()); err == nil || !strings.Contains(err.Error(), "429 Too Many") {
		t.Errorf("got %v, want the answer", err)
	}
}

func TestARunCountsTheAnswersAfterTheWarmUp(t *testing.T) {
	r, err := postsTo(answering(t, made)).run(t.Context())
	if err != nil || r.Answers == 0 || r.P99 < r.P50 || r.P50 == 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestACancelledRunIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := postsTo(answering(t, made)).run(ctx); err == nil {
		t.Error("got no error")
	}
}

func postsTo(l net.Listener) *posts {
	return &posts{
		address: l.Addr().String(), connections: 2, protocol: shorten("127.0.0.1:1", "token"), warmUp: 10 * time.Millisecond, length: 100 * time.Millisecond,
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
				request := make([]byte, len(shorten("127.0.0.1:1", "token").append(nil, 1)))
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

func TestScenariosOfWritesAreChosenByTheirNames(t *testing.T) {
	s := settings{tools: "x", rounds: 1, seconds: 1, links: 1, writes: "create,bulk"}
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
