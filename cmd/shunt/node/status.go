package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shunt/engine/plural"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/etcdlog"
	"shunt/storage/replicate"
)

// Status is the state of a cluster as its log shows it.
type Status struct {
	Cluster string   `json:"cluster"`
	Leader  string   `json:"leader"` // name; empty: none leads
	Epoch   uint64   `json:"epoch"`
	Head    uint64   `json:"head"`  // the last entry of the log
	Floor   uint64   `json:"floor"` // the first that it still has
	Nodes   []Member `json:"nodes"`
	Servers []Server `json:"servers"` // of etcd
	BadRows []BadRow `json:"bad_rows,omitempty"`
}

// Member is a node of the cluster.
type Member struct {
	Name      string    `json:"name"`
	Advertise string    `json:"advertise"`
	Role      string    `json:"role"`
	Live      bool      `json:"live"`
	Leads     bool      `json:"leads"`
	Applied   uint64    `json:"applied"`    // the last entry that it has applied, as it said last
	Behind    uint64    `json:"behind"`     // entries
	Since     time.Time `json:"since"`      // start of its process
	NeedsCopy bool      `json:"needs_copy"` // the log was trimmed past it: it takes a copy of what it missed, by itself
	LacksHits bool      `json:"lacks_hits"` // its folder was rolled back: its next start takes a copy of another node's data
}

// BadRow is a key in etcd among those of nodes that no node wrote. It is skipped.
type BadRow struct {
	Key   string `json:"key"`
	Error string `json:"error"`
}

// Server is a server of etcd.
type Server struct {
	Endpoint   string `json:"endpoint"`
	Error      string `json:"error,omitempty"` // if it did not answer
	Version    string `json:"version,omitempty"`
	Leads      bool   `json:"leads"`
	UsedBytes  int64  `json:"used_bytes"`
	SizeBytes  int64  `json:"size_bytes"`
	QuotaBytes int64  `json:"quota_bytes"`
}

// Ask asks etcd's servers for the state of the cluster. It opens no data folder.
func Ask(ctx context.Context, s *Settings) (st *Status, err error) {
	err = withLog(ctx, s, func(log *etcdlog.Log) error {
		status, err := log.Status(ctx)
		if err != nil {
			return err
		}
		members, err := log.Nodes(ctx)
		if err != nil {
			return err
		}
		st = newStatus(&status, members)
		for _, row := range log.BadRows() {
			st.BadRows = append(st.BadRows, BadRow{Key: row.Key, Error: row.Err.Error()})
		}
		return nil
	})
	return st, err
}

func newStatus(status *clusterlog.Status, members []clusterlog.Member) *Status {
	st := &Status{Cluster: status.ID.String(), Epoch: status.Leader.Epoch, Head: status.Head.Sequence, Floor: status.Floor}
	st.Leader, _ = splitCandidate(status.Leader.Candidate)
	for _, m := range members {
		st.Nodes = append(st.Nodes, Member{
			Name: m.Name, Advertise: m.Advertise, Role: string(m.Role), Live: m.Live, Leads: m.Live && m.Name == st.Leader,
			Applied: m.Applied, Behind: st.Head - min(m.Applied, st.Head), Since: time.UnixMilli(m.SinceMs).UTC(),
			NeedsCopy: m.Applied+1 < st.Floor, LacksHits: m.LacksHits,
		})
	}
	for _, server := range status.Servers {
		s := Server{
			Endpoint: server.Endpoint, Version: server.Version, Leads: server.Leads,
			UsedBytes: server.UsedBytes, SizeBytes: server.SizeBytes, QuotaBytes: server.QuotaBytes,
		}
		if server.Err != nil {
			s.Error = server.Err.Error()
		}
		st.Servers = append(st.Servers, s)
	}
	return st
}

// withLog calls do with the log of whichever cluster is there.
func withLog(ctx context.Context, s *Settings, do func(*etcdlog.Log) error) error {
	n, err := Open(s, nil)
	if err != nil {
		return err
	}
	if n.etcd.ID, n.etcd.Key, err = etcdlog.Find(ctx, n.etcd); err != nil {
		return err
	}
	log, err := etcdlog.New(n.etcd)
	if err != nil {
		return err
	}
	defer log.Close()
	return do(log)
}

// Forget removes a node that is gone for good from the cluster.
func Forget(ctx context.Context, s *Settings, name string) error {
	return withLog(ctx, s, func(log *etcdlog.Log) error { return log.Forget(ctx, name) })
}

// Renew makes the log of the cluster again where the servers of etcd have lost it: it goes on after the last entry that
// a data folder, which is not in use, has. It returns that entry.
func Renew(ctx context.Context, s *Settings, store *storage.Store, replace bool) (entry uint64, err error) {
	rows := replicate.Of(store)
	id, member := rows.Cluster()
	if !member {
		return 0, errors.New("the data folder belongs to no cluster")
	}
	if rows.Edge() {
		return 0, errors.New("the data folder is that of an edge: renew the log from the folder of a full node")
	}
	n, err := Open(s, nil)
	if err != nil {
		return 0, err
	}
	at, _ := rows.LogPosition()
	n.etcd.ID, n.etcd.Key = id, clusterlog.FingerprintOf(store.Identity().VisitorKey)
	if err = etcdlog.Renew(ctx, n.etcd, at, replace); errors.Is(err, etcdlog.ErrOlderLog) {
		err = fmt.Errorf("%w; --replace replaces it", err)
	}
	return at.Sequence, err
}

// HitsWaiting returns how many hits wait for other nodes in a store; member is false if it is of no cluster.
func HitsWaiting(store *storage.Store) (hits uint64, member bool) {
	rows := replicate.Of(store)
	if _, member = rows.Cluster(); !member {
		return 0, false
	}
	hits, err := rows.WaitingHits(0)
	if err != nil {
		hits = 0 // starting the node says what is wrong
	}
	return hits, true
}

// errHitsWait: hits in an outbox would be lost.
var errHitsWait = errors.New("start the node, without visitors, until its shunt_cluster_outbox_bytes is 0, and stop it again; or give the hits up with --lose-hits")

// Leave takes a data folder that is not in use out of its cluster, with all its links. It is refused if hits wait for
// other nodes, which would never get them, unless they are given up.
func Leave(store *storage.Store, loseHits bool) error {
	rows := replicate.Of(store)
	if _, member := rows.Cluster(); !member {
		return errors.New("the data folder belongs to no cluster")
	}
	if rows.Edge() {
		return errEdgeLeaves
	}
	if waiting, err := rows.WaitingHits(0); err != nil {
		return err
	} else if waiting > 0 && !loseHits {
		return fmt.Errorf("%s of this node wait in its data folder for other nodes, which would never get them: %w",
			plural.Of(waiting, "hit", "hits"), errHitsWait)
	}
	if err := rows.LeaveLog(); err != nil {
		return fmt.Errorf("leaving the cluster: %w", err)
	}
	return nil
}
