package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"shunt/storage/clusterlog"
)

// trimChunk is how many entries one transaction deletes. All servers execute it while nothing else
// is executed.
const trimChunk = 1000

// Trim implements clusterlog.Leadership.
func (l *leadership) Trim(ctx context.Context, through uint64) error {
	select {
	case l.trimTurn <- struct{}{}:
		defer func() { <-l.trimTurn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if last := l.last.Load(); through > last {
		return fmt.Errorf("trim through entry %d: the last is %d", through, last)
	}
	for l.floor <= through {
		if err := l.raiseFloor(ctx, min(through+1, l.floor+trimChunk)); err != nil {
			return err
		}
	}
	return l.compact(ctx)
}

// raiseFloor deletes the entries below floor. The condition on the old floor keeps a request that
// arrives late from lowering it.
func (l *leadership) raiseFloor(ctx context.Context, floor uint64) error {
	k := &l.log.keys
	resp, err := l.log.txn(ctx, tx{
		If: []clientv3.Cmp{created(k.leader, "=", l.created), clientv3.Compare(clientv3.Value(k.floor), "=", floorText(l.floor))},
		Then: []clientv3.Op{
			clientv3.OpDelete(k.entry(0), clientv3.WithRange(k.entry(floor))),
			clientv3.OpDelete(k.private(0), clientv3.WithRange(k.private(floor))),
			clientv3.OpPut(k.floor, floorText(floor)),
		},
		Else: []clientv3.Op{k.getState()},
	})
	if err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	if l.saw(resp.Header.Revision); resp.Succeeded {
		l.floor = floor
		return nil
	}
	s, err := k.parseState(found(resp, 0))
	switch {
	case err != nil:
		l.log.preferred.Add(1) // another server may know better, the next time
		return err
	case s.leader.Epoch != l.epoch:
		l.end()
		return fmt.Errorf("%w: epoch %d is over", clusterlog.ErrDeposed, l.epoch)
	}
	l.floor = s.floor // an earlier request, whose answer was lost, has raised it
	return nil
}

// compact makes the servers drop old revisions, every compactEvery at most. Otherwise deleted keys and old
// heads would take space forever. Only etcd's root may compact; for other users the servers must do it by
// themselves.
func (l *leadership) compact(ctx context.Context) error {
	if time.Since(l.compacted) < compactEvery {
		return nil
	}
	revision, forbidden := l.revision.Load(), false
	err := l.log.repeat(ctx, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Compact(ctx, revision)
		if forbidden = errors.Is(err, rpctypes.ErrPermissionDenied); forbidden || errors.Is(err, rpctypes.ErrCompacted) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	if forbidden {
		l.log.forbidden.Do(func() {
			l.log.logger.Info("This user of etcd may not compact; the servers must: --auto-compaction-mode=periodic --auto-compaction-retention=60s.")
		})
	} else {
		l.log.counts.compactions.Add(1)
	}
	l.compacted = time.Now()
	return nil
}
