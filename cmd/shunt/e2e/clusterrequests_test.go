package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
)

// An answer is that to a request of the API.
type answer struct {
	status int
	body   map[string]any
	text   string
	header http.Header
	err    error
}

// call sends a request of the API to a node.
func (n *siteNode) call(method, path string, body any, fields ...string) (a answer) {
	return callOf(n.site.requests, n.url, n.site.token, method, path, body, fields...)
}

// callOf calls the API of the server at origin.
func callOf(requests *http.Client, origin, token, method, path string, body any, fields ...string) (a answer) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{err: err}
		}
		sent = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, origin+"/api/v1"+path, sent)
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := requests.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	a = answer{status: resp.StatusCode, text: string(text), header: resp.Header, err: err}
	_ = json.Unmarshal(text, &a.body) // an answer may have none
	return a
}

func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	expect.MustThat(t, a.err == nil && a.status == status, "got status %d, %v, want %d: %s", a.status, a.err, status, a.text)
	return a
}

// redirect follows a code at a node and returns the status and where it leads.
func (n *siteNode) redirect(code string) (status int, location string, err error) {
	name, domain, _ := strings.Cut(code, inDomain)
	status, location, err = redirectOf(n.site.requests, n.url, domain, name)
	var dialing *net.OpError
	switch {
	case errors.As(err, &dialing) && dialing.Op == "dial": // nobody was asked
		return 0, "", err
	case err != nil:
		n.site.lost(code).Add(1)
		return 0, "", err
	}
	switch status {
	case http.StatusFound:
		n.site.answered(code).Add(1)
	case http.StatusServiceUnavailable: // the node that leads may have counted a hit of a capped link, and its answer was lost
		n.site.lost(code).Add(1)
	}
	return status, location, nil
}

// redirectIn asks for a code on a host; empty: on the default domain. Nobody counts it.
func (n *siteNode) redirectIn(domain, code string) (status int, location string, err error) {
	return redirectOf(n.site.requests, n.url, domain, code)
}

// redirectOf asks the server at origin for a code on a host.
func redirectOf(requests *http.Client, origin, domain, code string) (status int, location string, err error) {
	req, err := http.NewRequest(http.MethodGet, origin+"/"+code, nil)
	if err != nil {
		return 0, "", err
	}
	req.Host = domain
	resp, err := requests.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("Location"), nil
}

// redirects returns the status of a redirect, 0 if there was no answer.
func (n *siteNode) redirects(code string) (status int) {
	status, _, _ = n.redirect(code)
	return status
}

// locationAs asks a node for a path of a host, and returns where it leads.
func (n *siteNode) locationAs(host, path string) (location string) {
	req, err := http.NewRequest(http.MethodGet, n.url+path, nil)
	expect.OK(n.site.t, err)
	req.Host = host
	resp, err := n.site.requests.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Header.Get("Location")
}

// shorten makes a link, and waits until all nodes have it.
func (s *site) shorten(code, target string) {
	s.t.Helper()
	s.nodes[0].call("POST", "/shorten", map[string]any{"url": target, "alias": code}).want(s.t, 201)
	s.leads(code, target)
}

// answered returns the counter of the redirects of a code that were answered.
func (s *site) answered(code string) *atomic.Int64 { return counter(&s.counts, code) }

// lost returns the counter of the redirects of a code whose answer was lost, or was that nobody could decide.
func (s *site) lost(code string) *atomic.Int64 { return counter(&s.losses, code) }

func counter(of *sync.Map, code string) *atomic.Int64 {
	n, _ := of.LoadOrStore(code, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// hammer follows a code at all nodes that are not left out, until stop, and counts what fails.
func (s *site) hammer(code, target string, out *atomic.Pointer[siteNode], stop <-chan struct{}) (done func() (good, failed int64)) {
	var wg sync.WaitGroup
	var good, failed atomic.Int64
	for _, n := range s.nodes {
		wg.Go(func() {
			for !closed(stop) {
				if out.Load() == n {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				_, location, err := n.redirect(code)
				switch {
				case err == nil && location == target:
					good.Add(1)
				case out.Load() != n:
					failed.Add(1)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	return func() (int64, int64) { wg.Wait(); return good.Load(), failed.Load() }
}

// writesAfter returns how long after a moment a write succeeds by way of one of the nodes.
func (s *site) writesAfter(since time.Time, nodes ...*siteNode) time.Duration {
	s.t.Helper()
	for time.Since(since) < 30*time.Second {
		for _, n := range nodes {
			if n.call("POST", "/shorten", map[string]any{"url": "https://example.com/after"}).status == 201 {
				return time.Since(since)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("no write for 30 s")
	return 0
}
