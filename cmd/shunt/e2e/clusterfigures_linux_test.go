package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/engine/expect"
)

// TestFiguresOfACluster measures writes, their replication, and the memory of etcd: three nodes, three
// servers of etcd and the clients share the machine. It runs for SHUNTTEST_FIGURES seconds each (make cluster-figures).
func TestFiguresOfACluster(t *testing.T) {
	during := figureSeconds(t)
	s := newSiteOn(t, siteOptions{etcd: shippedEtcd}, "a", "b", "c")
	leader := s.leader()
	follower := s.without(leader)[0]
	for _, at := range []struct {
		what    string
		node    *siteNode
		writers int
	}{{"at the leader", leader, 1}, {"at the leader", leader, 128}, {"at a follower", follower, 128}} {
		n, took := s.load(at.node, at.writers, 0, during)
		t.Logf("%3d writers %s: %.0f writes/s, p50 %v, p99 %v", at.writers, at.what, float64(n)/during.Seconds(), took(0.5), took(0.99))
		for _, m := range s.etcd.Members {
			t.Logf("    a server of etcd has %.0f MiB (at most %.0f)", memoryOf(t, m.PID(), "VmRSS"), memoryOf(t, m.PID(), "VmHWM"))
		}
	}
	var lags []time.Duration
	var wg sync.WaitGroup
	wg.Go(func() {
		n, took := s.load(leader, 64, 1000, during)
		t.Logf("beside: %.0f writes/s, p50 %v, p99 %v", float64(n)/during.Seconds(), took(0.5), took(0.99))
	})
	for begun := time.Now(); time.Since(begun) < during; time.Sleep(20 * time.Millisecond) {
		lags = append(lags, s.lagOf(leader, follower, fmt.Sprintf("lag-%d", len(lags))))
	}
	wg.Wait()
	slices.Sort(lags)
	t.Logf("%d links visible at a follower after their answer at the leader: p50 %v, p99 %v", len(lags), lags[len(lags)/2], lags[len(lags)*99/100])
	s.alike()
}

// load makes links at a node by a number of writers, at a rate a second in all (0: as fast as they can),
// and returns how many, and a function that returns quantiles of what one took.
func (s *site) load(n *siteNode, writers, rate int, during time.Duration) (made int64, took func(quantile float64) time.Duration) {
	c := &fasthttp.HostClient{Addr: strings.TrimPrefix(n.url, "http://"), MaxConns: writers}
	defer c.CloseIdleConnections()
	var mu sync.Mutex
	var all []time.Duration
	var done atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	for w := range writers {
		wg.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.Header.SetMethod("POST")
			req.SetRequestURI(n.url + "/api/v1/shorten")
			req.Header.SetContentType("application/json")
			req.Header.Set("Authorization", "Bearer "+s.token)
			var mine []time.Duration
			for i := 0; time.Since(begun) < during; i++ {
				if rate > 0 {
					due := begun.Add(time.Duration(i*writers+w) * time.Second / time.Duration(rate))
					time.Sleep(time.Until(due))
				}
				req.SetBodyString(fmt.Sprintf(`{"url":"https://example.com/some/page?writer=%d&n=%d"}`, w, i))
				sent := time.Now()
				if err := c.Do(req, resp); err != nil || resp.StatusCode() != 201 {
					s.t.Errorf("a write: status %d, %v: %s", resp.StatusCode(), err, resp.Body())
					return
				}
				mine = append(mine, time.Since(sent))
				done.Add(1)
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	wg.Wait()
	slices.Sort(all)
	return done.Load(), func(q float64) time.Duration {
		if len(all) == 0 {
			return 0
		}
		return all[min(len(all)-1, int(q*float64(len(all))))].Round(10 * time.Microsecond)
	}
}

// lagOf makes a link at one node, and returns how long after its answer another node redirects it.
func (s *site) lagOf(made, seen *siteNode, alias string) time.Duration {
	made.call("POST", "/shorten", map[string]any{"url": "https://example.com/", "alias": alias}).want(s.t, 201)
	answered := time.Now()
	for {
		if status, _, _ := seen.redirect(alias); status == 302 {
			return time.Since(answered)
		}
		expect.MustThat(s.t, time.Since(answered) <= 10*time.Second, "%s is not at %s after 10 s", alias, seen.name)
	}
}
