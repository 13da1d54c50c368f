package hit

import (
	"testing"

	"shunt/engine/expect"
	"shunt/engine/journal"
	"shunt/engine/tally"
)

func TestAFullPairStillCountsItsEntries(t *testing.T) {
	p := pair{limit: 5}
	for _, c := range []struct {
		link  uint64
		owner uint32
		kept  bool
	}{
		{1, 1, true}, {2, 2, true}, // four entries; there may not be room for two more
		{1, 1, true}, {2, 1, true}, {3, 1, false}, {1, 3, false}, {3, 3, false},
	} {
		expect.Equal(t, p.add(&journal.Record{LinkID: c.link, Owner: c.owner}, countedHours{}), c.kept, "link %d of owner %d: kept", c.link, c.owner)
	}
	var l, o tally.Tally
	p.links.AddTo(1, 0, nil, &l)
	p.owners.AddTo(1, 0, nil, &o)
	if l.Hits != 3 || o.Hits != 4 || p.entries() != 4 {
		t.Errorf("%d and %d hits, %d entries", l.Hits, o.Hits, p.entries())
	}
	p.reset()
	expect.That(t, p.empty() && p.add(&journal.Record{LinkID: 3, Owner: 3}, countedHours{}), "there is no room after a reset")
}

func TestAVoidRecordCountsNothing(t *testing.T) {
	p := pair{limit: 16}
	if !p.add(&journal.Record{Void: true}, countedHours{}) || !p.empty() {
		t.Errorf("it takes %d entries of the deltas", p.entries())
	}
}
