package node

import (
	"fmt"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// TestANodeIsDrainedOnceItsOutboxStaysEmpty: hits that are not in it yet would be lost.
func TestANodeIsDrainedOnceItsOutboxStaysEmpty(t *testing.T) {
	d, now := drain{quiet: 3 * time.Second}, time.Unix(1_800_000_000, 0)
	for i, step := range []struct {
		first, next uint64
		want        bool
	}{
		{5, 9, false}, {9, 9, false}, {9, 9, false}, {9, 10, false}, {10, 10, false}, {11, 11, false}, // one came and went between two looks
		{11, 11, false}, {11, 11, false}, {11, 11, true}, {11, 11, false}, // it says so once
		{11, 12, false}, {12, 12, false}, {12, 12, false}, {12, 12, false}, {12, 12, true},
	} {
		expect.Equal(t, d.look(now, step.first, step.next), step.want, "step %d", i)
		now = now.Add(time.Second)
	}
}

// TestOnlyANodeWithTheLogsHistoryOffersItsHits: a link of another history may have the id of another one.
func TestOnlyANodeWithTheLogsHistoryOffersItsHits(t *testing.T) {
	for err, want := range map[error]bool{
		clusterlog.ErrBelowFloor: true, clusterlog.ErrNewerVersion: true,
		clusterlog.ErrAhead: false, clusterlog.ErrDiverged: false, clusterlog.ErrForeignLog: false, nil: false,
	} {
		wrapped := err
		if err != nil {
			wrapped = fmt.Errorf("cluster: %w", err)
		}
		expect.Equal(t, mayOffer(wrapped), want, "%v", err)
	}
}
