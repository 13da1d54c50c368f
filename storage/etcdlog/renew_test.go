package etcdlog

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/engine/expect"
	"shunt/storage/clusterlog"
)

// TestALogThatWasLostGoesOnWhereANodeWas loses a log, and renews it after an entry that a node has applied. The node
// follows on, also over the next leadership; one that has less is below the floor, one that has more is ahead. A log
// that is there is not replaced by an older one, and an older one only on demand.
func TestALogThatWasLostGoesOnWhereANodeWas(t *testing.T) {
	s := newSite(t, 1)
	o := Options{Endpoints: s.Endpoints(), ID: s.id}
	l := s.open()
	first := s.lead(l, "a")
	var at []clusterlog.Position
	for i := range 5 {
		at = append(at, first.mustAppend(numbered(i)))
	}
	expect.OK(t, first.stop())
	expect.Error(t, Renew(within(t), o, at[3], false), ErrLogThere, "over a newer log")
	expect.Error(t, Renew(within(t), o, at[3], true), ErrLogThere, "over a newer log, on demand")

	client := s.Client()
	defer client.Close()
	announced, err := l.Announce(within(t), testNode("b"), clusterlog.Claim{1})
	expect.OK(t, err)
	lose := func() {
		t.Helper()
		expect.OK(t, expect.Err(client.Delete(within(t), "", clientv3.WithPrefix())))
	}
	lose()
	announced.(*announcement).claimAgain(within(t))
	expect.Equal(t, s.dump(client), "", "a node that announces itself wrote to servers that have lost the log")
	for range 2 { // a repeat changes nothing
		expect.OK(t, Renew(within(t), o, at[3], false))
	}
	nothing := func(clusterlog.Progress) error { return errEnough }
	expect.Error(t, l.Follow(within(t), at[2], nothing), clusterlog.ErrBelowFloor, "a node that has less")
	expect.Error(t, l.Follow(within(t), at[4], nothing), clusterlog.ErrAhead, "a node that has more")
	second := s.lead(l, "b")
	expect.That(t, second.Head() == at[3] && second.Epoch() > first.Epoch(), "it leads from %v in epoch %d, want %v after %d", second.Head(), second.Epoch(), at[3], first.Epoch())
	second.mustAppend("renewed")
	expect.OK(t, second.stop())
	third := s.lead(l, "c")
	expect.That(t, third.Epoch() > second.Epoch(), "epoch %d after %d", third.Epoch(), second.Epoch())
	last := third.mustAppend("and on")
	var got []string
	expect.Equal(t, l.Follow(within(t), at[3], func(p clusterlog.Progress) error {
		for _, e := range p.Entries {
			got = append(got, string(e.Payload))
		}
		if p.After == last {
			return errEnough
		}
		return nil
	}), errEnough)
	expect.Slices(t, got, []string{"renewed", "and on"})
	expect.OK(t, third.Trim(within(t), last.Sequence))

	_, _, beyond := last.Next(last.Epoch, clusterlog.NewBatchID(), nil, nil)
	expect.Error(t, Renew(within(t), o, beyond, false), ErrOlderLog, "over an older log")
	expect.OK(t, third.stop())
	expect.OK(t, Renew(within(t), o, beyond, true))
	status, err := l.Status(within(t))
	expect.That(t, err == nil && status.Head == beyond && status.Floor == beyond.Sequence+1, "got %+v, %v", status, err)
	fourth := s.lead(l, "d")
	expect.That(t, fourth.Epoch() > third.Epoch(), "epoch %d after %d", fourth.Epoch(), third.Epoch())
}
