package e2e

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"shunt/cmd/shunt/certs/certtest"
	"shunt/engine/expect"
)

// Restarts of a server whose socket is held by somebody else, as systemd does for a socket unit: here
// by the test. Clients go on all the time. Not one of their redirects may fail or be wrong; `make
// restart-test N=100` restarts often.

const (
	restartTestVariable = "SHUNTTEST_RESTARTTEST" // how many restarts
	restartLinks        = 50
	latestRestart       = 500 * time.Millisecond // after the server before was ready
)

func TestRestartsBehindASocketFailNoRequest(t *testing.T) {
	byDefault := uint64(4)
	if testing.Short() {
		byDefault = 2
	}
	n := int(numberOf(t, restartTestVariable, byDefault))
	seed := numberOf(t, seedVariable, rand.Uint64())
	t.Logf("%s=%d %s=%d", restartTestVariable, n, seedVariable, seed)
	overTLS := max(1, n/4)
	t.Run("plain", func(t *testing.T) { newRestarts(t, seed, false).run(n - overTLS) })
	t.Run("TLS", func(t *testing.T) { newRestarts(t, seed, true).run(overTLS) })
}

// restarts are a server that is restarted, and its clients.
type restarts struct {
	t       *testing.T
	dir     string
	args    []string
	socket  *os.File // held over all restarts
	address string
	tls     *tls.Config // nil: plain HTTP
	random  *rand.Rand
	server  *process
	token   string
	book    restartBook

	stops, starts []time.Duration // how long they took
}

func newRestarts(t *testing.T, seed uint64, overTLS bool) *restarts {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	socket, err := ln.(*net.TCPListener).File()
	expect.OK(t, err)
	t.Cleanup(func() { _, _ = ln.Close(), socket.Close() })
	r := &restarts{
		t: t, dir: filepath.Join(t.TempDir(), "data"), socket: socket, address: ln.Addr().String(), random: rand.New(rand.NewPCG(seed, 0)),
		args: []string{"--base-url", "https://sho.rt", "--private-targets", "allow", "--limit-creates", "off"},
	}
	if overTLS {
		a := certtest.NewAuthority(t)
		certPEM, keyPEM := a.Issue()
		files := certtest.NewFolder(t, certPEM, keyPEM)
		r.args = append(r.args, "--tls-cert", files.Cert, "--tls-key", files.Key)
		r.tls = &tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1"}
	}
	r.start("auto")
	r.token = r.server.waitReady().token()
	for i := range restartLinks {
		r.createLink(i)
	}
	return r
}

// start starts a server behind the socket, and does not wait for it.
func (r *restarts) start(front string) {
	pass := []string{"sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=public exec "$@"`, "sh"}
	r.server = launchProgram(r.t, binary, []*os.File{r.socket}, pass, r.dir, append([]string{"--front", front}, r.args...)...)
}

func (r *restarts) createLink(i int) {
	r.t.Helper()
	body := fmt.Sprintf(`{"url":"http://target/%d","alias":"restart-%d"}`, i, i)
	got := r.api("POST", "/shorten", body)
	expect.MustEqual(r.t, got.StatusCode, 201, "creating a link %s", got.text)
}

// api sends a call of the API on a new connection.
func (r *restarts) api(method, path, body string) reply {
	r.t.Helper()
	scheme := "http://"
	if r.tls != nil {
		scheme = "https://"
	}
	by := &http.Transport{DisableKeepAlives: true, TLSClientConfig: r.tls}
	got, err := try(by, method, scheme+r.address+"/api/v1"+path, body, withToken(r.token)...)
	expect.OK(r.t, err)
	return got
}

// run restarts the server n times, by one door after the other, while clients follow links.
func (r *restarts) run(n int) {
	var clients sync.WaitGroup
	over := make(chan struct{})
	for i, ask := range restartClients {
		c := &restartClient{r: r, random: rand.New(rand.NewPCG(r.random.Uint64(), uint64(i))), ask: ask}
		clients.Go(func() { c.run(over) })
	}
	for i := range n {
		time.Sleep(time.Duration(r.random.Int64N(int64(latestRestart))))
		begun := time.Now()
		r.server.terminate()
		stopped := time.Now()
		r.start([]string{"fasthttp", "auto"}[i%2])
		r.server.waitReady()
		r.stops, r.starts = append(r.stops, stopped.Sub(begun)), append(r.starts, time.Since(stopped))
		if r.t.Failed() {
			break
		}
	}
	time.Sleep(latestRestart)
	close(over)
	clients.Wait()
	r.server.terminate()
	r.start("auto") // the hits of those that stopped are in the store
	r.server.waitReady()
	r.compare()
	r.server.terminate()
	if r.book.report(r.t, n); r.t.Failed() {
		return
	}
	slices.Sort(r.stops)
	slices.Sort(r.starts)
	r.t.Logf("a stop took %v (median; longest %v), a start until ready %v (longest %v)",
		r.stops[n/2].Round(time.Millisecond), r.stops[n-1].Round(time.Millisecond),
		r.starts[n/2].Round(time.Millisecond), r.starts[n-1].Round(time.Millisecond))
}

// compare compares all hits with the answers. Requests that were sent twice may count twice.
func (r *restarts) compare() {
	var hits int
	for i := range restartLinks {
		answer := r.api("GET", fmt.Sprintf("/stats/restart-%d", i), "")
		var got struct{ Hits int }
		expect.MustThat(r.t, json.Unmarshal([]byte(answer.text), &got) == nil && answer.StatusCode == 200,
			"stats: got %d %s", answer.StatusCode, answer.text)
		hits += got.Hits
	}
	b := &r.book
	expect.That(r.t, hits >= b.answered && hits <= b.answered+b.again+b.unanswered,
		"the links have %d hits; %d redirects were answered, %d were asked for again", hits, b.answered, b.again+b.unanswered)
}

// A restartBook is what clients saw. It is complete once they have ended.
type restartBook struct {
	mu         sync.Mutex
	answered   int           // right redirects
	again      int           // asked for again, because a kept connection closed without a byte of an answer
	unanswered int           // asked for again, because the answer before it in a pipeline ended the connection
	failed     int           // requests
	gap        time.Duration // the longest that a client waited for an answer
}

func (b *restartBook) note(update func(b *restartBook)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	update(b)
}

func (b *restartBook) report(t *testing.T, n int) {
	t.Logf("%d restarts: %d redirects answered, %d failed or wrong; %d asked for again after a kept connection closed without a byte, "+
		"%d after the last answer of a pipeline; the longest wait of a client was %v",
		n, b.answered, b.failed, b.again, b.unanswered, b.gap.Round(time.Millisecond))
	expect.That(t, b.answered >= 100*n, "%d redirects are not much of a load", b.answered)
}

// restartClients are the ways in which each of the clients asks.
var restartClients = []func(c *restartClient){
	(*restartClient).keep, (*restartClient).keep, (*restartClient).keep,
	(*restartClient).linger, (*restartClient).linger, (*restartClient).linger, (*restartClient).linger,
	(*restartClient).pipeline, (*restartClient).pipeline, (*restartClient).pipeline,
	(*restartClient).connect, (*restartClient).connect, (*restartClient).connect,
	(*restartClient).hesitate, (*restartClient).hesitate,
}

// burstOf is a request for each link.
func burstOf(links []int, closes bool) []byte {
	var b bytes.Buffer
	for _, link := range links {
		fmt.Fprintf(&b, "GET /restart-%d HTTP/1.1\r\nHost: sho.rt\r\n", link)
		if closes {
			b.WriteString("Connection: close\r\n")
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}
