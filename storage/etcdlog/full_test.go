package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// The append that passes the quota is executed, and answered with "no space". Those after it are
// refused.
func TestAppendsToFullServersAreWrittenOnceOrNotAtAll(t *testing.T) {
	s := newSite(t, 1, "--quota-backend-bytes", "8388608")
	l := s.open()
	r := s.lead(l, "a")
	payload := bytes.Repeat([]byte("x"), 250_000)
	written := 0
	var failed error
	for written < 100 {
		p, err := r.Append(within(t), clusterlog.NewBatchID(), payload, nil)
		if err != nil {
			failed = err
			break
		}
		if written++; p.Sequence != uint64(written) {
			t.Fatalf("entry %d is at %v", written, p)
		}
	}
	expect.That(t, errors.Is(failed, clusterlog.ErrNoSpace) && !errors.Is(failed, clusterlog.ErrUnknownOutcome),
		"after %d entries: %v, want %v, and no doubt", written, failed, clusterlog.ErrNoSpace)
	for range 2 {
		_, err := r.Append(within(t), clusterlog.NewBatchID(), payload, nil)
		expect.Error(t, err, clusterlog.ErrNoSpace, "again")
	}
	found := s.all(l)
	expect.That(t, len(found) == written, "the log has %d entries; %d were acknowledged", len(found), written)
	status, err := l.Status(within(t))
	use := status.QuotaUse()
	expect.That(t, err == nil && use >= .8, "%f of the quota is in use, %v", use, err)
	expect.That(t, r.Valid(), "the lease is not renewed")
	t.Logf("%d entries; %+v; %+v", written, status.Servers, &l.counts)
}

// TestACandidateWaitsWhileTheServersAreFull: they give no leases then. It must not give up, because its node would
// end with it.
func TestACandidateWaitsWhileTheServersAreFull(t *testing.T) {
	s := newSite(t, 1, "--quota-backend-bytes", "8388608")
	l := s.open()
	r := s.lead(l, "a")
	payload := bytes.Repeat([]byte("x"), 250_000)
	var full error
	for range 100 {
		if _, full = r.Append(within(t), clusterlog.NewBatchID(), payload, nil); full != nil {
			break
		}
	}
	expect.MustError(t, full, clusterlog.ErrNoSpace, "the servers are not full")
	l.revoke(within(t), r.Leadership.(*leadership).lease)
	standing, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	expect.Error(t, expect.Err(s.open().Campaign(standing, "b")), context.DeadlineExceeded, "a candidate at full servers")
}
