package ops

import (
	"context"
	"errors"
	"slices"
	"time"

	"shunt/api/account"
	"shunt/api/folder"
	"shunt/api/jsonbody"
	"shunt/engine"
)

// Figures are the figures of a link or an owner in an answer: only the first two fields, if no more
// is asked for. A list that is asked for and empty is [].
type Figures struct {
	Hits       uint64          `json:"hits"`
	Unique     uint64          `json:"unique"`
	Imported   uint64          `json:"imported_hits,omitempty"` // not in Hits: hits that were imported, which no window has
	From       time.Time       `json:"from,omitzero"`
	To         time.Time       `json:"to,omitzero"`
	Zone       string          `json:"time_zone,omitempty"` // of the days of the window and of the series
	Series     []Bucket        `json:"series,omitzero"`
	Bots       *BotFigures     `json:"bots,omitempty"`
	Scans      *uint64         `json:"scans,omitempty"` // hits by the QR code, which are among Hits
	Referrers  []ValueFigures  `json:"referrers,omitzero"`
	Countries  []ValueFigures  `json:"countries,omitzero"`
	Devices    []ValueFigures  `json:"devices,omitzero"`
	Browsers   []ValueFigures  `json:"browsers,omitzero"`
	Durability *Durability     `json:"durability,omitempty"`
	Error      *float64        `json:"error,omitempty"`
	Targets    []TargetFigures `json:"targets,omitzero"`
	Top        []LinkFigures   `json:"top,omitzero"`
	Links      []ComparedLink  `json:"links,omitzero"`
	TopBeyond  uint64          `json:"-"` // links that are not in Top have at most that many hits, if MaxLinks left some out
	TopRanked  time.Time       `json:"-"` // when the links were ranked; zero: for this answer. See engine.TopLinks
}

// A ComparedLink is one of the links whose figures were asked for together.
type ComparedLink struct {
	Code string `json:"code"`
	Figures
}

// A Bucket is an hour or a day of a series.
type Bucket struct {
	From   time.Time `json:"from"`
	Hits   uint64    `json:"hits"`
	Unique uint64    `json:"unique"`
}

// BotFigures are the redirects that are not hits.
type BotFigures struct {
	Bots       uint64 `json:"bots"`
	Prefetches uint64 `json:"prefetches"`
	Heads      uint64 `json:"heads"`
}

// ValueFigures are the hits of one value of a dimension.
type ValueFigures struct {
	Value string `json:"value"`
	Hits  uint64 `json:"hits"`
}

// Durability says which hits would survive a power cut.
type Durability struct {
	DurableHits uint64    `json:"durable_hits"`
	FlushedAt   time.Time `json:"flushed_at"`
}

// LinkFigures are the figures of one of the most-hit links.
type LinkFigures struct {
	Host   string `json:"domain,omitempty"` // of its domain; absent: the default one
	Code   string `json:"code"`
	Hits   uint64 `json:"hits"`
	Unique uint64 `json:"unique"`
}

// TargetFigures are the figures of one target of a link.
type TargetFigures struct {
	Target uint8   `json:"target"`           // its number; 0: hits of the time when the link had one target, and imported ones
	URL    string  `json:"url,omitempty"`    // absent: the link no longer has this target
	Weight uint16  `json:"weight,omitempty"` // in the split; absent: it is in none
	Hits   uint64  `json:"hits"`
	Unique *uint64 `json:"unique,omitempty"` // absent for Target 0, of which it is not known
}

// Find returns the id of the live link that code names, if w admits it. It reads only the index in
// memory.
func (c *Calls) Find(caller account.Caller, code string, w Whose) (id uint64, err error) {
	if err := c.mayName(caller, w); err != nil {
		return 0, err
	}
	if !c.o.Engine.Ready() {
		return 0, engine.ErrLoading
	}
	l, ok := c.o.Engine.Resolve(w.key(code).View())
	if !ok {
		return 0, engine.ErrNotFound
	}
	id, owner := l.ID(), l.Owner()
	l.Release()
	return id, c.mayFind(caller, w, w.key(code), owner)
}

// mayFind returns engine.ErrNotFound for the link of an owner that neither w admits nor a folder.
func (c *Calls) mayFind(caller account.Caller, w Whose, k engine.Key, owner uint32) error {
	if w.has(owner) {
		return nil
	}
	if !c.isMember(caller, w) {
		return engine.ErrNotFound
	}
	_, in, err := c.o.Engine.FolderOf(k)
	if err == nil && c.sharedRight(caller, w, in) == folder.None {
		err = engine.ErrNotFound
	}
	return err
}

// Figures returns the figures of a link. For the two counts alone it does not read the cold record.
// A query that is Heavy takes turns with other costly work; its handler must take a place with
// BeginHeavy before.
func (c *Calls) Figures(caller account.Caller, code string, q FiguresQuery) (f Figures, err error) {
	if _, err := c.Find(caller, code, q.Whose); err != nil {
		return f, err
	}
	if !q.Heavy() {
		counts, err := c.o.Engine.Stats(context.Background(), q.Whose.key(code))
		return Figures{Hits: counts.Hits, Unique: counts.Unique}, err
	}
	err = c.inSteps(caller, func(pause func() error) error {
		q.Pause = pause
		f, err = c.linkFigures(q.Whose.key(code), &q)
		return err
	})
	return f, err
}

func (c *Calls) linkFigures(k engine.Key, q *FiguresQuery) (f Figures, err error) {
	if err := c.wantTarget(q, k); err != nil {
		return f, err
	}
	q.useDays(c.o.Engine)
	r, err := c.o.Engine.LinkReport(context.Background(), k, q.Query)
	if err != nil {
		return f, err
	}
	if f = q.answer(&r); q.Targets {
		f.Targets, err = c.targetFigures(k, r.Targets)
	}
	return f, err
}

// givenTarget is what a link says of a target to which it has given a number.
type givenTarget struct {
	url    string
	weight uint16
}

// givenTargets returns the targets of a link by their numbers: those that it has, and those that it has no longer and
// that were hit.
func (c *Calls) givenTargets(k engine.Key) (map[uint8]givenTarget, error) {
	numbers, err := c.o.Engine.TargetsHit(context.Background(), k)
	if err != nil {
		return nil, err
	}
	given := make(map[uint8]givenTarget, len(numbers))
	for _, n := range numbers {
		given[n] = givenTarget{}
	}
	d, err := c.o.Engine.Read(k)
	if d.Number != 0 {
		given[d.Number] = givenTarget{url: d.Target}
	}
	for _, rule := range d.Rules {
		given[rule.Target] = givenTarget{url: rule.URL}
	}
	for _, share := range d.Split {
		given[share.Target] = givenTarget{share.URL, share.Weight}
	}
	return given, err
}

// wantTarget refuses a query for a target with a number that the link never gave to one.
func (c *Calls) wantTarget(q *FiguresQuery, k engine.Key) error {
	if q.Target == 0 {
		return nil
	}
	d, err := c.o.Engine.Read(k)
	if err == nil && q.Target > d.LastTarget {
		err = jsonbody.FieldError("target", "unknown", "is not the number of a target that this link has, or had")
	}
	return err
}

// targetFigures returns the figures of all targets of a link, also of those without hits in the window.
func (c *Calls) targetFigures(k engine.Key, hit []engine.TargetHits) ([]TargetFigures, error) {
	given, err := c.givenTargets(k)
	if err != nil {
		return nil, err
	}
	all := make([]TargetFigures, 0, len(given)+1)
	for _, t := range hit {
		f := TargetFigures{Target: t.Target, Hits: t.Hits, URL: given[t.Target].url, Weight: given[t.Target].weight}
		if t.Target != 0 {
			f.Unique = &t.Unique
		}
		delete(given, t.Target)
		all = append(all, f)
	}
	for n, t := range given {
		all = append(all, TargetFigures{Target: n, URL: t.url, Weight: t.weight, Unique: new(uint64)})
	}
	slices.SortFunc(all, func(a, b TargetFigures) int { return int(a.Target) - int(b.Target) })
	return all, nil
}

// HitsByDay returns the hits of listed links in each of the last days, with the present one. It counts in turns with
// other costly work; the handler must take a place with BeginHeavy before.
func (c *Calls) HitsByDay(caller account.Caller, links []Link, days int) (each [][]Bucket, err error) {
	ids := make([]uint64, len(links))
	for i := range links {
		ids[i] = links[i].ID
	}
	q := engine.Query{From: c.o.Engine.Zone().DayOf(c.o.Now(), 1-days), Interval: engine.Daily}
	err = c.inSteps(caller, func(pause func() error) error {
		q.Pause = pause
		found, err := c.o.Engine.SeriesOf(context.Background(), ids, q)
		each = make([][]Bucket, len(found))
		for i := range found {
			for _, b := range found[i] {
				each[i] = append(each[i], Bucket(b))
			}
		}
		return err
	})
	return each, err
}

// A Watched is a link that a caller looks at again and again, of one goroutine.
type Watched struct {
	code    string
	whose   Whose
	id      uint64
	created time.Time
}

// Watch returns the link that code names, if w admits it.
func (c *Calls) Watch(caller account.Caller, code string, w Whose) (*Watched, error) {
	if _, err := c.Find(caller, code, w); err != nil {
		return nil, err
	}
	id, created, err := c.o.Engine.Made(w.key(code))
	return &Watched{code, w, id, created}, err
}

// Hits returns the hits of x, or engine.ErrNotFound if its code no longer names that link: a
// deleted code may have been taken again. A link whose figures were reset has another id, but was made when it
// was. It reads no visitors.
func (c *Calls) Hits(caller account.Caller, x *Watched) (uint64, error) {
	now, err := c.Find(caller, x.code, x.whose)
	if err != nil {
		return 0, err
	}
	if now != x.id {
		id, created, err := c.o.Engine.Made(x.whose.key(x.code))
		if err != nil {
			return 0, err
		}
		if !created.Equal(x.created) {
			return 0, engine.ErrNotFound
		}
		x.id = id
	}
	r, err := c.o.Engine.LinkReport(context.Background(), x.whose.key(x.code), engine.Query{AllTime: true})
	return r.Hits, err
}

// OwnerFigures returns the figures of all links of an owner, of those with a tag, or of a folder, in turn with
// other costly work. The figures go back only as far as days are kept, so the answer always has the
// window that they cover. The handler must take a place with BeginHeavy before.
func (c *Calls) OwnerFigures(caller account.Caller, q FiguresQuery) (f Figures, err error) {
	several, err := c.SeveralOwnerFigures(caller, []FiguresQuery{q})
	if err == nil {
		f = several[0]
	}
	return f, err
}

// SeveralOwnerFigures returns what OwnerFigures returns for each of queries, which one page shows and which are of the
// same links, in one turn if they are short: a page that took a turn for each would wait for other callers each
// time. The handler must take a place with BeginHeavy before.
func (c *Calls) SeveralOwnerFigures(caller account.Caller, queries []FiguresQuery) (several []Figures, err error) {
	if err := c.maySum(caller, &queries[0]); err != nil {
		return nil, err
	}
	err = c.inSteps(caller, func(pause func() error) error {
		for i := range queries {
			queries[i].Pause = pause
			queries[i].useDays(c.o.Engine)
		}
		several, err = c.ownerFigures(caller, queries)
		return err
	})
	return several, err
}

// maySum reports whether the caller may see the figures of several links: those that q names, or all of an owner or a
// folder.
func (c *Calls) maySum(caller account.Caller, q *FiguresQuery) error {
	if len(q.codes) == 0 {
		return c.maySumAll(caller, q)
	}
	err := c.mayName(caller, q.Whose)
	if errors.Is(err, engine.ErrNotFound) {
		err = errNoLink(q.codes[0])
	}
	return err
}

// maySumAll is maySum for a query that names no links.
func (c *Calls) maySumAll(caller account.Caller, q *FiguresQuery) error {
	if err := mayUse(caller, q.Whose); err != nil || q.folder == 0 {
		return err
	}
	return c.mayReadFolder(caller, q.Whose, q.folder, q.tag)
}

// errNoLink returns the error of a code among several.
func errNoLink(code string) error {
	return jsonbody.FieldError("codes", "invalid", "no link of yours has the code "+code)
}

// ownerFigures returns the figures of queries, which are of the same links.
func (c *Calls) ownerFigures(caller account.Caller, queries []FiguresQuery) (several []Figures, err error) {
	several = make([]Figures, len(queries))
	if len(queries[0].codes) > 0 {
		for i := 0; i < len(queries) && err == nil; i++ {
			several[i], err = c.compared(caller, &queries[i])
		}
		return several, err
	}
	reports, about, err := c.ownerReports(caller.Domains, queries)
	for i := 0; i < len(queries) && err == nil; i++ {
		q := &queries[i]
		several[i] = q.answer(&reports[i])
		if q.top > 0 {
			err = c.addTopLinks(&several[i], q, about, &reports[i])
		}
	}
	return several, err
}

// compared returns the figures of several links over one window, together and each. A code that names no link of the
// caller is an error.
func (c *Calls) compared(caller account.Caller, q *FiguresQuery) (f Figures, err error) {
	keys := make([]engine.Key, len(q.codes))
	for i, code := range q.codes {
		keys[i] = q.Whose.key(code)
		l, ok := c.o.Engine.Resolve(keys[i].View())
		if !ok {
			return f, errNoLink(code)
		}
		owner := l.Owner()
		l.Release()
		if err := c.mayFind(caller, q.Whose, keys[i], owner); errors.Is(err, engine.ErrNotFound) {
			return f, errNoLink(code)
		} else if err != nil {
			return f, err
		}
	}
	whole, each, err := c.o.Engine.CompareLinks(context.Background(), keys, q.Query)
	if err != nil {
		return f, err
	}
	f = q.answer(&whole)
	for i := range each {
		f.Links = append(f.Links, ComparedLink{q.codes[i], q.answer(&each[i])})
	}
	return f, nil
}

// addTopLinks adds the links with the most hits in the window of r to f. Others have at most f.TopBeyond hits, if it is
// not 0: see FiguresQuery.MaxLinks.
func (c *Calls) addTopLinks(f *Figures, q *FiguresQuery, about subject, r *engine.Report) error {
	f.Top = []LinkFigures{}
	if !r.From.Before(r.To) {
		return nil
	}
	asked := q.Query
	asked.Ranking = r.Ranking
	if asked.Interval != engine.NoSeries { // the list has no series, and defaults differ without one
		asked.From, asked.To = r.From, r.To
	}
	found, err := c.o.Engine.TopLinks(context.Background(), about.owners, about.of, asked, q.top)
	if err != nil {
		return err
	}
	for _, l := range found.Links {
		f.Top = append(f.Top, LinkFigures{Code: l.Code, Host: c.HostIn(l.Domain), Hits: l.Hits, Unique: l.Unique})
	}
	f.TopBeyond, f.TopRanked = found.Beyond, found.Ranked
	return nil
}

// answer returns the figures of r that q asks for.
func (q *FiguresQuery) answer(r *engine.Report) Figures {
	o := Figures{Hits: r.Hits, Unique: r.Unique, Imported: r.ImportedHits, From: r.From, To: r.To, Zone: r.Zone}
	if q.Interval != engine.NoSeries {
		o.Series = make([]Bucket, len(r.Series))
		for i, b := range r.Series {
			o.Series[i] = Bucket(b)
		}
	}
	if q.include.bots {
		o.Bots = &BotFigures{r.Bots, r.Prefetches, r.Heads}
	}
	if q.include.scans {
		scans := r.Dimensions[engine.Referrers].Scans()
		o.Scans = &scans
	}
	if q.include.durability {
		o.Durability = &Durability{r.DurableHits, r.FlushedAt.UTC()}
	}
	if q.include.uncertain {
		o.Error = &r.UniqueError
	}
	for d, list := range [engine.NumDimensions]*[]ValueFigures{
		engine.Referrers: &o.Referrers, engine.Countries: &o.Countries, engine.Devices: &o.Devices, engine.Browsers: &o.Browsers,
	} {
		if q.include.lists[d] {
			*list = shownValues(engine.Dimension(d), r.Dimensions[d], r.Hits)
		}
	}
	return o
}

// Names for the sums of several values: those that are not shown, and those that are not known.
const (
	OtherValues  = "other"
	unknownValue = "unknown"
)

// namedValue returns the name of a value; "" if it has none. A host that is called like the sum of others is not named,
// because anybody can send such a name in a Referer.
func namedValue(d engine.Dimension, value string) string {
	name := d.Name(value)
	if name == OtherValues || name == unknownValue || name == engine.DirectReferrer && value != "" {
		return ""
	}
	return name
}

// shownValues returns the values with the most hits and their names, and last the hits that have
// another value or no known one.
func shownValues(d engine.Dimension, values engine.Breakdown, hits uint64) []ValueFigures {
	shown := make([]ValueFigures, 0, engine.ShownValues+1)
	for _, v := range values.Top(len(values)) {
		name := namedValue(d, v.Value)
		if name == "" {
			continue
		}
		if len(shown) == engine.ShownValues || v.Hits > hits {
			break
		}
		shown = append(shown, ValueFigures{name, v.Hits})
		hits -= v.Hits
	}
	if hits > 0 {
		shown = append(shown, ValueFigures{OtherValues, hits})
	}
	return shown
}
