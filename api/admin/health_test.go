package admin

import (
	"strings"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestALoadSaysHowFarItIsInALine(t *testing.T) {
	number := func(n float64) *float64 { return &n }
	for want, h := range map[string]Health{
		"loading":                         {Status: StatusLoading, Progress: number(0)},
		"loading, 1 %":                    {Status: StatusLoading, Progress: number(0.019)},
		"loading, 43 %, about 7 s left":   {Status: StatusLoading, Progress: number(0.439), EstimateSeconds: number(7)},
		"loading, 9 %, about 179 s left":  {Status: StatusLoading, Progress: number(0.09), EstimateSeconds: number(179)},
		"loading, 9 %, about 4 min left":  {Status: StatusLoading, Progress: number(0.09), EstimateSeconds: number(181)},
		"draining":                        {Status: StatusDraining, Progress: number(0.5)},
		"refused":                         {Status: StatusRefused},
		"ready":                           {Status: StatusOK, Conditions: []Condition{{Name: "stalled", OK: true}}},
		"ready, a: One thing, b: Another": {Status: StatusOK, Conditions: []Condition{{Name: "a", Detail: "One thing. Do this."}, {Name: "b", Detail: "Another."}}},
	} {
		expect.Equal(t, h.Line(), want)
	}
}

var healthTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// well returns a server that is well, after change.
func well(change func(*healthNow)) *healthNow {
	h := &healthNow{
		ready: true, now: healthTime, up: time.Hour, metrics: engine.Metrics{ClockTrusted: true, LastFlush: healthTime, FlushInterval: time.Second},
		certificate: &Certificate{NotAfter: healthTime.AddDate(0, 0, 15)}, blocks: new(Blocks), memory: new(Memory),
		countries: new(CountryFile),
	}
	change(h)
	return h
}

func TestEachConditionIsSeenAlone(t *testing.T) {
	certificate := func(c Certificate) func(*healthNow) { return func(h *healthNow) { h.certificate = &c } }
	in := healthTime.Add
	for name, c := range map[string]struct {
		change func(*healthNow)
		wrong  string // names of conditions
	}{
		"all is well":                   {func(*healthNow) {}, ""},
		"no TLS, block list and limit":  {func(h *healthNow) { h.certificate, h.blocks, h.memory, h.countries = nil, nil, nil, nil }, ""},
		"stopping":                      {func(h *healthNow) { h.draining = true }, "draining"},
		"loading":                       {func(h *healthNow) { h.ready = false }, "loading"},
		"an edge that was revoked":      {func(h *healthNow) { h.refused = true }, "refused"},
		"a full disk":                   {func(h *healthNow) { h.readOnly = true }, "read_only"},
		"a stalled store":               {func(h *healthNow) { h.stalled = true }, "stalled"},
		"a stalled journal":             {func(h *healthNow) { h.metrics.JournalStandby = true }, "journal_standby"},
		"hits in memory only":           {func(h *healthNow) { h.metrics.JournalUnprotected = 1 }, "hits_unprotected"},
		"no flush for a minute":         {func(h *healthNow) { h.metrics.LastFlush = in(-61 * time.Second) }, ""},
		"no flush for longer":           {func(h *healthNow) { h.metrics.LastFlush = in(-62 * time.Second) }, "flush_late"},
		"no cluster, and no writer":     {func(h *healthNow) { h.cluster = nil }, ""},
		"an edge that hears its writer": {func(h *healthNow) { h.cluster = &Cluster{Role: "edge"} }, ""},
		"an edge that does not":         {func(h *healthNow) { h.cluster = &Cluster{Role: "edge", Stale: true} }, "stale"},
		"a node that was off":           {func(h *healthNow) { h.cluster = &Cluster{Role: "follower", CatchingUp: true} }, "catching_up"},
		"a full memory":                 {func(h *healthNow) { h.memory.Full = true }, "memory"},
		"an unreadable block list":      {func(h *healthNow) { h.blocks.Failing = true }, "block_list"},
		"no file of countries":          {func(h *healthNow) { h.countries.Failing = true }, "countries"},
		"a clock that jumped":           {func(h *healthNow) { h.metrics.ClockTrusted = false }, "clock"},
		"a clock after a start":         {func(h *healthNow) { h.metrics.ClockTrusted, h.up = false, clockSettled }, ""},
		"a certificate of a week":       {certificate(Certificate{NotAfter: in(7 * 24 * time.Hour)}), "certificate"},
		"a renewed one of a week":       {certificate(Certificate{NotAfter: in(7 * 24 * time.Hour), ACME: true, State: ACMEValid}), ""},
		"one that is not renewed":       {certificate(Certificate{NotAfter: in(time.Hour), ACME: true, State: ACMEFailing}), "certificate"},
		"an expired one":                {certificate(Certificate{NotAfter: in(0), ACME: true, State: ACMEValid}), "certificate"},
		"none as yet":                   {certificate(Certificate{ACME: true, State: ACMEWaiting}), ""},
		"none at all":                   {certificate(Certificate{ACME: true, State: ACMEFailing}), "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			now := well(c.change)
			var wrong []string
			for _, row := range conditions {
				detail := row.look(now)
				if detail == "" {
					continue
				}
				wrong = append(wrong, row.name)
				expect.That(t, strings.HasSuffix(detail, "."), "%s: %q is not a sentence", row.name, detail)
			}
			expect.Equal(t, strings.Join(wrong, " "), c.wrong)
		})
	}
}

func TestEveryNameOfAConditionIsInTheContract(t *testing.T) {
	const contract = "draining loading catching_up refused read_only stalled journal_standby hits_unprotected stale flush_late memory certificate block_list countries clock"
	var names []string
	for _, c := range conditions {
		names = append(names, c.name)
	}
	expect.Equal(t, strings.Join(names, " "), contract)
}
