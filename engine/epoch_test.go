package engine_test

import (
	"testing"

	"shunt/engine"
)

func TestANewHistoryKeepsFlushesAndHasNoRings(t *testing.T) {
	p := engine.Positions{Epoch: 7, FlushSeq: 3, Rings: []uint64{1, 2}}
	restored := engine.NewHistory(p)
	if restored.FlushSeq != p.FlushSeq || len(restored.Rings) != 0 || restored.Epoch == p.Epoch {
		t.Errorf("got %+v of %+v", restored, p)
	}
	if again := engine.NewHistory(restored); again.Epoch == restored.Epoch || again.FlushSeq != p.FlushSeq {
		t.Errorf("a restore of a restored store: got %+v of %+v", again, restored)
	}
}
