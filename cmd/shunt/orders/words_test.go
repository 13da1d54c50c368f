package orders

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"shunt/engine/expect"
)

// limited returns an authority's refusal that asks to wait.
func limited(wait string) *acme.Error {
	return &acme.Error{
		StatusCode: http.StatusTooManyRequests, ProblemType: "urn:ietf:params:acme:error:rateLimited", Detail: "too many",
		Header: http.Header{"Retry-After": {wait}},
	}
}

func TestAnAuthorityMayAskToWait(t *testing.T) {
	busy := limited("120")
	busy.StatusCode, busy.ProblemType = http.StatusServiceUnavailable, ""
	for name, c := range map[string]struct {
		err  error
		want time.Duration
	}{
		"in a step":           {inAuthority("ordering", limited("3600")), time.Hour},
		"of an authorization": {&acme.AuthorizationError{Errors: []error{limited("7200")}}, 2 * time.Hour},
		"of an order":         {&acme.OrderError{Problem: limited("600")}, 10 * time.Minute},
		"for years":           {limited("99999999"), 7 * 24 * time.Hour},
		"until the past":      {limited("Thu, 01 Jan 1970 00:00:00 GMT"), 0},
		"because it is busy":  {busy, 2 * time.Minute},
		"no wait":             {&acme.Error{StatusCode: http.StatusForbidden, Header: http.Header{"Retry-After": {"60"}}}, 0},
		"no answer":           {errNoCertificate, 0},
	} {
		expect.Equal(t, asked(c.err), c.want, "%s", name)
	}
	w := newWorld(t, "b.test")
	w.authority.refuses["b.test"] = inAuthority("ordering", limited("86400"))
	w.look()
	expect.That(t, w.kept.Of("b.test").NextAt.Equal(w.now.Add(24*time.Hour)), "the next attempt is at %v", w.kept.Of("b.test").NextAt)
}

// TestAnAuthorityThatLimitsIsNotAskedAgain asks a server that refuses all requests. The client must not ask again until
// the time of an order is over.
func TestAnAuthorityThatLimitsIsNotAskedAgain(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()
	w := newWorld(t)
	a := &ACME{Directory: server.URL, Certificates: w.kept, Reach: &Reach{Off: true}}
	_, _, err := a.Order(t.Context(), "b.test", []string{wayHTTP})
	expect.That(t, asked(err) == time.Second && requests == 1, "%d requests, then %v", requests, err)
	for n, want := range []time.Duration{1: time.Second, 2: 2 * time.Second, 3: 3 * time.Second, 4: 0} {
		expect.Equal(t, retry(n, nil, &http.Response{StatusCode: http.StatusBadGateway}), want, "the wait before try %d", n+1)
	}
}

func TestNoReasonHasTheInsidesOfAServer(t *testing.T) {
	down := &net.OpError{Op: "dial", Err: errors.New("lookup ca.internal on 10.0.0.53:53: no such host")}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"the network":      {inAuthority("ordering", &url.Error{Op: "Get", URL: "https://ca.internal/dir", Err: down}), "the authority could not be reached"},
		"the store":        {inStore(&fs.PathError{Op: "write", Path: "/var/lib/shunt/wal", Err: errors.New("no space left")}), "this server could not keep it"},
		"a timeout":        {inAuthority("ordering", context.DeadlineExceeded), "the authority did not answer in time"},
		"a proxy":          {&acme.Error{StatusCode: 502, Detail: "<html>squid at 10.0.0.9"}, "the authority answered with status 502"},
		"an authority":     {inAuthority("ordering", limited("1")), "the authority says: too many"},
		"an authorization": {&acme.AuthorizationError{URI: "https://ca.internal/1", Errors: []error{&acme.Error{Detail: "no A\nrecord"}}}, "the authority says: no A record"},
		"an order":         {inAuthority("waiting", &acme.OrderError{OrderURL: "https://ca.internal/2"}), "the authority refused, and does not say why"},
		"our own":          {sentencef("%s has no address in DNS", "b.test"), "b.test has no address in DNS"},
	} {
		expect.Equal(t, reason(c.err), c.want, "%s", name)
	}
	w := newWorld(t, "b.test")
	w.authority.refuses["b.test"] = down
	w.look()
	expect.That(t, w.kept.Of("b.test").Error == "the authority could not be reached", "kept: %+v", w.kept.Of("b.test"))
	expect.That(t, strings.Contains(w.log.String(), "ca.internal"), "the log does not have the cause")
}
