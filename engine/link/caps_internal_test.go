package link

import (
	"testing"

	"shunt/engine/caps"
)

// TestTheLeaderRemembersOnlyEndingsThatItWaitsFor: a node may say anything.
func TestTheLeaderRemembersOnlyEndingsThatItWaitsFor(t *testing.T) {
	e := new(Links)
	e.options.CapNode = caps.NodeID{1}
	e.caps.init(new(caps.Table))
	e.caps.table.Init(e.options.CapNode, 1)
	e.caps.put([]CapChange{{ID: 1, Cap: caps.Closed("closed", 3, 10)}, {ID: 2, Cap: caps.New("open", 1, 10, 0, nil)}})
	m := caps.Message{Node: caps.NodeID{2}, Session: 1, Serial: 1, Reports: []caps.Report{
		{ID: 1, Generation: 3, Ended: true, Position: 7}, {ID: 1, Generation: 9, Ended: true}, {ID: 2, Generation: 1, Ended: true}, {ID: 99, Generation: 1, Ended: true},
	}}
	e.hear(&m)
	if got := e.caps.mu.ended; len(got) != 1 || got[1].generation != 3 || got[1].at[m.Node] != 7 {
		t.Errorf("it remembers %v", got)
	}
	e.caps.put([]CapChange{{ID: 1, Gone: true}})
	if found := e.endedByAll(nil, nil); len(found) != 0 || len(e.caps.mu.ended) != 0 {
		t.Errorf("without a cap, %v is to be opened, and it remembers %v", found, e.caps.mu.ended)
	}
}
