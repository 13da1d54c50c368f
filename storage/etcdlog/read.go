package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"shunt/storage/clusterlog"
)

const (
	// chunkBytes is the size of the entries, with their private parts, that one read asks for. minChunk entries of the
	// largest size fit.
	chunkBytes = 4 << 20
	minChunk   = chunkBytes / clusterlog.MaxEntryBytes
	maxChunk   = 512
)

// chunk is an answer to a read: entries from a sequence on, their private parts, and the state, all of
// the same revision.
type chunk struct {
	server   *server
	sent     time.Time
	fresh    bool // nothing was committed before sent that the answer does not know
	kvs      []*mvccpb.KeyValue
	openOnly bool // there are no private parts, because this node reads none
	privates []*mvccpb.KeyValue
	state    state
}

// read asks one server for entries from next on. Unless it is to be fresh, a server that lags
// answers with what it has.
func (l *Log) read(ctx context.Context, s *server, next uint64, limit uint64, fresh bool) (c chunk, err error) {
	var opts []clientv3.OpOption
	if !fresh {
		opts = append(opts, clientv3.WithSerializable())
	}
	// With WithLimit alone, the server would count all entries to the end of the range.
	gets := []clientv3.Op{
		clientv3.OpGet(l.keys.entry(next), append(opts, clientv3.WithRange(l.keys.entry(next+limit)))...), l.keys.getState(opts...),
	}
	if !l.openOnly {
		gets = append(gets, clientv3.OpGet(l.keys.private(next), append(opts, clientv3.WithRange(l.keys.private(next+limit)))...))
	}
	c = chunk{server: s, sent: time.Now(), fresh: fresh, openOnly: l.openOnly}
	resp, err := s.txn(ctx, tx{Then: gets})
	if err != nil {
		return c, err
	}
	if c.kvs = found(resp, 0); !l.openOnly {
		c.privates = found(resp, 2)
	}
	if c.state, err = l.parseOwn(found(resp, 1)); err != nil {
		return c, fmt.Errorf("%s: %w", s.endpoint, err)
	}
	return c, nil
}

// isTooLarge reports whether an answer was over maxAnswerBytes.
func isTooLarge(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if s, ok := status.FromError(err); ok && s.Code() == codes.ResourceExhausted {
			return true
		}
	}
	return false
}

// follow checks a chunk against the position of its reader. It returns the entries that follow, and
// the position after them. If that is not all there is to say, the error is ErrBelowFloor, ErrAhead,
// ErrDiverged, ErrNewerVersion or ErrCorrupt, which one server alone does not prove.
func (c *chunk) follow(keys *keys, at clusterlog.Position) (entries []clusterlog.Entry, after clusterlog.Position, err error) {
	after = at
	privates := c.privates
	for _, kv := range c.kvs {
		next := after.Sequence + 1
		if key := keys.entry(next); string(kv.Key) != key {
			return entries, after, c.missing(next)
		}
		e, following, err := after.Follow(kv.Value)
		if err == nil && !c.openOnly {
			privates, err = keys.attach(&e, privates)
		}
		if err != nil {
			return entries, after, err
		}
		entries, after = append(entries, e), following
	}
	head := c.state.head
	switch {
	case head.Sequence < after.Sequence && len(entries) == 0:
		err = fmt.Errorf("%w: it has entry %d; the log ends with %d", clusterlog.ErrAhead, after.Sequence, head.Sequence)
	case head.Sequence < after.Sequence:
		err = fmt.Errorf("%w: entry %d beyond the head %d", clusterlog.ErrCorrupt, after.Sequence, head.Sequence)
	case head.Sequence == after.Sequence && head != after:
		err = fmt.Errorf("%w: entry %d has the hash %.4x…, here it has %.4x…", clusterlog.ErrDiverged, after.Sequence, head.Hash, after.Hash)
	case head.Sequence > after.Sequence && len(c.kvs) == 0:
		err = c.missing(after.Sequence + 1)
	}
	return entries, after, err
}

// attach gives e its private part, if it has one, which must be the next of privates from its sequence on,
// and returns those after that. The error is ErrCorrupt.
func (k *keys) attach(e *clusterlog.Entry, privates []*mvccpb.KeyValue) (rest []*mvccpb.KeyValue, err error) {
	if e.Whole() {
		return privates, nil
	}
	key := k.private(e.Sequence)
	for len(privates) > 0 && string(privates[0].Key) < key {
		privates = privates[1:]
	}
	if len(privates) == 0 || string(privates[0].Key) != key {
		return privates, fmt.Errorf("%w: the private part of entry %d is missing", clusterlog.ErrCorrupt, e.Sequence)
	}
	return privates[1:], e.Attach(privates[0].Value)
}

// missing returns the error of an entry that is not in the chunk, and should be.
func (c *chunk) missing(sequence uint64) error {
	if sequence < c.state.floor {
		return fmt.Errorf("%w: it needs entry %d; the first is %d", clusterlog.ErrBelowFloor, sequence, c.state.floor)
	}
	return fmt.Errorf("%w: entry %d is missing", clusterlog.ErrCorrupt, sequence)
}
