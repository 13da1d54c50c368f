package kutt

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/exchange"
	"shunt/api/jsontext"
	"shunt/api/ops"
)

// A period is a time until now that is shown in equal parts.
type period struct {
	name     string
	interval string // of the figures that it is made of
	buckets  int    // of them
	views    int    // parts that are shown
}

var periods = []period{
	{"lastDay", "hour", 24, 24}, {"lastWeek", "day", 7, 7}, {"lastMonth", "day", 30, 30}, {"lastYear", "day", 360, 12},
}

// from returns the value of the parameter from of a period that ends now.
func (p period) from(now time.Time) string {
	if p.interval == "hour" {
		return now.UTC().Truncate(time.Hour).Add(-time.Duration(p.buckets-1) * time.Hour).Format(time.RFC3339)
	}
	return now.UTC().AddDate(0, 0, 1-p.buckets).Format(time.DateOnly)
}

// stats is GET /links/{id}/stats.
func (k *kutt) stats(ctx *fasthttp.RequestCtx, caller account.Caller, id string) error {
	code, whose, err := k.find(caller, id)
	if err != nil {
		return err
	}
	l, err := k.Ops.Read(caller, code, whose)
	if err != nil {
		return err
	}
	now := k.Now()
	figures := make([]ops.Figures, len(periods))
	for i, p := range periods {
		if figures[i], err = k.figures(caller, &l, p, now); err != nil {
			return err
		}
	}
	return exchange.WriteAppended(ctx, fasthttp.StatusOK, func(dst []byte) []byte {
		dst = append(k.appendLink(append(dst, '{'), &l), ',')
		for i, p := range periods {
			dst = append(p.append(append(dst, `"`+p.name+`":`...), &figures[i]), ',')
		}
		return append(jsontext.AppendTime(append(dst, `"updatedAt":`...), now), '}')
	})
}

// figures returns those of a link in a period.
func (k *kutt) figures(caller account.Caller, l *ops.Link, p period, now time.Time) (ops.Figures, error) {
	host := l.Host
	if host == "" {
		host = k.Ops.Domains().Default().Host
	}
	q, err := k.Ops.ParseFigures(caller, door.Parameters(
		"domain", host, "interval", p.interval, "from", p.from(now), "include", "browsers,countries,referrers"))
	if err != nil {
		return ops.Figures{}, err
	}
	return k.Ops.Figures(caller, l.Code, q)
}

// append appends the figures of a period.
func (p period) append(dst []byte, f *ops.Figures) []byte {
	dst = append(dst, `{"stats":{"browser":`...)
	dst = appendValues(dst, f.Browsers)
	dst = appendValues(append(dst, `,"os":[],"country":`...), f.Countries)
	dst = appendValues(append(dst, `,"referrer":`...), f.Referrers)
	dst = append(dst, `},"views":[`...)
	for i, n := range p.parts(f.Series) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, n, 10)
	}
	dst = strconv.AppendUint(append(dst, `],"total":`...), f.Hits, 10)
	return append(dst, '}')
}

// parts returns the hits in each part of a period. A link that is younger than the period, or figures that are not kept
// as long, have fewer buckets.
func (p period) parts(series []ops.Bucket) []uint64 {
	views := make([]uint64, p.views)
	each := p.buckets / p.views
	for back := range min(len(series), p.buckets) {
		views[p.views-1-back/each] += series[len(series)-1-back].Hits
	}
	return views
}

func appendValues(dst []byte, values []ops.ValueFigures) []byte {
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendString(append(dst, `{"name":`...), v.Value)
		dst = append(strconv.AppendUint(append(dst, `,"value":`...), v.Hits, 10), '}')
	}
	return append(dst, ']')
}
