package api

import (
	"context"
	"errors"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/engine"
)

// statsObject is the answer of GET /stats/{code} and GET /stats: exactly the first two fields, if nothing more is
// asked for. A list that is asked for and empty is [].
type statsObject struct {
	Hits       uint64            `json:"hits"`
	Unique     uint64            `json:"unique"`
	From       time.Time         `json:"from,omitzero"`
	To         time.Time         `json:"to,omitzero"`
	Series     []bucketObject    `json:"series,omitzero"`
	Bots       *botsObject       `json:"bots,omitempty"`
	Referrers  []valueObject     `json:"referrers,omitzero"`
	Countries  []valueObject     `json:"countries,omitzero"`
	Devices    []valueObject     `json:"devices,omitzero"`
	Browsers   []valueObject     `json:"browsers,omitzero"`
	Durability *durabilityObject `json:"durability,omitempty"`
	Error      *float64          `json:"error,omitempty"`
	Top        []topObject       `json:"top,omitzero"`
}

type bucketObject struct {
	From   time.Time `json:"from"`
	Hits   uint64    `json:"hits"`
	Unique uint64    `json:"unique"`
}

type botsObject struct {
	Bots       uint64 `json:"bots"`
	Prefetches uint64 `json:"prefetches"`
	Heads      uint64 `json:"heads"`
}

type valueObject struct {
	Value string `json:"value"`
	Hits  uint64 `json:"hits"`
}

type durabilityObject struct {
	DurableHits uint64    `json:"durable_hits"`
	FlushedAt   time.Time `json:"flushed_at"`
}

type topObject struct {
	Code   string `json:"code"`
	Hits   uint64 `json:"hits"`
	Unique uint64 `json:"unique"`
}

// readStats is GET /stats/{code}. Whose link it is, is asked of the index in memory; for the two figures alone the cold
// record is not read.
func (s *Server) readStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := readStatsQuery(ctx, caller, linkParameters)
	if err != nil {
		return err
	}
	code, err := codeAsked(ctx)
	if err != nil {
		return err
	}
	if _, err := s.linkOf(code, q.guard); err != nil {
		return err
	}
	if !q.windowed && !q.include.any {
		stats, err := s.engine.Stats(context.Background(), code)
		if err != nil {
			return err
		}
		return writeJSON(ctx, fasthttp.StatusOK, statsObject{Hits: stats.Hits, Unique: stats.Unique})
	}
	return s.heavy.bounded(s.heavy.inTurn(func(ctx *fasthttp.RequestCtx, _ account.Caller) error {
		r, err := s.engine.LinkReport(context.Background(), code, q.Query)
		if err != nil {
			return err
		}
		return writeJSON(ctx, fasthttp.StatusOK, q.object(&r))
	}))(ctx, caller)
}

// linkOf returns the id of the live link that code names, if g lets the caller see it.
func (s *Server) linkOf(code string, g engine.Guard) (id uint64, err error) {
	if !s.engine.Ready() {
		return 0, engine.ErrLoading
	}
	l, ok := s.engine.Resolve([]byte(code))
	if !ok || !g.AnyOwner && l.Owner() != g.Owner {
		return 0, engine.ErrNotFound
	}
	id = l.ID()
	l.Release()
	return id, nil
}

// readOwnerStats is GET /stats: the figures of all links of an owner, or of those with a tag. They go as far back as
// days are kept, so the answer always says from when to when they are.
func (s *Server) readOwnerStats(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	q, err := readStatsQuery(ctx, caller, ownerParameters)
	if err != nil {
		return err
	}
	if q.owners, err = s.ownersOf(q.guard); err != nil {
		return err
	}
	r, err := s.engine.OwnerReport(context.Background(), q.owners, q.tag, q.Query)
	if err != nil {
		return q.explain(err)
	}
	o := q.object(&r)
	if q.top > 0 {
		if o.Top, err = s.topLinks(&q, &r); err != nil {
			return q.explain(err)
		}
	}
	return writeJSON(ctx, fasthttp.StatusOK, o)
}

// maxReportedOwners bounds the users whose figures are added up in one answer.
const maxReportedOwners = 1_000

// ownersOf returns whose links g lets the caller ask of: with owner=all, of everybody who ever was a user.
func (s *Server) ownersOf(g engine.Guard) (owners []uint32, err error) {
	if !g.AnyOwner {
		return []uint32{g.Owner}, nil
	}
	last, err := s.accounts.LastUserID()
	switch {
	case err != nil:
		return nil, err
	case last > maxReportedOwners:
		return nil, fieldError("owner", "too_many", "there were more than 1,000 users: ask for one of them")
	}
	for id := range last {
		owners = append(owners, id+1)
	}
	return owners, nil
}

// topLinks returns the links with the most hits in the window of r.
func (s *Server) topLinks(q *statsQuery, r *engine.Report) ([]topObject, error) {
	if !r.From.Before(r.To) {
		return []topObject{}, nil
	}
	asked := q.Query
	if asked.Interval != engine.NoSeries { // the list has none, and without it other defaults
		asked.From, asked.To = r.From, r.To
	}
	links, err := s.engine.TopLinks(context.Background(), q.owners, q.tag, asked, q.top)
	if err != nil {
		return nil, err
	}
	top := make([]topObject, len(links))
	for i, l := range links {
		top[i] = topObject(l)
	}
	return top, nil
}

// explain names the parameter that made the query go over too many links.
func (q *statsQuery) explain(err error) error {
	if !errors.Is(err, engine.ErrTooManyLinks) {
		return err
	}
	const limit = "10,000" // engine.MaxScannedLinks
	if q.tag != "" {
		return fieldError("tag", "too_many", "more than "+limit+" links have this tag")
	}
	return fieldError("top", "too_many", "there are more than "+limit+" links to choose from: ask with a tag that fewer have")
}

// object is the answer to q.
func (q *statsQuery) object(r *engine.Report) statsObject {
	o := statsObject{Hits: r.Hits, Unique: r.Unique, From: r.From, To: r.To}
	if q.Interval != engine.NoSeries {
		o.Series = make([]bucketObject, len(r.Series))
		for i, b := range r.Series {
			o.Series[i] = bucketObject(b)
		}
	}
	if q.include.bots {
		o.Bots = &botsObject{r.Bots, r.Prefetches, r.Heads}
	}
	if q.include.durability {
		o.Durability = &durabilityObject{r.DurableHits, r.FlushedAt.UTC()}
	}
	if q.include.uncertain {
		o.Error = &r.UniqueError
	}
	for d, list := range [engine.NumDimensions]*[]valueObject{
		engine.Referrers: &o.Referrers, engine.Countries: &o.Countries, engine.Devices: &o.Devices, engine.Browsers: &o.Browsers,
	} {
		if q.include.lists[d] {
			*list = shownValues(engine.Dimension(d), r.Dimensions[d], r.Hits)
		}
	}
	return o
}

// Names that a value has not for itself: what is not shown, and what is not known.
const (
	otherValues  = "other"
	unknownValue = "unknown"
)

// shownValues returns the values with the most hits, by their names, and last how many of all hits have another or
// no known value. A host that is called like one of our own words, which anybody can put into a header, is not shown.
func shownValues(d engine.Dimension, values engine.Breakdown, hits uint64) []valueObject {
	shown := make([]valueObject, 0, engine.ShownValues+1)
	for _, v := range values.Top(len(values)) {
		name := d.Name(v.Value)
		if name == otherValues || name == unknownValue || name == engine.DirectReferrer && v.Value != "" {
			continue
		}
		if len(shown) == engine.ShownValues || v.Hits > hits {
			break
		}
		shown = append(shown, valueObject{name, v.Hits})
		hits -= v.Hits
	}
	if hits > 0 {
		shown = append(shown, valueObject{otherValues, hits})
	}
	return shown
}
