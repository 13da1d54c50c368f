package edge

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"shunt/api"
	"shunt/api/account"
	"shunt/api/edges"
	"shunt/api/problem"
	"shunt/engine"
	"shunt/storage"
	"shunt/storage/clusterlog"
	"shunt/storage/replicate"
)

const (
	// maxLogBytes bounds the log of changes for edges: that of some days for most servers. An edge that was away for
	// longer takes a new copy.
	maxLogBytes = 256 << 20

	trimInterval = 10 * time.Second
	lookInterval = time.Minute // between two looks whether there are edges

	// busyPause is the time between two attempts to apply hits while the store is busy.
	busyPause = 20 * time.Millisecond
)

// A Writer is what a server of its own does for its edges. Any goroutine may call its methods.
type Writer struct {
	rows     *replicate.Rows
	engine   *engine.Engine
	accounts *account.Accounts
	key      [16]byte // of visitors
	log      *slog.Logger
	ahead    sync.Map // names of edges that know changes that this server lacks, each of which was logged
}

// NewWriter returns what a server does for its edges. Its store must be of no cluster, and of no edge.
func NewWriter(store *storage.Store, e *engine.Engine, a *account.Accounts, log *slog.Logger) *Writer {
	return &Writer{rows: replicate.Of(store), engine: e, accounts: a, key: store.Identity().VisitorKey, log: log}
}

// Calls returns what answers edges.
func (w *Writer) Calls() api.Edges {
	return api.Edges{Identity: w.identity, Copy: w.copy, Follow: w.follow, Head: w.head, Met: w.rows.EdgeNames, Forget: w.rows.ForgetEdge, Caps: w.engine.RecordAsked}
}

// Run keeps the log within its bound, and ends it when there are no edges any more, until ctx is done.
func (w *Writer) Run(ctx context.Context) error {
	trim, look := time.NewTicker(trimInterval), time.NewTicker(lookInterval)
	defer trim.Stop()
	defer look.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-trim.C:
			for more := true; more && err == nil && ctx.Err() == nil; {
				more, err = w.rows.TrimEdgeLog(maxLogBytes)
			}
		case <-look.C:
			err = w.endWithoutEdges()
		}
		if err != nil {
			w.log.Error("the log of changes for edges cannot be kept within its bound; retrying", "error", err)
		}
	}
}

// endWithoutEdges ends the log if no edge has a token.
func (w *Writer) endWithoutEdges() error {
	if _, _, _, exists := w.rows.EdgeLog(); !exists {
		return nil
	}
	tokens, err := w.accounts.EdgeTokens()
	if err != nil || len(tokens) > 0 {
		return err
	}
	w.log.Info("no token of an edge is left, so the log of changes for edges ends")
	return w.rows.EndEdgeLog()
}

func (w *Writer) identity() edges.Identity {
	return edges.Identity{Version: edges.Version, VisitorKey: w.key[:]}
}

// head returns the sequence of the last entry of the log.
func (w *Writer) head() uint64 {
	_, at, _, _ := w.rows.EdgeLog()
	return at.Sequence
}

// copy writes a copy of the links, at a position of the log, which begins if there was none.
func (w *Writer) copy(ctx context.Context, _ string, out io.Writer) error {
	if err := w.rows.BeginEdgeLog(); err != nil {
		return err
	}
	return w.rows.WriteCopy(ctx, out)
}

// follow is api.Edges.Follow.
func (w *Writer) follow(ctx context.Context, name string, ask *edges.Ask, records [][]byte) (a edges.Answer, entries [][]byte, err error) {
	place, err := w.readPlace(ask)
	if err != nil {
		return a, nil, err
	}
	a = edges.Answer{Version: edges.Version}
	if err := w.take(ctx, name, &place, ask, records, &a); err != nil {
		return a, nil, err
	}
	for began := time.Now(); ; {
		entries, a.Head, err = w.rows.EdgeEntries(place.log, place.at, edges.MaxEntriesBytes)
		if a.Copy = reasonOf(err); a.Copy != edges.NotNeeded {
			return a, nil, nil
		}
		a.WaitedMs, a.NowMs = time.Since(began).Milliseconds(), time.Now().UnixMilli()
		entries = entries[:min(len(entries), edges.MaxParts)]
		if err != nil || len(entries) > 0 || len(records) > 0 || ask.NoWait || ctx.Err() != nil {
			return a, entries, err
		}
		select {
		case <-w.rows.AwaitEdgeLog(place.at.Sequence):
		case <-ctx.Done():
		}
	}
}

// place is where an edge is.
type place struct {
	log    clusterlog.ID
	at     clusterlog.Position
	outbox clusterlog.OutboxID
	before replicate.RecordHash // of the record before ask.First
}

// readPlace reads where an edge says that it is. Errors are problems.
func (w *Writer) readPlace(ask *edges.Ask) (p place, err error) {
	key, err := clusterlog.ParseFingerprint([]byte(ask.Key))
	if err == nil {
		p.log, err = clusterlog.ParseID([]byte(ask.Log))
	}
	if err == nil {
		p.at, err = clusterlog.ParsePosition([]byte(ask.At))
	}
	if err == nil {
		err = p.outbox.UnmarshalText([]byte(ask.Outbox))
	}
	if err == nil {
		err = p.before.UnmarshalText([]byte(ask.Before))
	}
	switch {
	case err != nil:
		return p, problem.New(problem.BadRequest, "the edge says where it is in another way: %v", err)
	case key != clusterlog.FingerprintOf(w.key):
		return p, problem.New(problem.BadRequest, "the data folder of this edge is that of an edge of another server; begin with an empty folder")
	}
	return p, nil
}

// given is what an edge gives of its outbox.
type given struct {
	edge    string   // its name
	kept    [16]byte // see replicate.Rows.MeetEdge
	first   uint64   // position of the first record
	before  replicate.RecordHash
	records [][]byte
	astray  bool // its place is not in the log
}

// take applies records of an edge's outbox, and says how far it got. If the edge has another record than was applied
// last, none of them counts: the edge sees it in the answer, and begins another outbox.
func (w *Writer) take(ctx context.Context, name string, p *place, ask *edges.Ask, records [][]byte, a *edges.Answer) error {
	kept, err := w.rows.MeetEdge(name, p.outbox)
	if errors.Is(err, replicate.ErrTooManyEdges) {
		return problem.New(problem.Invalid, "%v", replicate.ErrTooManyEdges) // not forbidden, which would mean that it was revoked
	}
	if err != nil {
		return err
	}
	through, last, err := w.rows.PulledThrough(kept)
	if err == nil && len(records) > 0 && through+1 < ask.First+uint64(len(records)) {
		if err = w.apply(ctx, &given{name, kept, ask.First, p.before, records, w.astray(name, p)}, a); err == nil {
			through, last, err = w.rows.PulledThrough(kept)
		}
	}
	a.Taken, a.Last = through, last.String()
	return err
}

// astray reports whether the place of an edge is not in the log, or not known to be: its entries may be dropped.
func (w *Writer) astray(name string, p *place) bool {
	_, _, err := w.rows.EdgeEntries(p.log, p.at, 1)
	switch reasonOf(err) {
	case edges.NotNeeded:
		w.ahead.Delete(name)
		return false
	case edges.Ahead, edges.Diverged:
		if _, said := w.ahead.LoadOrStore(name, true); said {
			return true // an edge asks many times until it has its copy
		}
		w.log.Error("an edge knows changes that this server lacks: its data folder was rolled back, such as by a snapshot of its machine. "+
			"The edge takes the links as they are here; its hits of links that are lost count for their owners only", "edge", name)
	}
	return true
}

// apply applies records of an edge's outbox.
func (w *Writer) apply(ctx context.Context, g *given, a *edges.Answer) error {
	for next, end := uint64(0), g.first+uint64(len(g.records)); next < end; {
		var lost uint64
		err := w.engine.Pulled(func() ([]engine.PulledHits, error) {
			p, l, err := w.rows.ApplyEdge(g.kept, g.first, g.before, g.records, g.astray)
			next, lost = max(next, p.Next), l
			return p.Hits, err
		})
		if lost > 0 {
			a.Lost = lost
			w.log.Error("hits that an edge has counted are lost: this server was restored from a backup that lacks them, or knows the outbox no more", "edge", g.edge, "records", lost)
		}
		switch {
		case errors.Is(err, engine.ErrBehind), errors.Is(err, engine.ErrLoading):
			if ctx.Err() != nil {
				a.Busy = true
				return nil
			}
			time.Sleep(busyPause)
		case errors.Is(err, replicate.ErrOutboxDiffers):
			return nil
		case errors.Is(err, replicate.ErrCorrupt):
			return problem.New(problem.BadRequest, "a record of the edge's outbox: %v", err)
		case err != nil:
			return err
		}
	}
	return nil
}

// reasonOf returns why an edge that gets err must take a copy.
func reasonOf(err error) edges.Reason {
	switch {
	case errors.Is(err, clusterlog.ErrForeignLog):
		return edges.OtherLog
	case errors.Is(err, clusterlog.ErrBelowFloor):
		return edges.Behind
	case errors.Is(err, clusterlog.ErrAhead):
		return edges.Ahead
	case errors.Is(err, clusterlog.ErrDiverged):
		return edges.Diverged
	}
	return edges.NotNeeded
}

// errorOf is the inverse of reasonOf.
func errorOf(why edges.Reason) error {
	switch why {
	case edges.Behind:
		return clusterlog.ErrBelowFloor
	case edges.Ahead:
		return clusterlog.ErrAhead
	case edges.Diverged:
		return clusterlog.ErrDiverged
	}
	return clusterlog.ErrForeignLog
}
