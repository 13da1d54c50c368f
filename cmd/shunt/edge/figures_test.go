package edge

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// adminAsk returns what a machine answers at its admin address, on a connection of its own.
func (m *machine) adminAsk(path string) (status int, body string) {
	m.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(m.t, err)
	served := make(chan error, 1)
	go func() { served <- m.server.ServeAdmin(ln) }()
	resp, err := noRedirects.Get("http://" + ln.Addr().String() + path)
	expect.OK(m.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	expect.OK(m.t, err)
	expect.OK(m.t, ln.Close())
	<-served
	return resp.StatusCode, string(text)
}

// TestAnEdgeSaysInItsMetricsWhatItIs: an edge of a writer sends no series of a leader, of whose absence an alert pages
// people, and says that it is stale where /readyz says so.
func TestAnEdgeSaysInItsMetricsWhatItIs(t *testing.T) {
	w := newWriter(t)
	secret, _ := w.token("frankfurt")
	e := newEdge(t, w.address, secret)
	e.startEdge()
	samples := regexp.MustCompile(`(?m)^shunt_cluster_(?:role|stale)\b.*$`)
	says := func(stale, line string) {
		t.Helper()
		until(t, "it says "+line, func() bool {
			status, body := e.adminAsk("/readyz")
			return status == http.StatusOK && strings.HasPrefix(body, line) && strings.Contains(body, "stale") == (stale == "1")
		})
		_, body := e.adminAsk("/metrics")
		expect.Slices(t, samples.FindAllString(body, -1), []string{`shunt_cluster_role{role="edge"} 1`, "shunt_cluster_stale " + stale}, "with "+line)
	}
	says("0", "ready\n")
	w.stop()
	of := strings.TrimPrefix(e.node.settings.Of, "http://")
	e.stop()
	e.node = e.newNode(of)
	e.node.catchingUp.Patience = 0
	e.startEdge()
	says("1", "ready, ")
	w.start()
	says("0", "ready\n")
	_, body := w.adminAsk("/metrics")
	expect.That(t, !slices.ContainsFunc(strings.Split(body, "\n"), samples.MatchString), "a writer has metrics of a cluster")
}
