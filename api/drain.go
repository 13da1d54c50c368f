package api

import (
	"context"
	"errors"
	"shunt/api/wire"
	"shunt/api/wire/conns"
	"time"
)

var errShutDown = errors.New("api: the server is shut down")

// Bounds of draining.
const (
	drainFor  = 3 * time.Second         // how long keep-alive clients have to send one more request and be told to close
	drainPoll = 10 * time.Millisecond   // time between two checks whether all have gone
	cutFor    = time.Second             // how long requests that are cut off have to notice it
	silentFor = 2 * conns.SweepInterval // how old a connection without a byte must be to be cut; more than one, less than drainFor

	// If the next process accepts at the same sockets, its clients wait for the end of this one. The
	// times run from the end of accepting.
	outlivedKeptFor   = 250 * time.Millisecond // how long keep-alive clients have then
	outlivedSilentFor = time.Second            // and those that have never sent a byte
)

// Shutdown drains the server: /readyz reports not ready, every later answer carries Connection:
// close, the public and the local listeners are closed, and live streams end. Clients have drainFor
// to finish and disconnect, those that have never sent a byte silentFor; less if another process waits
// for the sockets (Options.Outlived). Then idle connections are closed, and Shutdown waits for requests
// under way until ctx ends. The admin address is closed last. If Shutdown returns the error of ctx, it has cut off
// connections: those on which half a request had come, and those whose clients do not read the answer. Their
// handlers have returned, unless one waits for something else than its client for longer than cutFor.
func (s *Server) Shutdown(ctx context.Context) error {
	if !s.drain.Begin() {
		return errShutDown
	}
	defer s.drain.End()
	close(s.ending)
	defer s.checks.Close()
	err := errors.Join(s.public.CloseListeners(), s.insecure.CloseListeners(), s.local.CloseListeners())
	s.awaitClients(ctx)
	err = errors.Join(err, s.public.Shutdown(ctx), s.insecure.Shutdown(ctx), s.local.Shutdown(ctx))
	if s.nodes != nil { // after the clients, whose requests may come from there
		err = errors.Join(err, s.nodes.CloseListeners())
		s.nodes.CloseKept() // other nodes keep theirs open
		err = errors.Join(err, s.nodes.Shutdown(ctx))
	}
	err = errors.Join(err, s.admin.CloseListeners(), s.admin.Shutdown(ctx))
	if ctx.Err() != nil {
		s.cut()
	}
	return err
}

// cut closes what is left of all connections.
func (s *Server) cut() {
	ctx, cancel := context.WithTimeout(context.Background(), cutFor)
	defer cancel()
	groups := append(s.clients(), s.admin)
	if s.nodes != nil {
		groups = append(groups, s.nodes)
	}
	for _, g := range groups {
		_ = g.Cut(ctx) // if it fails, the process ends without them
	}
}

// clients returns the groups of listeners whose clients Shutdown waits for.
func (s *Server) clients() []*wire.Group { return []*wire.Group{s.public, s.insecure, s.local} }

// awaitClients waits until the connections of clients are gone, for drainFor at most.
func (s *Server) awaitClients(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	for begun := time.Now(); s.public.Open()+s.insecure.Open()+s.local.Open() > 0; {
		s.cutWaiting(time.Since(begun))
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// cutWaiting closes connections on which no request is under way and that have had their time. drained
// is the time since the listeners were closed.
func (s *Server) cutWaiting(drained time.Duration) {
	for _, g := range s.clients() {
		if g.CloseSilent(silentFor); !s.public.Outlived {
			continue
		}
		if drained >= outlivedKeptFor {
			g.CloseKept()
		}
		if drained >= outlivedSilentFor {
			g.CloseSilent(0)
		}
	}
}
