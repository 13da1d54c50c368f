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
	// chunkBytes is the size of the entries that one read asks for. minChunk entries of the largest
	// size fit.
	chunkBytes = 4 << 20
	minChunk   = chunkBytes / clusterlog.MaxEntryBytes
	maxChunk   = 512
)

// chunk is an answer to a read: entries from a sequence on, and the state at the same revision.
type chunk struct {
	server *server
	sent   time.Time
	fresh  bool // nothing was committed before sent that the answer does not know
	kvs    []*mvccpb.KeyValue
	state  state
}

// read asks one server for entries from next on. Unless it is to be fresh, a server that lags
// answers with what it has.
func (l *Log) read(ctx context.Context, s *server, next uint64, limit uint64, fresh bool) (c chunk, err error) {
	var opts []clientv3.OpOption
	if !fresh {
		opts = append(opts, clientv3.WithSerializable())
	}
	// With WithLimit alone, the server would count all entries to the end of the range.
	entries := clientv3.OpGet(l.keys.entry(next), append(opts, clientv3.WithRange(l.keys.entry(next+limit)))...)
	c = chunk{server: s, sent: time.Now(), fresh: fresh}
	var answer error
	err = s.ask(ctx, attemptTimeout, func(ctx context.Context, client *clientv3.Client) error {
		resp, err := client.Txn(ctx).Then(entries, l.keys.getState(opts...)).Commit()
		if err != nil {
			return err
		}
		c.kvs = resp.Responses[0].GetResponseRange().Kvs
		c.state, answer = l.keys.parseState(resp.Responses[1].GetResponseRange().Kvs)
		return nil
	})
	if err != nil {
		return c, err
	}
	if answer == nil {
		answer = l.own(&c.state)
	}
	if answer != nil {
		return c, fmt.Errorf("%s: %w", s.endpoint, answer)
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
	for _, kv := range c.kvs {
		next := after.Sequence + 1
		if key := keys.entry(next); string(kv.Key) != key {
			return entries, after, c.missing(next)
		}
		e, following, err := after.Follow(kv.Value)
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

// missing returns the error of an entry that is not in the chunk, and should be.
func (c *chunk) missing(sequence uint64) error {
	if sequence < c.state.floor {
		return fmt.Errorf("%w: it needs entry %d; the first is %d", clusterlog.ErrBelowFloor, sequence, c.state.floor)
	}
	return fmt.Errorf("%w: entry %d is missing", clusterlog.ErrCorrupt, sequence)
}
