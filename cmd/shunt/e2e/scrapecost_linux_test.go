package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"shunt/bench"
	"shunt/engine/expect"
)

// Settings of TestAScrapeCostsRedirectsNothing.
const (
	scrapeVariable        = "SHUNTTEST_SCRAPE"         // the data folder, made by make big-store; empty: one link, and a short run
	scrapeLinksVariable   = "SHUNTTEST_SCRAPE_LINKS"   // that make big-store was told
	scrapePairsVariable   = "SHUNTTEST_SCRAPE_PAIRS"   // of windows of redirects
	scrapeSecondsVariable = "SHUNTTEST_SCRAPE_SECONDS" // of each window
	scrapeInterval        = time.Second
)

// TestAScrapeCostsRedirectsNothing measures scrapes one after the other, and redirects with and
// without one scrape a second. It logs both; make scrape-cost runs it on a big store.
func TestAScrapeCostsRedirectsNothing(t *testing.T) {
	dir, pairs, length, rate, scrapes := os.Getenv(scrapeVariable), 1, shortWindow, shortRate, 10
	big := dir != ""
	if big {
		pairs, length, rate, scrapes = int(numberOf(t, scrapePairsVariable, 6)), time.Duration(numberOf(t, scrapeSecondsVariable, 10))*time.Second, openLoopRate, 200
	} else {
		dir = t.TempDir() + "/data"
	}
	p := startServer(t, dir, behindProxy()...)
	r := &redirectLoad{t: t, server: p, rate: rate, length: length}
	if big {
		r.codes = hitCodesOf(&bench.BigStore{Links: uint64(numberOf(t, scrapeLinksVariable, 1_000_000))})
	} else {
		r.prepare()
	}
	for _, accept := range []string{"text/plain", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"} {
		logScrapes(t, p, accept, scrapes)
	}
	var ratios, without, with []float64
	for range pairs {
		alone := r.measure(func() func() { return func() {} })
		r.row("without scrapes", alone)
		beside := r.measure(func() func() { return scrapeEachSecond(t, p) })
		r.row("with one scrape a second", beside)
		a, b := milliseconds(&alone.took), milliseconds(&beside.took)
		without, with, ratios = append(without, a), append(with, b), append(ratios, b/a)
	}
	t.Logf("\n%-28s %9s %9s %9s %9s %9s  %s\n%s\nmedians of %d pairs: p99 %.3f ms without scrapes, %.3f ms with them: %.2f times",
		fmt.Sprintf("%d redirects/s", rate), "n", "p50", "p99", "p99.9", "slowest", "cores of the server", &r.table,
		pairs, median(without), median(with), median(ratios))
	p.terminate()
}

// hitCodesOf returns what draws codes of links of s that redirect, by the distribution of s.
func hitCodesOf(s *bench.BigStore) func(client int) func() string {
	return func(client int) func() string {
		zipf := rand.NewZipf(rand.New(rand.NewPCG(2, uint64(client))), 1.1, 1, 49_999)
		return func() string {
			for {
				if i := s.Ranked(zipf.Uint64()); s.Redirects(i) {
					return bench.BigCode(i)
				}
			}
		}
	}
}

// scrape reads the metrics as Prometheus does, and returns how many bytes they have.
func scrape(p *process, accept string) (n int, err error) {
	r, err := try(http.DefaultTransport, "GET", p.admin+"/metrics", "", "Accept", accept)
	if err == nil && (r.StatusCode != http.StatusOK || !strings.Contains(r.text, "shunt_redirect_duration_seconds")) {
		err = fmt.Errorf("%s: %.200s", r.Status, r.text)
	}
	return len(r.text), err
}

// logScrapes scrapes n times, one after the other, and logs how long that took.
func logScrapes(t *testing.T, p *process, accept string, n int) {
	t.Helper()
	took, size := new(latencies), 0
	before := p.processorTime(t)
	for range n {
		start := time.Now()
		var err error
		if size, err = scrape(p, accept); err != nil {
			t.Fatal(err)
		}
		took.add(time.Since(start))
	}
	used := (p.processorTime(t) - before) / time.Duration(n)
	t.Logf("%d scrapes of %d bytes (%.20s…): p50 %v, p99 %v, slowest %v; %v of processor time each", n, size, accept,
		rounded(took.percentile(0.5)), rounded(took.percentile(0.99)), rounded(took.slowest), rounded(used))
}

// scrapeEachSecond begins to scrape once a second, at once at first. end waits for the last one.
func scrapeEachSecond(t *testing.T, p *process) (end func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(scrapeInterval)
		defer tick.Stop()
		for {
			expect.NoError(t, expect.Err(scrape(p, "text/plain")))
			select {
			case <-over:
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(over)
		<-ended
	}
}
