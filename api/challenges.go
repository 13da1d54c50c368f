package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/edges"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/api/turnstile"
)

// This file passes ACME's http-01 challenges on from an edge to its writer. The names of a writer may lead to any of
// its edges, so an authority that wants to see the answer of the writer may ask an edge.

// challengePath begins the path of a challenge (RFC 8555, 8.3).
const challengePath = "/.well-known/acme-challenge/"

const (
	challengeTimeout  = 5 * time.Second
	maxChallengeBytes = 4 << 10 // of an answer: it has a token and the hash of a key
	maxChallenges     = 32      // that an edge passes on at a time
	maxChallengesFrom = 8       // of them, from one address: an authority asks from several at once
)

// challengeToken is what tokens look like (RFC 8555, 8.3: base64url), and hosts.
var (
	challengeToken = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
	challengeHost  = regexp.MustCompile(`^[A-Za-z0-9.:-]{1,260}$`)
)

// edgeChallenges answers challenges at an edge: those of its own certificates, and those of its writer.
type edgeChallenges struct {
	own    http.Handler // nil: none
	of     EdgeOf
	client *http.Client
	places *ops.Places
}

// newEdgeChallenges returns what answers challenges at an edge whose own ones own answers.
func newEdgeChallenges(own http.Handler, p *passing) http.Handler {
	return &edgeChallenges{own, p.EdgeOf, &http.Client{
		Transport: p.transport, Timeout: challengeTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, ops.NewPlaces("challenges", maxChallenges, maxChallengesFrom)}
}

// ServeHTTP implements http.Handler.
func (c *edgeChallenges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if text, ok := answerOf(c.own, r); ok {
		_, _ = w.Write(text)
		return
	}
	text, ok := c.ask(r)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	_, _ = w.Write(text)
}

// ask returns the writer's answer to a challenge, if it has one.
func (c *edgeChallenges) ask(r *http.Request) (text []byte, ok bool) {
	token := r.URL.Path[min(len(challengePath), len(r.URL.Path)):]
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address is one of its own
	key := turnstile.Key{Network: from.Addr()}
	if c.of.Stale() || !challengeToken.MatchString(token) || !challengeHost.MatchString(r.Host) || c.places.Take(key) != nil {
		return nil, false
	}
	defer c.places.Leave(key)
	at := c.of.Writer + apiRoot + edges.ChallengePath + "?" + url.Values{"token": {token}, "host": {r.Host}}.Encode()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, at, bytes.NewReader([]byte("{}")))
	if err != nil {
		return nil, false
	}
	own := c.of.Token()
	req.Header.Set("Authorization", "Bearer "+own)
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxChallengeBytes))
	var said struct{ Code string }
	if resp.StatusCode == http.StatusUnauthorized && json.Unmarshal(text, &said) == nil && said.Code == problem.Unauthorized.Code {
		c.of.Refused(own)
	}
	return text, err == nil && resp.StatusCode == http.StatusOK
}

// challenge answers an edge that asks about a challenge.
func (c *edgeCalls) challenge(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	token, host := string(ctx.QueryArgs().Peek("token")), string(ctx.QueryArgs().Peek("host"))
	if !challengeToken.MatchString(token) || !challengeHost.MatchString(host) {
		return problem.New(problem.BadRequest, "a challenge has a token and a host")
	}
	within, cancel := context.WithTimeout(context.Background(), challengeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(within, http.MethodGet, "http://"+host+challengePath+token, http.NoBody)
	if err != nil {
		return problem.New(problem.BadRequest, "a challenge has a token and a host")
	}
	text, ok := answerOf(c.challenges, r)
	if !ok {
		return problem.New(problem.NotFound, "this server has no such challenge")
	}
	ctx.Response.Header.SetContentType("text/plain; charset=utf-8")
	ctx.SetBody(text)
	return nil
}

// answerOf returns the answer of a handler, which may be nil, if it knows a challenge.
func answerOf(h http.Handler, r *http.Request) (text []byte, ok bool) {
	if h == nil {
		return nil, false
	}
	a := &challengeAnswer{header: make(http.Header), status: http.StatusOK}
	h.ServeHTTP(a, r)
	return a.text.Bytes(), a.status == http.StatusOK
}

// challengeAnswer keeps an answer. It implements http.ResponseWriter.
type challengeAnswer struct {
	header http.Header
	status int
	text   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *challengeAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *challengeAnswer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *challengeAnswer) Write(b []byte) (int, error) { return a.text.Write(b) }
