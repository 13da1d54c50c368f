package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// Rows among the nodes that no node wrote are skipped and reported. The list of nodes decides how far the log is
// trimmed, which hits are dropped, and whose requests are accepted: a bad row must not stop any of that.

// maxRows is how many rows are read below names/ and below nodes/. Up to this number, rows that no node wrote
// displace no node.
const maxRows = 4 * clusterlog.MaxNodes

// rows reads all claims and live nodes, both sorted by key.
func (l *Log) rows(ctx context.Context) (names, nodes []*mvccpb.KeyValue, err error) {
	names, nodes, _, err = l.listRows(ctx)
	return names, nodes, err
}

// listRows is rows with more options of both reads. It also returns the revision.
func (l *Log) listRows(ctx context.Context, more ...clientv3.OpOption) (names, nodes []*mvccpb.KeyValue, revision int64, err error) {
	k := &l.keys
	options := func(key string) []clientv3.OpOption { return append(more, below(key), clientv3.WithLimit(maxRows)) }
	resp, err := l.txn(ctx, tx{Then: []clientv3.Op{
		clientv3.OpGet(k.names, options(k.names)...), clientv3.OpGet(k.nodes, options(k.nodes)...), k.getState(),
	}})
	if err != nil {
		return nil, nil, 0, err
	}
	_, err = l.parseOwn(found(resp, 2))
	return found(resp, 0), found(resp, 1), resp.Header.Revision, err
}

// rowsOneByOne is rows by a request for each row, because some are far larger than those of nodes. What is
// too large even for that is left without a value.
func (l *Log) rowsOneByOne(ctx context.Context) (names, nodes []*mvccpb.KeyValue, err error) {
	names, nodes, revision, err := l.listRows(ctx, clientv3.WithKeysOnly())
	if err != nil {
		return nil, nil, err
	}
	for _, kv := range slices.Concat(names, nodes) {
		if err := l.readRow(ctx, kv, revision); err != nil {
			return nil, nil, err
		}
	}
	return names, nodes, nil
}

// readRow reads the value of a row as it was at a revision.
func (l *Log) readRow(ctx context.Context, kv *mvccpb.KeyValue, revision int64) error {
	row, err := l.get(ctx, string(kv.Key), clientv3.WithRev(revision))
	switch {
	case isTooLarge(err):
		return nil
	case errors.Is(err, rpctypes.ErrCompacted):
		return fmt.Errorf("%w: %w", clusterlog.ErrUnavailable, err) // too late; the caller tries again
	case len(row) > 0:
		kv.Value = row[0].Value
	}
	return err
}

// BadRow is a row among the nodes that no node wrote.
type BadRow struct {
	Key string // as text, shortened if it is long
	Err error  // what is wrong with it
}

// members decodes all claims and live nodes, both sorted by key, and returns the nodes by name. It skips bad
// rows. A live node whose claim is gone or bad is a member, because it writes it again.
func (k *keys) members(names, nodes []*mvccpb.KeyValue) (members []clusterlog.Member, bad []BadRow) {
	by := make(map[string]clusterlog.Member, len(names))
	take := func(kv *mvccpb.KeyValue, m clusterlog.Member, own string, err error) {
		if err == nil {
			err = checkKey(kv, own, m.Live)
		}
		if _, known := by[m.Name]; err == nil && !known && len(by) == clusterlog.MaxNodes {
			err = fmt.Errorf("%w: there are more than %d nodes", clusterlog.ErrCorrupt, clusterlog.MaxNodes)
		}
		if err != nil {
			bad = append(bad, BadRow{Key: shown(kv.Key), Err: err})
			return
		}
		by[m.Name] = m
	}
	for _, kv := range names {
		n, _, err := clusterlog.DecodeClaim(kv.Value)
		take(kv, clusterlog.Member{Node: n}, k.name(n.Name), err)
	}
	for _, kv := range nodes {
		n, err := clusterlog.DecodeNode(kv.Value)
		take(kv, clusterlog.Member{Node: n, Live: true}, k.node(n.Name), err)
	}
	return sorted(by), bad
}

// checkKey returns ErrCorrupt unless a node is at its own key, and under a lease if it is live.
func checkKey(kv *mvccpb.KeyValue, own string, live bool) error {
	if string(kv.Key) != own || (kv.Lease != 0) != live {
		return fmt.Errorf("%w: a node that belongs at %s; under a lease: %t, want %t", clusterlog.ErrCorrupt, own, kv.Lease != 0, live)
	}
	return nil
}

func sorted(by map[string]clusterlog.Member) []clusterlog.Member {
	return slices.SortedFunc(maps.Values(by), func(a, b clusterlog.Member) int { return strings.Compare(a.Name, b.Name) })
}

// shown returns a key as text without control characters.
func shown(key []byte) string {
	quoted := fmt.Sprintf("%.200q", key)
	return quoted[1 : len(quoted)-1]
}

// created returns the revisions that created claims, by name.
func (k *keys) created(names []*mvccpb.KeyValue) map[string]int64 {
	created := make(map[string]int64, len(names))
	for _, kv := range names {
		created[strings.TrimPrefix(string(kv.Key), k.names)] = kv.CreateRevision
	}
	return created
}

// missingGrace is how long a node stays a member whose rows are gone although nobody forgot it. A live one claims
// its name again within a moment. Until then hits are kept for it, and its requests are accepted.
const missingGrace = time.Minute

// sightings is what a Log remembers of the rows of nodes.
type sightings struct {
	mu      sync.Mutex
	members map[string]sighting  // at most MaxNodes of each minute
	bad     map[string]time.Time // bad rows that were reported, by key: when they were read last
	rows    []BadRow             // of the last read
}

// sighting is a node as its rows were last read.
type sighting struct {
	member  clusterlog.Member
	created int64 // revision that created its claim; 0: not known
	at      time.Time
}

// note records what was read, and returns the nodes that were there within missingGrace and are missing now. A node
// whose claim is bad keeps what its claim said before.
func (s *sightings) note(members []clusterlog.Member, created map[string]int64, now time.Time) (missing map[string]sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members == nil {
		s.members = make(map[string]sighting)
	}
	here := make(map[string]bool, len(members))
	for _, m := range members {
		here[m.Name] = true
		old := s.members[m.Name]
		s.members[m.Name] = sighting{member: m, created: max(created[m.Name], old.created), at: now}
	}
	for name, one := range s.members {
		if _, bad := created[name]; bad {
			one.at = now
			s.members[name] = one
		}
		switch {
		case now.Sub(one.at) > missingGrace:
			delete(s.members, name)
		case !here[name]:
			if missing == nil {
				missing = make(map[string]sighting)
			}
			missing[name] = one
		}
	}
	return missing
}

// drop deletes what is remembered of a forgotten node.
func (s *sightings) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.members, name)
}

// report reports each bad row once, until it has been gone for a minute.
func (s *sightings) report(logger *slog.Logger, bad []BadRow, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bad == nil {
		s.bad = make(map[string]time.Time)
	}
	maps.DeleteFunc(s.bad, func(_ string, at time.Time) bool { return now.Sub(at) > missingGrace })
	for _, row := range bad {
		if _, known := s.bad[row.Key]; !known {
			logger.Error("A row among the cluster's nodes in etcd was not written by a node; it is skipped.", "key", row.Key, "error", row.Err)
		}
		s.bad[row.Key] = now
	}
	s.rows = bad
}

// BadRows returns the rows that the last call of Nodes skipped.
func (l *Log) BadRows() []BadRow {
	l.seen.mu.Lock()
	defer l.seen.mu.Unlock()
	return slices.Clone(l.seen.rows)
}

// withMissing adds those of the missing nodes that nobody has forgotten, as nodes that are not live.
func (l *Log) withMissing(ctx context.Context, members []clusterlog.Member, missing map[string]sighting) ([]clusterlog.Member, error) {
	k := &l.keys
	by := make(map[string]clusterlog.Member, len(members)+len(missing))
	for _, m := range members {
		by[m.Name] = m
	}
	for name, one := range missing {
		marks, err := l.get(ctx, k.mark(name))
		switch {
		case err != nil:
			return nil, err
		case len(marks) > 0 && marks[0].ModRevision > one.created:
			l.seen.drop(name)
		case len(by) < clusterlog.MaxNodes:
			one.member.Live = false
			by[name] = one.member
		}
	}
	return sorted(by), nil
}
