package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
)

// askAs sends a request to a node as a visitor of a host. fields are names and values of its header.
func (n *siteNode) askAs(method, host, path, body string, fields ...string) (status int, header http.Header, text string) {
	n.site.t.Helper()
	req, err := http.NewRequest(method, n.url+path, strings.NewReader(body))
	expect.OK(n.site.t, err)
	req.Host = host
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := n.site.requests.Do(req)
	expect.OK(n.site.t, err)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	expect.OK(n.site.t, err)
	return resp.StatusCode, resp.Header, string(all)
}

// TestAnEdgeOfAClusterHasDomainsPasswordsAndCards makes a domain, and links that decide in it, at a full node: an edge
// has them within the lag. Passwords are compared by the node that leads, and a cookie opens the link at every node.
func TestAnEdgeOfAClusterHasDomainsPasswordsAndCards(t *testing.T) {
	s := newSite(t, "a", "b")
	a, b := s.nodes[0], s.nodes[1]
	e := s.edge("edge-1", b)
	b.call("POST", "/domains", map[string]any{"host": "b.test"}).want(t, 201)
	b.call("POST", "/shorten", map[string]any{"url": "https://secret.example/", "domain": "b.test", "alias": "x", "password": "open sesame"}).want(t, 201)
	b.call("POST", "/shorten", map[string]any{
		"url": "https://own.example/", "domain": "b.test", "alias": "y", "card": map[string]any{"title": "what chats show"},
		"rules": []any{map[string]any{"url": "https://rule.example/", "conditions": []any{map[string]any{"type": "language", "match_value": "de"}}}},
	}).want(t, 201)
	began := time.Now()
	s.await(func() bool {
		status, _, _ := e.askAs("GET", "b.test", "/y", "")
		return status == 302
	}, "the edge has the links of the new domain")
	t.Logf("the edge had the new domain and its links %v after the answer", time.Since(began))
	status, _, _ := e.askAs("GET", "other.test", "/y", "")
	expect.Equal(t, status, 404, "the code on the default domain")

	typed := func(n *siteNode, password string) (int, string) {
		status, header, text := n.askAs("POST", "b.test", "/x", "password="+password, "Content-Type", "text/plain")
		expect.That(t, !strings.Contains(text, "secret.example"), "%s: the answer to a password tells the target", n.name)
		cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
		return status, cookie
	}
	for _, n := range []*siteNode{a, b, e} {
		status, _, _ := n.askAs("GET", "b.test", "/x", "")
		expect.Equal(t, status, 401, n.name+": without the password")
		wrong, _ := typed(n, "Open sesame")
		expect.Equal(t, wrong, 401, n.name+": a wrong password")
		right, cookie := typed(n, "open sesame")
		expect.Equal(t, right, 303, n.name+": the password")
		for _, other := range []*siteNode{a, b, e} {
			status, header, _ := other.askAs("GET", "b.test", "/x", "", "Cookie", cookie)
			expect.That(t, status == 302 && header.Get("Location") == "https://secret.example/", "%s, with a cookie of %s: got %d", other.name, n.name, status)
		}
		status, _, text := n.askAs("GET", "b.test", "/y", "", "User-Agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)")
		expect.That(t, status == 200 && strings.Contains(text, "what chats show"), "%s: a chat gets %d", n.name, status)
		_, header, _ := n.askAs("GET", "b.test", "/y", "", "Accept-Language", "de")
		expect.Equal(t, header.Get("Location"), "https://rule.example/", n.name+": a rule")
	}
}
