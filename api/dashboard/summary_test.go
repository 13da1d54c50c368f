package dashboard

import (
	"strings"
	"testing"

	"shunt/engine"
)

func TestTheSummaryNamesWhatWentWrongSinceTheStart(t *testing.T) {
	for want, m := range map[string]engine.Metrics{
		"1 write of figures has failed since the start. ":      {FlushErrors: 1},
		"2 writes of figures have failed since the start. ":    {FlushErrors: 2},
		"1 hit could not be kept for the disk":                 {HitsMissing: 1},
		"6 details of hits (visitors, ":                        {VisitorsDropped: 1, ValuesDropped: 2, ReferrersRefused: 3},
		"1 write of figures was too large":                     {FlushesReduced: 1},
		"3 files of the journal could not be recovered whole ": {JournalMissing: 3},
	} {
		if got := problemsSince(&m); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("got %q, want one that begins with %q", got, want)
		}
	}
	if got := problemsSince(&engine.Metrics{Flushes: 9}); got != nil {
		t.Errorf("all is well: got %q", got)
	}
}
