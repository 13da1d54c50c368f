package replica

import (
	"context"
	"errors"
	"math"
	"time"

	"shunt/storage/clusterlog"
)

// Entries are trimmed once all nodes that have a name in the cluster have applied them, also those that are down: so a
// node that was off finds what it missed. But no node may prevent trimming forever: once an eighth of the servers'
// quota is used, the leader trims past those that lag. Such a node takes a copy of what all nodes share when it is back
// (replicate.Rows.MirrorShared).
const (
	trimInterval = time.Second

	// What is kept at least: the smaller of the two. It is minutes of many writes.
	minKept      = 1000
	minKeptBytes = 64 << 20

	// The log keeps at most an eighth of the servers' quota, or unknownKept entries if no server says its quota.
	maxKeptShare = 8
	unknownKept  = 100_000

	// Writes are refused above a quarter of the quota, and admitted again below a fifth. The log is trimmed past
	// laggards at an eighth, so the cause is another one: servers that keep old revisions, or other programs
	// that fill them. A server that reaches its quota also refuses trims, and needs its operator; so these limits
	// stay far from it.
	refuseUse = 1. / 4
	admitUse  = 1. / 5

	trimReportEvery = 10 * time.Second
)

// retain returns the least and the greatest number of entries to keep. The size of an entry is
// estimated from what the servers use, which includes other things. So the estimate is too large, never too
// small. maxKept is Options.MaxKept.
func retain(s *clusterlog.Status, maxKept uint64) (least, most uint64) {
	least, most = minKept, math.MaxUint64
	count := s.Head.Sequence + 1 - min(s.Floor, s.Head.Sequence+1)
	for _, server := range s.Servers {
		if count == 0 || server.Err != nil || server.UsedBytes <= 0 {
			continue
		}
		entryBytes := min(uint64(server.UsedBytes)/count+1, clusterlog.MaxEntryBytes)
		least = min(least, minKeptBytes/entryBytes)
		if server.QuotaBytes > 0 {
			most = min(most, uint64(server.QuotaBytes)/maxKeptShare/entryBytes)
		}
	}
	if most == math.MaxUint64 {
		most = unknownKept
	}
	if maxKept > 0 {
		most = min(most, maxKept)
	}
	return min(least, most), most
}

// trimThrough returns the last entry to trim, and the nodes that still need it. If no node can follow, nothing is
// trimmed as long as there is room. A node below the floor takes a copy, so nothing is kept for it.
func trimThrough(s *clusterlog.Status, nodes []clusterlog.Member, maxKept uint64) (through uint64, passed []clusterlog.Member) {
	head := s.Head.Sequence
	applied, anyFollows := head, false
	for _, n := range nodes {
		if n.Applied+1 >= s.Floor {
			applied, anyFollows = min(applied, n.Applied), true
		}
	}
	if !anyFollows {
		applied = 0
	}
	least, most := retain(s, maxKept)
	through = min(applied, head-min(head, least))
	through = max(through, head-min(head, most), max(s.Floor, 1)-1)
	for _, n := range nodes {
		if n.Applied < through {
			passed = append(passed, n)
		}
	}
	return through, passed
}

// tooFull reports whether writes are to be refused when this part of the quota is in use. refused says whether
// they are refused now.
func tooFull(use float64, refused bool) bool {
	if refused {
		return use > admitUse
	}
	return use > refuseUse
}

// trimmer trims the log during one leadership. It belongs to one goroutine.
type trimmer struct {
	replica  *Replica
	lead     clusterlog.Leadership
	passed   map[string]bool // nodes that were reported
	version  int             // of entries, that all nodes read; 0: unknown
	reported time.Time
}

// trim trims the log every second until the leadership or ctx ends.
func (r *Replica) trim(ctx context.Context, lead clusterlog.Leadership) {
	if r.nodes == nil {
		return
	}
	defer func() {
		r.full.Store(false)
		r.most.Store(nil)
		r.store.RefuseWrites(false)
	}()
	t := &trimmer{replica: r, lead: lead, passed: make(map[string]bool)}
	tick := time.NewTicker(trimInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-lead.Done():
			return
		case <-tick.C:
		}
		err := t.step(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, clusterlog.ErrDeposed) && time.Since(t.reported) >= trimReportEvery {
			t.reported = time.Now()
			r.logger.Warn("the cluster's log cannot be trimmed; retrying", "error", err)
		}
	}
}

// step trims once.
func (t *trimmer) step(ctx context.Context) error {
	r := t.replica
	status, err := r.log.Status(ctx)
	if err != nil {
		return err
	}
	r.most.Store(status.Fullest())
	r.noteUse(status.QuotaUse())
	nodes, listErr := r.nodes(ctx)
	if listErr == nil {
		t.noteVersion(oldestReader(nodes))
	} // otherwise no node is known, and only what is kept at most is trimmed
	through, passed := trimThrough(&status, nodes, r.maxKept)
	t.report(passed, through)
	return errors.Join(listErr, t.lead.Trim(ctx, through)) // also if nothing is to be trimmed: it lets the servers forget old revisions
}

// noteUse keeps whether writes are to be refused.
func (r *Replica) noteUse(use float64) {
	was := r.full.Load()
	full := tooFull(use, was)
	r.full.Store(full)
	r.store.RefuseWrites(full)
	switch {
	case full && !was:
		r.logger.Error("the servers of the cluster's log are filling up; writes are refused until there is more room",
			"used_percent", 100*use, "refused_above_percent", 100*refuseUse)
	case was && !full:
		r.logger.Info("the servers of the cluster's log have room again; writes are admitted", "used_percent", 100*use)
	}
}

// report logs once for each node that the log was trimmed past it, until the node follows again.
func (t *trimmer) report(passed []clusterlog.Member, through uint64) {
	now := make(map[string]bool, len(passed))
	for _, n := range passed {
		now[n.Name] = true
		if !t.passed[n.Name] {
			t.replica.logger.Warn("the cluster's log is trimmed past a node that is too far behind: it takes a copy of what it missed when it is back",
				"node", n.Name, "live", n.Live, "applied", n.Applied, "trimmed_through", through)
		}
	}
	t.passed = now
}

// Full reports whether this node leads and the log's servers are so full that writes should be refused.
func (r *Replica) Full() bool { return r.full.Load() }

// Fullest returns the fullest of the log's servers as it last was, or nil if this node does not lead.
func (r *Replica) Fullest() *clusterlog.Server { return r.most.Load() }

// Nodes are upgraded one by one, so for a while some read newer entries than others. The leader writes the
// newest version that all nodes read. It checks this each second, when it trims; a leadership begins with the
// oldest version.

// oldestReader returns the newest version of entries that all nodes read. A node that is down counts, because it
// would stop at a newer entry when it comes back; a forgotten one does not. Without any node only the oldest
// version is certain.
func oldestReader(nodes []clusterlog.Member) (version int) {
	for _, n := range nodes {
		if version == 0 || n.Reads < version {
			version = n.Reads
		}
	}
	return version
}

// noteVersion lets the store write a version of entries.
func (t *trimmer) noteVersion(version int) {
	t.replica.store.WriteEntries(version)
	if t.version != 0 && t.version != version {
		t.replica.logger.Info("the nodes of the cluster read another version of entries now", "before", t.version, "now", version)
	}
	t.version = version
}
