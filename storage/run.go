package storage

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Run commits mutations until ctx is done. Then it commits those that wait, and answers later ones
// with engine.ErrClosed. It also watches the free space and the room of the cache. It may be called
// once.
func (s *Store) Run(ctx context.Context) error {
	if s.reads != nil {
		<-ctx.Done()
		return nil
	}
	watched, stop := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error { return s.space.watch(watched) })
	g.Go(func() error {
		s.cache.watch(watched, s.db)
		return nil
	})
	g.Go(func() error {
		defer stop()
		return s.Commit(ctx)
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	return nil
}
