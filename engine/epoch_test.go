package engine_test

import (
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestANewHistoryKeepsFlushesAndHasNoRings(t *testing.T) {
	p := engine.Positions{Epoch: 7, FlushSeq: 3, Rings: []uint64{1, 2}}
	restored := engine.NewHistory(p)
	expect.That(t, restored.FlushSeq == p.FlushSeq && len(restored.Rings) == 0 && restored.Epoch != p.Epoch, "got %+v of %+v", restored, p)
	again := engine.NewHistory(restored)
	expect.That(t, again.Epoch != restored.Epoch && again.FlushSeq == p.FlushSeq, "a restore of a restored store: got %+v of %+v", again, restored)
}
