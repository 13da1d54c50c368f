package etcdlog

import (
	"errors"
	"fmt"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// formatLine is the value of the key format.
const formatLine = "shunt log, version 2"

// keys are the keys of a log below a prefix. All but the entries and the nodes are between floor and
// logs, so one range reads them. An edge's role reads everything from floor to the end of nodes and nothing
// else (etcd-auth.sh), so what edges must not read comes after that.
type keys struct{ prefix, floor, format, base, head, id, key, leader, logs, marks, names, nodes, privates string }

func keysBelow(prefix string) keys {
	return keys{
		prefix: prefix,
		floor:  prefix + "floor",
		format: prefix + "format",
		base:   prefix + "from",
		head:   prefix + "head",
		id:     prefix + "id",
		key:    prefix + "key",
		leader: prefix + "leader",
		logs:   prefix + "log/",
		marks:  prefix + "marks/",
		names:  prefix + "names/",
		nodes:  prefix + "nodes/",

		privates: prefix + "private/",
	}
}

func (k *keys) entry(sequence uint64) string   { return fmt.Sprintf("%s%016x", k.logs, sequence) }
func (k *keys) private(sequence uint64) string { return fmt.Sprintf("%s%016x", k.privates, sequence) }

// getState reads everything but entries and nodes.
func (k *keys) getState(opts ...clientv3.OpOption) clientv3.Op {
	return clientv3.OpGet(k.floor, append(opts, clientv3.WithRange(k.logs))...)
}

// state is the keys of a log but its entries and nodes.
type state struct {
	id     clusterlog.ID
	key    clusterlog.Fingerprint // of the visitor key
	head   clusterlog.Position
	floor  uint64
	base   uint64            // of epochs: 0, unless the log was renewed
	leader clusterlog.Leader // its epoch is the revision that created the key, and base
	lease  clientv3.LeaseID  // of the leader
}

// parseState reads the result of getState. The error is ErrForeignLog, ErrNewerVersion or
// ErrCorrupt.
func (k *keys) parseState(kvs []*mvccpb.KeyValue) (s state, err error) {
	values := make(map[string][]byte, len(kvs))
	for _, kv := range kvs {
		if values[string(kv.Key)] = kv.Value; string(kv.Key) == k.leader {
			s.leader = clusterlog.Leader{Candidate: string(kv.Value), Epoch: uint64(kv.CreateRevision)}
			s.lease = clientv3.LeaseID(kv.Lease)
		}
	}
	if err := k.checkFormat(values[k.format]); err != nil {
		return state{}, err
	}
	var errs [5]error
	s.id, errs[0] = clusterlog.ParseID(values[k.id])
	s.head, errs[1] = clusterlog.ParsePosition(values[k.head])
	s.floor, errs[2] = parseFloor(values[k.floor])
	s.key, errs[3] = clusterlog.ParseFingerprint(values[k.key])
	if base, renewed := values[k.base]; renewed {
		s.base, errs[4] = parseFloor(base)
	}
	if s.leader.Candidate != "" {
		s.leader.Epoch += s.base
	}
	return s, errors.Join(errs[:]...)
}

func (k *keys) checkFormat(line []byte) error {
	var version int
	switch _, err := fmt.Sscanf(string(line), "shunt log, version %d", &version); {
	case len(line) == 0:
		return fmt.Errorf("%w: there is no log under %s", clusterlog.ErrForeignLog, k.prefix)
	case string(line) == formatLine:
		return nil
	case err == nil && version == 1: // of no release: all rows were in the entries, where edges could read them
		return fmt.Errorf("%w: %s is %q, of a program before 0.1.0. Begin a new cluster: see UPGRADE.md", clusterlog.ErrForeignLog, k.format, line)
	case err == nil && version > 2:
		return fmt.Errorf("%w: %s is %q", clusterlog.ErrNewerVersion, k.format, line)
	default:
		return fmt.Errorf("%w: %s is %q", clusterlog.ErrForeignLog, k.format, line)
	}
}

func floorText(floor uint64) string { return fmt.Sprintf("%016x", floor) }

func parseFloor(text []byte) (uint64, error) {
	floor, err := strconv.ParseUint(string(text), 16, 64)
	if err != nil || floorText(floor) != string(text) {
		return 0, fmt.Errorf("%w: floor %q", clusterlog.ErrCorrupt, text)
	}
	return floor, nil
}
