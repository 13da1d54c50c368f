package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/storage/clusterlog"
)

// Nodes need not have the same time: the log orders writes. But the node that leads stamps links, decides
// whether they have expired, and frees codes 90 days after their deletion; and each node counts hits in the
// hour that its clock shows. Each node tells the others the time of its clock, at least every ten seconds. A node
// whose clock is far from those of most others does not start. A running one logs it and continues: its
// redirects are right, and only an operator knows which clocks are.

// maxClockOffset is how far the clocks of two nodes may be apart. What a node said is up to some twenty
// seconds old, and clocks that are kept by NTP are within one.
const maxClockOffset = 10 * time.Minute

// checkClock returns ErrClock if most other nodes that are live have a time that is far from now.
func checkClock(now time.Time, own string, members []clusterlog.Member) error {
	others, apart, example := 0, 0, (*clusterlog.Member)(nil)
	for i := range members {
		m := &members[i]
		if m.Name == own || !m.Live || m.ClockMs == 0 {
			continue
		}
		others++
		if now.Sub(time.UnixMilli(m.ClockMs)).Abs() > maxClockOffset {
			apart, example = apart+1, m
		}
	}
	if 2*apart <= others {
		return nil
	}
	theirs := time.UnixMilli(example.ClockMs)
	way := "ahead of"
	if now.Before(theirs) {
		way = "behind"
	}
	return fmt.Errorf("%w: it is %s here and %s at node %s, so this one is %v %s it (%d of %d other nodes are more than %v apart)", clusterlog.ErrClock,
		now.UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339), example.Name, now.Sub(theirs).Abs().Round(time.Second), way, apart, others, maxClockOffset)
}

// checkClockAtStart is checkClock, unless etcd does not answer.
func (n *Node) checkClockAtStart(ctx context.Context) error {
	members, err := n.clusterLog.Nodes(ctx)
	if errors.Is(err, clusterlog.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	return checkClock(time.Now(), n.settings.Name, members)
}

// clockWatch logs when the clocks of the cluster drift apart while this node runs, and when they agree again. It
// belongs to one goroutine.
type clockWatch struct{ apart bool }

func (w *clockWatch) look(n *Node, now time.Time, members []clusterlog.Member) {
	err := checkClock(now, n.settings.Name, members)
	switch {
	case err != nil && !w.apart:
		n.log.Error("the clocks of the cluster are apart. Times of links, expiry and figures by hour are wrong on one side; correct the wrong clocks, preferably with NTP", "error", err)
	case err == nil && w.apart:
		n.log.Info("the clocks of the cluster agree again")
	}
	w.apart = err != nil
}
