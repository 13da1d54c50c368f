package etcdlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// pending is an entry that has been sent, or is about to be.
type pending struct {
	batch         clusterlog.BatchID
	encoded       []byte
	private       []byte // encoded; nil: there is none
	before, after clusterlog.Position
	open          int // requests that may be executed yet, as far as their answers say
}

// Append implements clusterlog.Leadership.
func (l *leadership) Append(ctx context.Context, batch clusterlog.BatchID, payload, private []byte) (clusterlog.Position, error) {
	size := len(payload) + len(private)
	if size > clusterlog.MaxPayloadBytes {
		return clusterlog.Position{}, fmt.Errorf("%w: %d bytes, at most %d", clusterlog.ErrTooLarge, size, clusterlog.MaxPayloadBytes)
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return clusterlog.Position{}, ctx.Err()
	}
	if earlier := l.pending; earlier != nil {
		after, err := l.settle(ctx, earlier)
		if earlier.batch == batch {
			return after, err
		}
		if err != nil {
			return clusterlog.Position{}, notBegun(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return clusterlog.Position{}, err
	}
	if !l.Valid() {
		return clusterlog.Position{}, fmt.Errorf("%w: the lease of epoch %d is over", clusterlog.ErrDeposed, l.epoch)
	}
	encoded, sealed, after := l.head.Next(l.epoch, batch, payload, private)
	l.pending = &pending{batch: batch, encoded: encoded, private: sealed, before: l.head, after: after}
	return l.settle(ctx, l.pending)
}

// notBegun returns the error of an append that was not started, because an earlier one failed with err.
func notBegun(err error) error {
	if errors.Is(err, clusterlog.ErrBelowFloor) {
		return fmt.Errorf("%w: an earlier write: %v", clusterlog.ErrDeposed, err)
	}
	for _, kind := range []error{clusterlog.ErrDeposed, clusterlog.ErrNoSpace} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%w: an earlier write: %v", kind, err)
		}
	}
	return fmt.Errorf("%w: an earlier write is not settled: %v", clusterlog.ErrUnavailable, err)
}

// settle sends p until its outcome is known, or ctx ends.
func (l *leadership) settle(ctx context.Context, p *pending) (clusterlog.Position, error) {
	report := time.Now().Add(reportFirst)
	for n := 0; ; n++ {
		at := l.log.preferred.Load()
		v, err := l.send(ctx, l.log.server(at), p)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			v, err = l.settleFull(ctx, p)
		}
		if v != unsettled {
			return l.settled(p, v, err)
		}
		if n == 0 {
			l.log.counts.ambiguous.Add(1)
		}
		l.log.counts.retries.Add(1)
		l.log.reportStall(&report, err)
		l.log.preferred.CompareAndSwap(at, at+1)
		if errors.Is(err, clusterlog.ErrNoSpace) || !wait(ctx, l.log.pause(n)) {
			l.log.counts.unknown.Add(1)
			return clusterlog.Position{}, fmt.Errorf("%w: entry %d: %w", clusterlog.ErrUnknownOutcome, p.after.Sequence, err)
		}
	}
}

// settled records the outcome of p, which is no longer pending unless it was trimmed: then its outcome stays
// unknown, and every repeat must get the same answer.
func (l *leadership) settled(p *pending, v verdict, err error) (clusterlog.Position, error) {
	if v != trimmed {
		l.pending = nil
	}
	switch v {
	case committed:
		l.head = p.after
		l.last.Store(p.after.Sequence)
		return p.after, nil
	case refused:
		return clusterlog.Position{}, err
	case never:
		l.end()
		return clusterlog.Position{}, fmt.Errorf("%w: epoch %d is over, and entry %d of it was not written", clusterlog.ErrDeposed, l.epoch, p.after.Sequence)
	default: // trimmed
		l.end()
		l.log.counts.unknown.Add(1)
		return clusterlog.Position{}, fmt.Errorf("%w: epoch %d is over, and %w: entry %d has been trimmed",
			clusterlog.ErrUnknownOutcome, l.epoch, clusterlog.ErrBelowFloor, p.after.Sequence)
	}
}

// A verdict is what an answer proves about an entry.
type verdict int

const (
	unsettled verdict = iota // nothing yet
	committed
	never   // it is not committed and never will be; the epoch is over
	trimmed // the epoch is over, and the place of the entry is below the floor
	refused // the server refused it, and no other request may be executed yet
)

// puts returns what writes p: the entry, its private part if it has one, and the head.
func (k *keys) puts(p *pending) []clientv3.Op {
	ops := []clientv3.Op{clientv3.OpPut(k.entry(p.after.Sequence), string(p.encoded)), clientv3.OpPut(k.head, p.after.String())}
	if p.private != nil {
		ops = append(ops, clientv3.OpPut(k.private(p.after.Sequence), string(p.private)))
	}
	return ops
}

// send sends p once.
func (l *leadership) send(ctx context.Context, s *server, p *pending) (v verdict, err error) {
	k := &l.log.keys
	p.open++
	resp, err := s.txn(ctx, tx{
		If:   []clientv3.Cmp{created(k.leader, "=", l.created), clientv3.Compare(clientv3.Value(k.head), "=", p.before.String())},
		Then: k.puts(p),
		Else: []clientv3.Op{clientv3.OpGet(k.entry(p.after.Sequence)), k.getState()},
	})
	if err != nil {
		return unsettled, err
	}
	p.open--
	l.saw(resp.Header.Revision)
	if resp.Succeeded {
		return committed, nil
	}
	if v, err = l.judge(p, resp); err != nil {
		return v, fmt.Errorf("%s: %w", s.endpoint, err)
	}
	if v == unsettled {
		err = fmt.Errorf("%s: %w: the head is another, and this leader did not move it", s.endpoint, clusterlog.ErrCorrupt)
	}
	return v, err
}

// settleFull finds out whether p was written after a server answered that it is out of space. That
// server may have executed the request: the one that passes the quota is executed and then refused.
// From then on each is refused before its conditions are looked at, so this only reads.
func (l *leadership) settleFull(ctx context.Context, p *pending) (v verdict, err error) {
	p.open-- // an answer came, so this request is not executed later
	k := &l.log.keys
	err = l.log.repeat(ctx, func(ctx context.Context, client *clientv3.Client) (err error) {
		resp, err := client.Txn(ctx).Then(clientv3.OpGet(k.entry(p.after.Sequence)), k.getState()).Commit()
		if err == nil {
			v, err = l.judge(p, resp)
		}
		return err
	})
	if err != nil {
		return unsettled, fmt.Errorf("%w: %w", clusterlog.ErrNoSpace, err)
	}
	if v == unsettled {
		err = fmt.Errorf("%w: entry %d", clusterlog.ErrNoSpace, p.after.Sequence)
		if p.open == 0 {
			v = refused
		}
	}
	return v, err
}

// judge reads an answer that has the entry in p's place, and the state. doc.go of clusterlog has the argument.
// The error is ErrCorrupt: another server should be asked.
func (l *leadership) judge(p *pending, resp *clientv3.TxnResponse) (verdict, error) {
	s, err := l.log.keys.parseState(found(resp, 1))
	if err != nil {
		return unsettled, l.corrupt(err)
	}
	if kvs := found(resp, 0); len(kvs) > 0 {
		if bytes.Equal(kvs[0].Value, p.encoded) {
			return committed, nil
		}
		if e, err := clusterlog.DecodeEntry(kvs[0].Value); err != nil || e.Sequence != p.after.Sequence {
			return unsettled, l.corrupt(fmt.Errorf("entry %d: %w", p.after.Sequence, errors.Join(clusterlog.ErrCorrupt, err)))
		}
		return never, nil // its place is taken
	}
	switch {
	case s.head == p.after:
		return committed, nil // and trimmed
	case s.leader.Epoch == l.epoch:
		return unsettled, nil
	case s.floor > p.after.Sequence:
		return trimmed, nil
	default:
		return never, nil
	}
}

// corrupt counts and reports an answer that cannot be right.
func (l *leadership) corrupt(err error) error {
	l.log.counts.corruptReads.Add(1)
	l.log.logger.Error("A server of the cluster's log gave a wrong answer; another is asked.", "error", err)
	return err
}
