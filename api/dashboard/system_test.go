package dashboard

import (
	"strings"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestTheSummaryNamesWhatWentWrongSinceTheStart(t *testing.T) {
	for want, m := range map[string]engine.Metrics{
		"1 write of figures has failed since the start. ":                                              {FlushErrors: 1},
		"2 writes of figures have failed since the start. ":                                            {FlushErrors: 2},
		"1 hit could not be kept for the disk":                                                         {HitsMissing: 1},
		"6 details of hits (visitors, ":                                                                {VisitorsDropped: 1, ValuesDropped: 2, ReferrersRefused: 3},
		"1 write of figures was too large":                                                             {FlushesReduced: 1},
		"The server's clock jumped ahead by about 500 days, and showed 9 April 2028, 05:06 UTC then. ": {ClockJumpAt: time.Date(2028, 4, 9, 5, 6, 0, 0, time.UTC), ClockJumpBy: 500 * 24 * time.Hour},
		"The server's clock jumped back by about 40 days":                                              {ClockJumpBy: -40 * 24 * time.Hour},
		"3 files of the journal could not be recovered whole ":                                         {JournalMissing: 3},
	} {
		got := problemsSince(&m)
		expect.That(t, len(got) == 1 && strings.HasPrefix(got[0], want), "got %q, want one that begins with %q", got, want)
	}
	got := problemsSince(&engine.Metrics{Flushes: 9, ClockJumpBy: time.Hour})
	expect.That(t, got == nil, "all is well: got %q", got)
}

func TestDurationsHaveTheUnitThatSuitsThem(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0 s", 0.00005: "50 µs", 0.25: "250.0 ms", 119: "119.0 s", 150: "2 min", 3600: "1 h", 5400: "1 h 30 min", 86400: "1 d",
		100_000: "1 d 3 h", 34_560_000: "400 d",
	} {
		expect.Equal(t, seconds(n), want, "%v s", n)
	}
}
