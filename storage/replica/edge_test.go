package replica

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// TestANodeThatNeverLeadsFollows lets a node alone that never leads, then beside one that leads and is
// deposed again and again. It has all links, is never elected, and stops at once.
func TestANodeThatNeverLeadsFollows(t *testing.T) {
	id := clusterlog.NewID()
	log := newMemLog(id)
	quiet := slog.New(slog.DiscardHandler)
	edge := newMembersWith(t, log, id, Options{NeverLeads: true, Logger: quiet}, "edge")[0]
	time.Sleep(50 * time.Millisecond)
	log.mu.Lock()
	expect.Equal(t, log.epoch, 0, "a node that never leads was elected")
	log.mu.Unlock()
	full := newMembers(t, log, id, "full")[0]
	for i := range 30 {
		if i%5 == 4 {
			log.depose()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		for {
			_, _, err := full.engine.Create(ctx, engine.Draft{Target: "https://example.com/", Alias: fmt.Sprintf("link-%d", i), Owner: 1})
			if err == nil {
				break
			}
			expect.MustThat(t, ctx.Err() == nil, "%v", err)
			time.Sleep(time.Millisecond)
		}
		cancel()
		expect.MustThat(t, !edge.replica.Leads(), "it leads")
	}
	caughtUp(t, log, []*member{edge, full})
	got, want := len(linksOf(edge)), len(linksOf(full))
	expect.That(t, got == want && got == 30, "it has %d links, the leader %d, want 30", got, want)
	full.stop()
	stopped := time.Now()
	edge.stop()
	took := time.Since(stopped)
	expect.That(t, took <= 5*time.Second, "it took %v to stop", took)
}
