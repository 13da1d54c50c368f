package replica

import (
	"context"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// deadLog elects leaders, and then does not answer.
type deadLog struct{ *memLog }

type deadLeadership struct{ clusterlog.Leadership }

func (l deadLog) Campaign(ctx context.Context, candidate string) (clusterlog.Leadership, error) {
	won, err := l.memLog.Campaign(ctx, candidate)
	if err != nil {
		return nil, err
	}
	return deadLeadership{won}, nil
}

func (deadLeadership) Append(ctx context.Context, _ clusterlog.BatchID, _, _ []byte) (clusterlog.Position, error) {
	<-ctx.Done()
	return clusterlog.Position{}, clusterlog.ErrUnknownOutcome
}

// TestAStopDoesNotWaitForALogThatIsGone stops a node that lost its leadership while a write was under way,
// and the log does not answer. The write's outcome is unknown; the stop must end all the same.
func TestAStopDoesNotWaitForALogThatIsGone(t *testing.T) {
	t.Parallel()
	id := clusterlog.NewID()
	log := newMemLog(id)
	m := newMembers(t, log, id, "a")[0]
	m.stop()
	m.start(deadLog{log})
	eventually(t, "the node leads", m.replica.Leads)
	outcome := make(chan error, 1)
	go func() {
		_, err := m.store.AllocateIDs(10)
		outcome <- err
	}()
	time.Sleep(50 * time.Millisecond) // it is under way
	log.depose()
	m.stop()
	expect.Error(t, <-outcome, engine.ErrOutcomeUnknown, "the write")
}
