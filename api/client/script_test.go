package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/api/client"
	"shunt/engine/expect"
)

// An answer is what a script says to a request.
type answer func(*http.Request) (*http.Response, error)

// A script is a transport that answers request after request, the last answer over and over.
type script struct {
	answers []answer

	mu   sync.Mutex
	seen []seen
}

// seen is a request, and when it came.
type seen struct {
	*http.Request
	body string
	at   time.Time
}

// RoundTrip implements http.RoundTripper.
func (s *script) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		body, _ = io.ReadAll(request.Body) // of memory
	}
	s.mu.Lock()
	n := len(s.seen)
	s.seen = append(s.seen, seen{request, string(body), time.Now()})
	s.mu.Unlock()
	return s.answers[min(n, len(s.answers)-1)](request)
}

// waits returns how long it took from each request to the next.
func (s *script) waits() (waits []time.Duration) {
	for i := 1; i < len(s.seen); i++ {
		waits = append(waits, s.seen[i].at.Sub(s.seen[i-1].at))
	}
	return waits
}

// says is an answer; lines are "Name: value".
func says(status int, body string, lines ...string) answer {
	return func(*http.Request) (*http.Response, error) {
		header := make(http.Header)
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			header.Set(name, value)
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// refuses is a problem of shunt.
func refuses(status int, code string, lines ...string) answer {
	return says(status, `{"type":"urn:shunt:problem:`+code+`","title":"T","detail":"D","code":"`+code+`"}`, lines...)
}

var errCut = errors.New("the connection was cut")

// cuts is no answer.
func cuts(*http.Request) (*http.Response, error) { return nil, errCut }

// hangs is no answer, and says so late.
func hangs(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

const someLink = `{"code":"a","short_url":"https://sho.rt/a","url":"https://example.org"}`

// scripted returns a client to whose requests answers are given.
func scripted(t *testing.T, retry client.Retry, answers ...answer) (*client.Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	c, err := client.New("https://sho.rt", "shunt_secret", &client.Options{Transport: s, Retry: retry})
	expect.OK(t, err)
	return c, s
}

// The calls that tests make, by what may be repeated of them.
var (
	reads   = func(ctx context.Context, c *client.Client) error { return second(c.Link(ctx, "a")) }
	creates = func(ctx context.Context, c *client.Client) error {
		return second(c.Shorten(ctx, client.Draft{URL: "https://example.org"}))
	}
	edits   = func(ctx context.Context, c *client.Client) error { return second(c.Update(ctx, "a", client.Edit{})) }
	deletes = func(ctx context.Context, c *client.Client) error { return c.Delete(ctx, "a") }
	issues  = func(ctx context.Context, c *client.Client) error {
		return second(c.IssueToken(ctx, client.TokenDraft{Name: "n"}))
	}
	createsWithoutKey = func(ctx context.Context, c *client.Client) error {
		return second(c.Shorten(ctx, client.Draft{URL: "https://example.org"}, client.NoIdempotencyKey()))
	}
)

func second[T any](_ T, err error) error { return err }
