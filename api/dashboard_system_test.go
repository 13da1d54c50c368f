package api

import (
	"regexp"
	"strings"
	"testing"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/engine/expect"
)

func TestTheSystemPageHasEveryMetric(t *testing.T) {
	st := newSite(t, func(o *Options) {
		o.Metrics.Store = func() admin.Storage {
			return admin.Storage{Values: map[string]float64{"disk_bytes": 3 << 20, "log_disk_bytes": 1 << 20, "ballast_bytes": 4 << 20, "free_bytes": 9 << 20, "compactions_total": 1234}}
		}
		o.Metrics.Store = withBatches(o.Metrics.Store)
	})
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.shorten(`{"url":"http://a/","alias":"x"}`)
	st.get("/x", browser)
	st.get("/none")
	st.get("/_/nothing")
	p := b.open("/_/system")
	shown := map[string]bool{}
	for n := range p.doc.Descendants() {
		if name := attribute(n, "data-metric"); name != "" {
			shown[name] = true
		}
	}
	metrics := send(t, st.adminAt, "GET", requestText("GET", "/metrics", "")).body
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(metrics, -1) {
		expect.That(t, shown[m[1]], "the page does not show %s", m[1])
		delete(shown, m[1])
	}
	expect.That(t, len(shown) == 0, "the page shows what is not a metric: %v", shown)
	p.want("Everything works.", "Data on disk About ", "in all: tables 2.0 MiB, log of writes with the room reserved for it 1.0 MiB, journal of hits ",
		", reserve for a full disk 4.0 MiB. Free on the disk: 5.0 MiB", "Version test (running since ")
	p.want("Short addresses begin with http://127.0.0.1:8080", "Links, expired ones too 1 ", "unknown code: 1",
		"Disk space of the tables and the log of writes 3.0 MiB", "Merges of files 1,234", "Batches, and changes in each 4, 2.8 on average", "shunt: test",
		"Read-only because the disk is almost full no", "Everything up to this time is on disk 2026-01-02 03:04 UTC", "index of codes:", " bots: 0 prefetches of browsers, which are not redirected: 0")
}

// withBatches adds a histogram that is not of durations.
func withBatches(store func() admin.Storage) func() admin.Storage {
	return func() admin.Storage {
		s := store()
		s.Histograms = map[string]admin.Buckets{"commit_mutations": {Bounds: []float64{1, 2}, Counts: []uint64{1, 1, 2}, Sum: 11}}
		return s
	}
}

func TestEachMetricOfTheServerHasWords(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	groups, err := st.metrics.Facts()
	expect.OK(t, err)
	for _, g := range groups {
		for _, f := range g.Facts {
			expect.That(t, (!strings.HasPrefix(f.Metric, "shunt_") || g.Title != "Other metrics") && f.Words != "",
				"%s has no words in the table", f.Metric)
		}
	}
	b.open("/_/system")
}

func TestTheSystemPageSaysWhatIsNotWell(t *testing.T) {
	st := newSite(t, nil)
	b := st.browseAs("owner@example.com", account.RoleAdmin)
	st.now.Add(60 * 60_000) // the time between two writes
	b.open("/_/system").want("Everything works.")
	st.now.Add(2 * 60_000)
	p := b.open("/_/system")
	p.want("Needs attention", "Figures were not written to the disk for 1h2m0s.", "Check the disk and the server's log.")
	expect.That(t, !strings.Contains(p.text(), "Everything works"), "got %s", p.text())
}
