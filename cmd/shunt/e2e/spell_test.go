package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A spell is what the clients saw while the disk was in one state.
type spell struct {
	name                     string
	redirects, paced         latencies // paced: from when a request was due, so that requests that could not be sent count
	creates, reads, newConns latencies
	longestGap               atomic.Int64 // between two answers to redirects

	mu       sync.Mutex
	outcomes map[string]int // of creates: 201, or the problem's code
	refused  map[string]int // reads with another status than 200
}

func newSpell(name string) *spell {
	return &spell{name: name, outcomes: map[string]int{}, refused: map[string]int{}}
}

func (s *spell) count(m map[string]int, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m[what]++
}

// summary logs a table of what the clients saw.
func (l *sickLoad) summary(title string, lines ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%-34s  %9s  %9s  %9s  %9s  %9s\n", title, "", "answered", "p50", "p99", "p99.9", "slowest")
	for _, s := range []*spell{l.well, l.sick} {
		row := func(what string, of *latencies) {
			if of.n > 0 {
				fmt.Fprintf(&b, "%-34s  %v\n", s.name+": "+what, of)
			}
		}
		row("redirects, closed loop", &s.redirects)
		row(fmt.Sprintf("redirects, %d/s", pacedRate), &s.paced)
		row("creates", &s.creates)
		row("statistics", &s.reads)
		row("redirects, new connections", &s.newConns)
		fmt.Fprintf(&b, "%-34s  %v\n", s.name+": longest without a redirect", rounded(time.Duration(s.longestGap.Load())))
		fmt.Fprintf(&b, "%-34s  %s\n", s.name+": creates", counts(s.outcomes))
		if len(s.refused) > 0 {
			fmt.Fprintf(&b, "%-34s  %s\n", s.name+": statistics not answered", counts(s.refused))
		}
	}
	for _, line := range lines {
		fmt.Fprintln(&b, line)
	}
	l.t.Logf("\n%s", &b)
}

func counts(m map[string]int) string {
	var texts []string
	for _, what := range slices.Sorted(maps.Keys(m)) {
		texts = append(texts, fmt.Sprintf("%d × %s", m[what], what))
	}
	return strings.Join(texts, ", ")
}
