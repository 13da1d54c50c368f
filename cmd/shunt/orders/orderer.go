package orders

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"shunt/api/certificate"
)

// Options are what an Orderer needs.
type Options struct {
	Source       *Source // which has the names and the certificates
	Authority    Authority
	Reach        *Reach
	Address      string // of the authority, for the log
	Leads        func() bool
	Log          *slog.Logger
	Now          func() time.Time
	JitterFactor func() float64 // from 0 to 1; nil: random
}

// An Orderer gets certificates, and renews them.
type Orderer struct {
	o     Options
	names *Names
	kept  *certificate.Certificates

	working sync.WaitGroup // attempts

	// Of Run's goroutine.
	led      bool                 // the last look was that of a leader
	unwanted map[string]time.Time // since when hosts with a certificate want none
	forgetAt time.Time            // the store refused the last forget: when to try again

	mu struct {
		sync.Mutex
		running map[string]bool // hosts with an attempt
		hurried map[string]bool // hosts whose backoff is over, because somebody asked
		orders  window

		unkept   map[string]*certificate.Host // of failures that the store did not take: they have a backoff as well
		refusing bool                         // the store refused the last write
	}
}

// New returns an Orderer for the hosts of a source. Run runs it.
func New(o Options) *Orderer {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.JitterFactor == nil {
		o.JitterFactor = rand.Float64
	}
	r := &Orderer{o: o, names: &o.Source.names, kept: o.Source.certificates, unwanted: make(map[string]time.Time)}
	r.mu.running, r.mu.hurried, r.mu.unkept = make(map[string]bool), make(map[string]bool), make(map[string]*certificate.Host)
	return r
}

// lookInterval is the time between two looks. A look takes microseconds.
const lookInterval = time.Second

// Run gets and renews certificates until ctx ends.
func (r *Orderer) Run(ctx context.Context) error {
	defer r.working.Wait()
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		r.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// look begins the attempts that are due, if this node leads.
func (r *Orderer) look(ctx context.Context) {
	if !r.o.Leads() {
		r.led = false
		clear(r.unwanted)
		return
	}
	if !r.led && !r.begin() {
		return
	}
	r.forget()
	now := r.o.Now()
	for _, host := range r.waiting(now) {
		if !r.take(host, now) {
			continue
		}
		r.working.Go(func() {
			defer r.done(host)
			r.attempt(ctx, host, now)
		})
	}
}

// begin begins to lead: what an earlier leader left is settled, and its orders count. It reports whether it did.
func (r *Orderer) begin() bool {
	if err := r.kept.SettleAll(); err != nil {
		return false // the store does not take writes yet
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.orders = window{}
	clear(r.mu.unkept) // an earlier leader knows better
	now := r.o.Now()
	for _, h := range r.kept.All() {
		r.mu.orders.begun = append(r.mu.orders.begun, recent(slices.Clone(h.Ordered), now)...)
	}
	r.led = true
	return true
}

const (
	// forgetAfter is how long a certificate stays that nobody wants: whoever removed a domain by mistake, or set up a
	// node with other settings, has the time to notice, and orders are counted by hosts that are known.
	forgetAfter    = 24 * time.Hour
	forgetInterval = time.Minute // until a forget that the store refused is tried again
)

// forget removes certificates of hosts that have none from the authority any more. They are not served meanwhile.
func (r *Orderer) forget() {
	now := r.o.Now()
	if now.Before(r.forgetAt) {
		return
	}
	var gone []string
	for _, h := range r.kept.All() {
		since, there := r.unwanted[h.Name]
		switch {
		case !r.names.gone(h, now) || r.isRunning(h.Name):
			delete(r.unwanted, h.Name)
		case !there:
			r.unwanted[h.Name] = now
		case now.Sub(since) >= forgetAfter:
			gone = append(gone, h.Name)
		}
	}
	if len(gone) == 0 {
		return
	}
	err := inStore(r.kept.Forget(gone...))
	if r.written(err); err != nil {
		r.forgetAt = now.Add(forgetInterval)
		return
	}
	for _, host := range gone {
		delete(r.unwanted, host)
		r.o.Log.Info("deleted the certificate of a host that is no domain any more", slog.String("domain", host))
	}
}

// written logs that the store refuses what is known of certificates: once, until it takes a write again.
func (r *Orderer) written(err error) {
	r.mu.Lock()
	first := err != nil && !r.mu.refusing
	r.mu.refusing = err != nil
	r.mu.Unlock()
	if first {
		r.o.Log.Warn("the store does not take certificates, failures of them, or their deletion; trying again", slog.Any("cause", err))
	}
}

// Of returns what is known of the certificate of a host: also a failure that the store did not take. nil: nothing. Any
// goroutine may call it.
func (r *Orderer) Of(host string) *certificate.Host {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ofLocked(host)
}

func (r *Orderer) ofLocked(host string) *certificate.Host {
	if h := r.mu.unkept[host]; h != nil {
		return h
	}
	return r.kept.Of(host)
}

// waiting returns the hosts whose attempts are due, in the order in which they go: those that failed least first, so
// that one that fails keeps no other waiting.
func (r *Orderer) waiting(now time.Time) (hosts []string) {
	all := r.names.all()
	r.mu.Lock()
	defer r.mu.Unlock()
	failures, at := make(map[string]int), make(map[string]time.Time)
	for _, host := range all {
		h := r.ofLocked(host)
		if h != nil {
			failures[host] = h.Failures
		}
		if at[host] = due(h); at[host].After(now) && !(r.mu.hurried[host] && lacks(h)) || r.mu.running[host] {
			continue
		}
		hosts = append(hosts, host)
	}
	slices.SortStableFunc(hosts, func(a, b string) int {
		return cmp.Or(cmp.Compare(failures[a], failures[b]), at[a].Compare(at[b]))
	})
	return hosts
}

// take begins an attempt, unless there are enough.
func (r *Orderer) take(host string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.ofLocked(host)
	if len(r.mu.running) >= maxAttempts || r.mu.running[host] || !r.mu.orders.take(now, h != nil && h.Failures > 0) {
		return false
	}
	r.mu.running[host] = true
	return true
}

// done ends an attempt. Whoever asked during it has what they asked for.
func (r *Orderer) done(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.mu.running, host)
	delete(r.mu.hurried, host)
}

func (r *Orderer) isRunning(host string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.running[host]
}

// giveBack takes back an order that did not reach the authority.
func (r *Orderer) giveBack(begun time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.orders.back(begun)
}

// Hurry ends the backoff of a host: whoever looks after it has mended something. During an attempt it does nothing.
func (r *Orderer) Hurry(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.mu.running[host] && r.names.wants(host) && lacks(r.ofLocked(host)) {
		r.mu.hurried[host] = true
	}
}

// lacks reports whether a host has no certificate, or could not renew it.
func lacks(h *certificate.Host) bool { return h == nil || h.Certificate == nil || h.Error != "" }

// attempt tries to get the certificate of a host, and keeps how that went.
func (r *Orderer) attempt(ctx context.Context, host string, begun time.Time) {
	h := certificate.Host{Name: host}
	if had := r.Of(host); had != nil {
		h = *had
	}
	h.Server = host == r.names.Main
	ways, err := r.ways(ctx, &h)
	if r.isOver(ctx, host) {
		return
	}
	if err == nil {
		err = r.ordering(&h, begun)
	}
	if err != nil {
		r.giveBack(begun)
		r.fail(h, err)
		return
	}
	chain, key, err := r.o.Authority.Order(ctx, host, ways)
	if r.isOver(ctx, host) {
		return
	}
	if err == nil {
		got := h
		got.Chain, got.Key, got.TriedAt, got.Failures, got.Error, got.NextAt = chain, key, r.o.Now(), 0, "", time.Time{}
		if err = inStore(r.kept.Tried(got)); err == nil {
			r.settled(&got, nil)
			r.o.Log.Info("using a certificate", slog.String("domain", host), slog.Time("expires", r.kept.Of(host).NotAfter()))
			return
		}
	}
	r.fail(h, err)
}

// isOver reports whether an attempt is nobody's business any more.
func (r *Orderer) isOver(ctx context.Context, host string) bool {
	return ctx.Err() != nil || !r.o.Leads() || !r.names.wants(host)
}

// ways checks that a host leads here, and returns the challenges that it answers, best first.
func (r *Orderer) ways(ctx context.Context, h *certificate.Host) ([]string, error) {
	found, err := r.o.Reach.nonce(ctx, r.kept, h.Name)
	if err == nil {
		err = found.err(h.Name)
	}
	ways := found.ways()
	if r.o.Reach.Off && h.Failures%2 == 1 { // nobody knows which of them works
		slices.Reverse(ways)
	}
	return ways, err
}

// ordering keeps that an order begins: as one that failed, until its end is known. A process that ends meanwhile, or a
// node that leads next, waits as after a failure, and counts the order.
func (r *Orderer) ordering(h *certificate.Host, begun time.Time) error {
	h.Ordered = append(recent(slices.Clone(h.Ordered), begun), begun)
	began := *h
	began.Failures++
	began.TriedAt, began.NextAt = begun, begun.Add(backoff(began.Failures))
	err := inStore(r.kept.Ordering(began))
	r.settled(&began, err)
	return err
}

// fail keeps that an attempt failed. h is as it was before.
func (r *Orderer) fail(h certificate.Host, err error) {
	h.TriedAt = r.o.Now()
	h.Failures++
	wait := max(backoff(h.Failures), asked(err))
	wait += time.Duration(r.o.JitterFactor() * backoffJitter * float64(wait))
	h.Error, h.NextAt = reason(err), h.TriedAt.Add(wait)
	r.o.Source.failures.Add(1)
	r.o.Log.Warn("no certificate; trying again", slog.String("domain", h.Name), slog.Any("cause", err),
		slog.String("authority", r.o.Address), slog.String("needs", r.o.Reach.Unreachable), slog.Duration("in", wait.Round(time.Second)))
	r.settled(&h, inStore(r.kept.Tried(h)))
}

// settled notes whether the store took how an attempt went. What it did not take holds in memory.
func (r *Orderer) settled(h *certificate.Host, err error) {
	r.written(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.mu.unkept, h.Name); err != nil {
		r.mu.unkept[h.Name] = h
	}
}
