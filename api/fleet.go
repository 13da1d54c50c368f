package api

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// A fleet is the listeners of one way in, with the HTTP server that they share.
type fleet struct {
	owner    *Server
	http     *fasthttp.Server
	limits   limits // of each listener
	patience patience

	accepting sync.WaitGroup // calls of http.Serve; added to while draining is not set, with mu held
	mu        struct {
		sync.Mutex
		listeners []*listener
	}
}

func (s *Server) newFleet(handle fasthttp.RequestHandler, lim limits, p patience) *fleet {
	return &fleet{owner: s, http: s.newFastHTTP(handle), limits: lim, patience: p}
}

var errShutDown = errors.New("api: the server is shut down")

// serve serves ln until Shutdown is through, or until ln fails.
func (f *fleet) serve(ln net.Listener) error {
	l := newListener(ln, f.limits, f.patience, f.owner.log)
	if !f.add(l) {
		return ln.Close() // Shutdown came first: there is nothing to serve
	}
	done := make(chan struct{})
	var sweeper sync.WaitGroup
	sweeper.Go(func() { l.sweepUntil(done) })
	err := f.http.Serve(l)
	f.accepting.Done()
	if f.owner.draining.Load() {
		<-f.owner.stopped
	} else {
		l.closeAll()
	}
	close(done)
	sweeper.Wait()
	f.remove(l)
	return err
}

// add returns false if the server is draining.
func (f *fleet) add(l *listener) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owner.draining.Load() {
		return false
	}
	f.mu.listeners = append(f.mu.listeners, l)
	f.accepting.Add(1)
	return true
}

func (f *fleet) remove(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.listeners = slices.DeleteFunc(f.mu.listeners, func(other *listener) bool { return other == l })
}

// open returns the number of connections.
func (f *fleet) open() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.mu.listeners {
		n += l.open()
	}
	return n
}

// closeListeners returns when no connection is accepted any more: fasthttp counts whoever accepts as a connection, and
// looks only ten times a second whether all have gone.
func (f *fleet) closeListeners() error {
	errs := f.closeEach()
	f.accepting.Wait()
	return errors.Join(errs...)
}

func (f *fleet) closeEach() (errs []error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.mu.listeners {
		errs = append(errs, l.Close())
	}
	return errs
}

// closeSilent ends the connections that were opened at least age ago and have sent nothing yet.
func (f *fleet) closeSilent(age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.mu.listeners {
		l.closeSilent(age)
	}
}

// Bounds of draining.
const (
	drainFor  = 3 * time.Second       // how long keep-alive clients have to come once more and be told to close
	drainPoll = 10 * time.Millisecond // how often it is looked whether all have gone
	silentFor = 2 * sweepInterval     // how old a connection without a byte must be to be cut; more than one, less than drainFor
)

// Shutdown drains: /readyz says not ready, every answer that follows carries Connection: close, the public and the
// local listeners are closed, live streams end. Clients have drainFor to finish and go, those that have never sent a
// byte silentFor; then idle connections are closed, and requests under way are waited for until ctx ends. The admin
// address goes last. After an error of ctx, connections may be left.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.draining.Swap(true) {
		return errShutDown
	}
	defer close(s.stopped)
	close(s.live.ending)
	err := errors.Join(s.public.closeListeners(), s.insecure.closeListeners(), s.local.closeListeners())
	s.awaitClients(ctx)
	for _, f := range s.clients() {
		f.closeSilent(0)
	}
	err = errors.Join(err, s.public.http.ShutdownWithContext(ctx), s.insecure.http.ShutdownWithContext(ctx),
		s.local.http.ShutdownWithContext(ctx))
	err = errors.Join(err, s.admin.closeListeners())
	s.admin.closeSilent(0)
	return errors.Join(err, s.admin.http.ShutdownWithContext(ctx))
}

// clients returns the ways in whose clients are waited for.
func (s *Server) clients() []*fleet { return []*fleet{s.public, s.insecure, s.local} }

// awaitClients waits until the connections of clients are gone, for drainFor at most.
func (s *Server) awaitClients(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	poll := time.NewTicker(drainPoll)
	defer poll.Stop()
	for s.public.open()+s.insecure.open()+s.local.open() > 0 {
		for _, f := range s.clients() {
			f.closeSilent(silentFor)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}
