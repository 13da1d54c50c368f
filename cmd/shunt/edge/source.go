package edge

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"shunt/api/admin"
	"shunt/api/edges"
	"shunt/cmd/shunt/version"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

// source is the log of the writer, as the follower of this edge reads it. It implements clusterlog.Log for a node that
// never leads. On the same questions it gives the hits of this edge.
type source struct {
	client *client
	rows   *replicate.Rows
	log    *slog.Logger
	began  uint64 // position in the outbox of the first hits of this process

	token       func() (string, error)   // reads the token again
	certificate func() admin.Certificate // for visitors of this edge; nil: it does not speak TLS
	waiting     waiting
	quiet       bool // the last failure was reported; of Follow's goroutine
	apart       bool // the clocks were last found to be apart; of Follow's goroutine

	revoked  atomic.Bool
	revoking sync.Mutex // held by who changes revoked
	refusals uint64     // of the token, by any call; guarded by revoking
}

// waiting is what was last counted in the outbox beyond what an ask had. It belongs to Follow's goroutine.
type waiting struct {
	hits    *uint64
	counted time.Time
}

const (
	maxCountedBytes = 64 << 20         // of records whose hits are counted
	countInterval   = 10 * time.Second // between two counts
)

const (
	leastPause = 200 * time.Millisecond // after a failure
	mostPause  = 5 * time.Second
)

var errNeverLeads = errors.New("an edge never leads")

// Campaign implements clusterlog.Log.
func (*source) Campaign(context.Context, string) (clusterlog.Leadership, error) {
	return nil, errNeverLeads
}

// Status implements clusterlog.Log.
func (*source) Status(context.Context) (clusterlog.Status, error) {
	return clusterlog.Status{}, clusterlog.ErrUnavailable
}

// Follow implements clusterlog.Log. Before it returns that this edge cannot follow from its position, the writer has
// all hits of the edge that were in its outbox.
func (s *source) Follow(ctx context.Context, from clusterlog.Position, fn func(clusterlog.Progress) error) error {
	pause := leastPause
	for at := from; ; {
		after, err := s.step(ctx, at, fn)
		at = after
		var own *ownError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &own):
			return own.error
		case err == nil:
			pause = leastPause
			continue
		}
		s.report(err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause = min(2*pause, mostPause)
	}
}

// ownError is an error that ends Follow.
type ownError struct{ error }

// report logs the first failure of several in turn.
func (s *source) report(err error) {
	if errors.Is(err, errRevoked) {
		if token, err := s.token(); err == nil { // there may be another one by now
			s.client.token.text.Store(&token)
		}
		return
	}
	if s.quiet {
		return
	}
	s.quiet = true
	s.log.Warn("this edge cannot follow its writer; it redirects with the links that it has, and keeps its hits", "writer", s.client.origin, "error", err)
}

// refused notes that the writer has refused the token of this edge, in answer to any call. Any goroutine may call it.
func (s *source) refused(why error) {
	s.revoking.Lock()
	defer s.revoking.Unlock()
	s.refusals++
	if s.setRevoked(true) {
		s.log.Error("this edge has stopped redirecting, and keeps its hits until it has a valid token", "writer", s.client.origin, "error", why)
	}
}

// taking returns what notes that the writer takes the token again, in answer to a question that is asked now. It does
// nothing if another call is refused meanwhile.
func (s *source) taking() (accepted func()) {
	s.revoking.Lock()
	defer s.revoking.Unlock()
	before := s.refusals
	return func() {
		s.revoking.Lock()
		defer s.revoking.Unlock()
		if s.refusals == before && s.setRevoked(false) {
			s.log.Info("the writer takes the token of this edge again", "writer", s.client.origin)
		}
	}
}

// setRevoked notes whether the writer refuses this edge, durably: a restart does not let it redirect again. It reports
// whether that is new. The caller holds revoking.
func (s *source) setRevoked(revoked bool) bool {
	if s.revoked.Swap(revoked) == revoked {
		return false
	}
	if err := s.rows.NoteRevoked(revoked); err != nil {
		s.log.Error("it cannot be noted whether this edge is revoked", "revoked", revoked, "error", err)
	}
	return true
}

// step asks once, gives hits, and passes on entries. It returns the position after them.
func (s *source) step(ctx context.Context, at clusterlog.Position, fn func(clusterlog.Progress) error) (clusterlog.Position, error) {
	ask, records, err := s.ask(at)
	if err != nil {
		return at, err
	}
	sent, accepted := time.Now(), s.taking()
	answer, encoded, err := s.client.follow(ctx, ask, records)
	if err != nil {
		return at, err
	}
	if accepted(); s.quiet {
		s.quiet = false
		s.log.Info("this edge follows its writer again", "writer", s.client.origin)
	}
	s.heed(ctx, &answer)
	if answer.Copy != edges.NotNeeded {
		s.rows.DoubtLinks() // from now on, until the copy is there; what is in the outbox comes from a place that is not in the log
	}
	left, err := s.taken(&answer)
	if err != nil {
		return at, err
	}
	if answer.Copy != edges.NotNeeded {
		if left {
			return at, nil // hits first
		}
		return at, &ownError{fmt.Errorf("%w (%s)", errorOf(answer.Copy), answer.Copy)}
	}
	p := clusterlog.Progress{After: at, Head: answer.Head}
	for _, one := range encoded {
		entry, after, err := p.After.Follow(one)
		if err != nil {
			return at, &ownError{err}
		}
		p.Entries, p.After = append(p.Entries, entry), after
	}
	if p.After.Sequence >= answer.Head {
		p.AsOf = sent.Add(time.Duration(min(max(answer.WaitedMs, 0), time.Since(sent).Milliseconds())) * time.Millisecond)
	}
	if err := fn(p); err != nil {
		return at, &ownError{err}
	}
	return p.After, nil
}

// maxClockOffset is how far the clock of an edge may be from its writer's: as far as those of two nodes of a cluster.
const maxClockOffset = 10 * time.Minute

// heed tells what an answer says besides entries, and waits if the writer takes no hits for a moment.
func (s *source) heed(ctx context.Context, a *edges.Answer) {
	if a.Lost > 0 {
		s.log.Error("hits of this edge are lost: its server was restored from a backup that lacks them, after this edge had dropped them", "records", a.Lost)
	}
	apart := a.NowMs != 0 && time.Since(time.UnixMilli(a.NowMs)).Abs() > maxClockOffset
	switch {
	case apart && !s.apart:
		s.log.Error("the clock of this edge and that of its writer are apart: hits count in the hours that this clock shows, and links expire by it; correct the wrong one, preferably with NTP",
			"here", time.Now().UTC().Format(time.RFC3339), "writer", time.UnixMilli(a.NowMs).UTC().Format(time.RFC3339))
	case !apart && s.apart:
		s.log.Info("the clocks of this edge and of its writer agree again")
	}
	if s.apart = apart; a.Busy {
		select {
		case <-time.After(leastPause):
		case <-ctx.Done():
		}
	}
}

// fits reports whether the last record that the writer has taken is that of this edge's outbox, as far as the edge
// still knows.
func (s *source) fits(a *edges.Answer) (bool, error) {
	var last replicate.RecordHash
	if err := last.UnmarshalText([]byte(a.Last)); err != nil {
		return false, fmt.Errorf("the writer says what it has taken in another way: %w", err)
	}
	has, err := s.rows.RecordHash(a.Taken)
	switch {
	case errors.Is(err, replicate.ErrOutboxUnknown):
		return false, nil
	case errors.Is(err, replicate.ErrOutboxDropped): // the writer was restored
		return true, nil
	}
	return has == last, err
}

// ask returns the next question, with what comes next of the outbox.
func (s *source) ask(at clusterlog.Position) (*edges.Ask, [][]byte, error) {
	id, _ := s.rows.Log()
	outbox, _ := s.rows.OutboxID()
	first := s.rows.Metrics().OutboxFirst
	before, err := s.rows.RecordHash(first - 1)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the outbox: %w", err)
	}
	posted, err := s.rows.Outbox(first-1, edges.MaxRecordsBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the outbox: %w", err)
	}
	ask := &edges.Ask{
		Key: clusterlog.FingerprintOf(s.rows.Store().Identity().VisitorKey).String(), Log: id.String(), At: at.String(),
		Outbox: hex.EncodeToString(outbox[:]), First: posted.First, Before: before.String(), Program: version.Text(), Applied: at.Sequence,
	}
	records := posted.Records[:min(len(posted.Records), edges.MaxParts)]
	s.describe(ask, records)
	return ask, records, nil
}

// describe says in a question what people want to know of this edge.
func (s *source) describe(ask *edges.Ask, records [][]byte) {
	if s.certificate != nil {
		if c := s.certificate(); !c.NotAfter.IsZero() {
			ask.ServesTill = c.NotAfter.Unix()
		}
	}
	m, given := s.rows.Metrics(), uint64(0)
	for _, record := range records {
		given += uint64(len(record))
	}
	last := ask.First + uint64(len(records)) - 1
	if last+1 >= m.OutboxNext {
		ask.Hits = new(uint64)
		return
	}
	ask.HitsBytes = max(m.OutboxBytes, given) - given
	if time.Since(s.waiting.counted) > countInterval {
		s.waiting = waiting{counted: time.Now()}
		if ask.HitsBytes > maxCountedBytes {
			return
		}
		if n, err := s.rows.WaitingHits(last); err == nil {
			s.waiting.hits = &n
		}
	}
	ask.Hits = s.waiting.hits
}

// taken drops what the writer has taken of the outbox; left reports whether there is more. A writer that was restored
// has taken less than this edge has dropped.
func (s *source) taken(a *edges.Answer) (left bool, err error) {
	m := s.rows.Metrics()
	fits, err := s.fits(a)
	if err != nil {
		return false, err
	}
	if !fits {
		s.log.Error("the data folder of this edge is older than what its writer knows of it: it was rolled back, such as by a snapshot of its machine, or copied. "+
			"It begins another outbox, with the hits that it has counted since its start", "taken", a.Taken, "next", m.OutboxNext)
		began := s.began
		s.began = 1 // all hits of the other outbox are of this process
		return true, s.rows.RenewOutboxFrom(began)
	}
	for more := true; more; {
		if more, err = s.rows.DropOutbox(a.Taken); err != nil {
			return false, err
		}
	}
	return max(a.Taken+1, m.OutboxFirst) < m.OutboxNext, nil
}
