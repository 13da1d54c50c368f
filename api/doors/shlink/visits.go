package shlink

import (
	"slices"
	"time"

	"shunt/api/account"
	"shunt/api/ops"
	"shunt/api/problem"
	"shunt/engine"
)

// No visit is kept here by itself: of a link it is known how many hits it had in each hour, and later on each day. So a
// list of visits has one for each hit, of the beginning of its hour or day, without a browser, a referrer or a place.
// Hits that were imported, and those of days that are no longer kept, are in sums only.

// A Visit is a hit as Shlink's clients read it.
type Visit struct {
	Referer       string    `json:"referer"`
	Date          string    `json:"date"`
	UserAgent     string    `json:"userAgent"`
	VisitLocation *struct{} `json:"visitLocation"`
	PotentialBot  bool      `json:"potentialBot"`
	VisitedURL    string    `json:"visitedUrl"`
	RedirectURL   *string   `json:"redirectUrl"`
}

// Limits of pages of visits. The official client asks for 5,000.
const (
	usualVisits = 5000
	mostVisits  = 5000
)

// hourly is how long a range may be whose visits have hours.
const hourly = 7 * 24 * time.Hour

// visits answers with a page of the visits that the figures of a query have, each at an address. read reads figures.
func (d *Door) visits(a *asked, at string, read func(query) (ops.Figures, error)) error {
	p, err := readPlace(a.query, usualVisits, mostVisits)
	if err != nil {
		return err
	}
	series, err := readSeries(a.query, read)
	if err != nil {
		return err
	}
	total := uint64(0)
	for _, b := range series {
		total += b.Hits
	}
	data := visitsOf(series, uint64(p.begin()), p.items, at)
	return show(a, map[string]any{"visits": Paged[Visit]{data, p.in(total, len(data))}})
}

// readSeries reads the figures of the range that a request asks for: by hours if it is short and they are kept, else by
// days.
func readSeries(q query, read func(query) (ops.Figures, error)) ([]ops.Bucket, error) {
	from, to, err := readRange(q)
	if err != nil {
		return nil, err
	}
	asked := query{{"from", "1970-01-01"}}
	if !from.IsZero() {
		asked[0].value = from.Format(time.RFC3339)
	}
	if !to.IsZero() {
		asked = asked.with("to", to.Format(time.RFC3339))
	}
	if !from.IsZero() && (to.IsZero() || to.Sub(from) <= hourly) {
		f, err := read(slices.Clone(asked).with("interval", "hour"))
		if p, _ := problem.Of(err); err == nil || p.Kind != problem.Invalid {
			return f.Series, err
		}
	}
	f, err := read(asked.with("interval", "day"))
	return f.Series, err
}

// visitsOf returns the visits of a page, the newest first.
func visitsOf(series []ops.Bucket, skip uint64, most int, at string) []Visit {
	visits := []Visit{}
	for i := len(series) - 1; i >= 0 && len(visits) < most; i-- {
		b := &series[i]
		if b.Hits <= skip {
			skip -= b.Hits
			continue
		}
		n := min(b.Hits-skip, uint64(most-len(visits)))
		visits = append(visits, slices.Repeat([]Visit{{Date: shownTime(b.From), VisitedURL: at}}, int(n))...)
		skip = 0
	}
	return visits
}

// linkVisits is GET /short-urls/{code}/visits.
func (d *Door) linkVisits(a *asked, caller account.Caller) error {
	l, err := d.readLink(a, caller)
	if err != nil {
		return err
	}
	host := d.hostOf(a.query.one("domain"))
	return d.visits(a, l.ShortURL, func(q query) (f ops.Figures, err error) {
		asked, err := d.Ops.ParseFigures(caller, q.with("domain", host))
		if err != nil {
			return f, err
		}
		return d.Ops.Figures(caller, l.Code, asked)
	})
}

// ownerVisits answers with a page of the visits of all links, of those of a domain or of those with a tag.
func (d *Door) ownerVisits(a *asked, caller account.Caller, host, tag string) error {
	return d.visits(a, "", func(q query) (f ops.Figures, err error) {
		return d.ownerFigures(caller, q.with("domain", host).with("tag", tag))
	})
}

func (d *Door) ownerFigures(caller account.Caller, q query) (f ops.Figures, err error) {
	asked, err := d.Ops.ParseOwnerFigures(caller, q)
	if err != nil {
		return f, err
	}
	return d.Ops.OwnerFigures(caller, asked)
}

// allVisits is GET /visits/non-orphan.
func (d *Door) allVisits(a *asked, caller account.Caller) error {
	return d.visitsIn(a, caller, a.query.one("domain"))
}

// domainVisits is GET /domains/{host}/visits.
func (d *Door) domainVisits(a *asked, caller account.Caller) error {
	return d.visitsIn(a, caller, unescaped(a.part))
}

// visitsIn answers with a page of the visits of all links of a domain; empty: of all domains.
func (d *Door) visitsIn(a *asked, caller account.Caller, name string) error {
	a.about = subject{Domain: name}
	host := d.hostOf(name)
	if !d.serves(host) {
		return engine.ErrNotFound
	}
	return d.ownerVisits(a, caller, host, "")
}

// orphans is GET /visits/orphan: requests for what is not there are not kept as visits.
func (d *Door) orphans(a *asked, _ account.Caller) error {
	p, err := readPlace(a.query, usualVisits, mostVisits)
	if err != nil {
		return err
	}
	return show(a, map[string]any{"visits": Paged[Visit]{[]Visit{}, p.in(0, 0)}})
}

// deleteOrphans is DELETE /visits/orphan: there are none.
func (d *Door) deleteOrphans(a *asked, _ account.Caller) error {
	return show(a, map[string]uint64{"deletedVisits": 0})
}

// overview is GET /visits.
func (d *Door) overview(a *asked, caller account.Caller) error {
	f, err := d.ownerFigures(caller, nil)
	if err != nil {
		return err
	}
	total := f.Hits + f.Imported
	return show(a, map[string]any{"visits": map[string]any{
		"nonOrphanVisits": summaryOf(total), "orphanVisits": summaryOf(0), "visitsCount": total, "orphanVisitsCount": 0,
	}})
}
