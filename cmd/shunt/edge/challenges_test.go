package edge

import (
	"io"
	"net"
	"net/http"
	"testing"

	"shunt/api"
	"shunt/cmd/shunt/porttest"
	"shunt/engine/expect"
)

// challenges knows one challenge for one host, as an ACME client does.
type challenges struct{ token, host string }

// ServeHTTP implements http.Handler.
func (c challenges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/.well-known/acme-challenge/"+c.token || r.Host != c.host {
		http.Error(w, "unknown", http.StatusNotFound)
		return
	}
	_, _ = io.WriteString(w, c.token+".key")
}

// plain returns the plain listener of an edge, which serves from now on.
func (m *machine) plain() *machine {
	m.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(m.t, err)
	go func() { _ = m.server.ServeRedirects(ln) }()
	return &machine{t: m.t, address: ln.Addr().String()}
}

// TestChallengesThatReachAnEdgeAreAnsweredByItsWriter asks the plain listener of an edge, as an authority does.
func TestChallengesThatReachAnEdgeAreAnsweredByItsWriter(t *testing.T) {
	w := &machine{t: t, dir: t.TempDir(), address: porttest.Hold(t, "127.0.0.1"), log: new(logs)}
	w.options = func(o *api.Options) { o.ACMEChallenges = challenges{"of_the-writer", "sho.rt"} }
	w.start()
	t.Cleanup(w.stop)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.options = func(o *api.Options) { o.ACMEChallenges = challenges{"of_the-edge", "fra.sho.rt"} }
	e.startEdge()
	w.link("code", "https://a.example/", 0)
	e.redirects("code", "https://a.example/")
	plain := e.plain()
	for name, c := range map[string]struct {
		token, host string
		want        int
	}{
		"the edge's own":     {"of_the-edge", "fra.sho.rt", 200},
		"the writer's":       {"of_the-writer", "sho.rt", 200},
		"for another name":   {"of_the-writer", "fra.sho.rt", 404},
		"unknown":            {"unknown", "sho.rt", 404},
		"not a token":        {"of_the-writer/..", "sho.rt", 404},
		"a token with a dot": {"of_the-writer.", "sho.rt", 404},
	} {
		a := plain.ask("GET", "/.well-known/acme-challenge/"+c.token, "", "Host", c.host)
		expect.That(t, a.status == c.want && (c.want != 200 || a.body == c.token+".key"), "%s: %+v", name, a)
	}
	w.stop()
	a := plain.ask("GET", "/.well-known/acme-challenge/of_the-writer", "", "Host", "sho.rt")
	expect.Equal(t, a.status, 404, "without the writer")
	a = plain.ask("GET", "/.well-known/acme-challenge/of_the-edge", "", "Host", "fra.sho.rt")
	expect.Equal(t, a.status, 200, "the edge's own, without the writer")
}
