package node

import (
	"fmt"
	"testing"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// TestOnlyANodeWithTheLogsHistoryOffersItsHits: a link of another history may have the id of another one.
func TestOnlyANodeWithTheLogsHistoryOffersItsHits(t *testing.T) {
	for err, want := range map[error]bool{
		clusterlog.ErrNewerVersion: true, clusterlog.ErrBelowFloor: false, // it takes a copy
		clusterlog.ErrAhead: false, clusterlog.ErrDiverged: false, clusterlog.ErrForeignLog: false, nil: false,
	} {
		wrapped := err
		if err != nil {
			wrapped = fmt.Errorf("cluster: %w", err)
		}
		expect.Equal(t, mayOffer(wrapped), want, "%v", err)
	}
}
