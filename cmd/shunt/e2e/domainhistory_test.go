package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shunt/engine/expect"
)

// TestRacingWritersOfThreeDomainsHaveOneOrder has 64 clients that create, change, delete, read and follow links of
// equal codes in three domains, while the server is killed and started again. Nobody may ever see the target of another
// domain, and the writes of each code must have one order, in which all that was acknowledged is there.
func TestRacingWritersOfThreeDomainsHaveOneOrder(t *testing.T) {
	const clients = 64
	operations, kills := int(numberOf(t, "SHUNTTEST_OPERATIONS", 3_000)), 0
	var done atomic.Int64
	killed := make(chan struct{}) // closed after the first kill
	p := startServer(t, t.TempDir(), "--limit-misses", "off", "--limit-calls", "off")
	token := p.token("admin", "links:read", "links:write")
	var server atomic.Pointer[process]
	server.Store(p)
	requests := &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: clients}, Timeout: 10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	call := func(method, path string, body any, fields ...string) answer {
		return callOf(requests, server.Load().public, token, method, path, body, fields...)
	}
	redirect := func(domain, code string) (int, string, error) {
		return redirectOf(requests, server.Load().public, domain, code)
	}
	for _, host := range historyDomains[1:] {
		call("POST", "/domains", map[string]any{"host": host}).want(t, 201)
	}
	h := newHistory()
	client := func(c int) {
		rng := rand.New(rand.NewPCG(uint64(c), 11))
		for i := 0; i < operations/clients+1; {
			in := drawInput(rng, max(20, operations/400), c, i)
			begun := h.now()
			out, answered := historyOp(in, call, redirect)
			if !answered {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			h.add(c, "", in, out, begun, h.now())
			i++
			if done.Add(1) > int64(operations/2) {
				<-killed // a fast machine would be done before the server is killed
			}
		}
	}
	stop := make(chan struct{})
	var killing, working sync.WaitGroup
	killing.Go(func() {
		for done.Load() < int64(operations/4) {
			time.Sleep(time.Millisecond)
		}
		for {
			p := server.Load()
			p.kill()
			server.Store(startServer(t, p.dir, "--limit-misses", "off", "--limit-calls", "off"))
			if kills++; kills == 1 {
				close(killed)
			}
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	for c := range clients {
		working.Go(func() { client(c) })
	}
	working.Wait()
	close(stop)
	killing.Wait()
	h.check(t, operations, fmt.Sprintf("%d kills", kills))
	expect.That(t, kills > 0, "the server was not killed")
	requests.CloseIdleConnections()
	server.Load().terminate()
	r := shunt(t, "", nil, "check", "--data", p.dir)
	expect.Equal(t, r.code, 0, "check: %s%s", r.stdout, r.stderr)
}
