package yourls

import (
	"errors"
	"math/rand/v2"
	"strconv"

	"shunt/api/account"
	"shunt/api/doors/door"
	"shunt/api/ops"
	"shunt/engine"
)

// find returns the link that the parameter shorturl names, and its code if it can have one; nil if the caller has no
// such link.
func (d *yourls) find(caller account.Caller, v door.Values) (l *ops.Link, code string, err error) {
	code, whose, err := d.Ops.Named(caller, v["shorturl"])
	if err == nil {
		var found ops.Link
		if found, err = d.Ops.Read(caller, code, whose); err == nil {
			return &found, code, nil
		}
	}
	if errors.Is(err, engine.ErrNotFound) {
		err = nil
	}
	return nil, code, err
}

// expand is the action of that name.
func (d *yourls) expand(_ *door.Request, caller account.Caller, v door.Values) (answer, error) {
	l, code, err := d.find(caller, v)
	if err != nil {
		return answer{}, err
	}
	if l == nil {
		return answer{404, fields{{"keyword", code}, {"message", notFound}, {"errorCode", "404"}}, "not found"}, nil
	}
	return answer{200, fields{
		{"keyword", l.Code}, {"shorturl", l.ShortURL}, {"longurl", l.Target}, {"title", l.Title}, {"message", success}, ok,
	}, l.Target}, nil
}

// linkStats is the action url-stats.
func (d *yourls) linkStats(_ *door.Request, caller account.Caller, v door.Values) (answer, error) {
	l, _, err := d.find(caller, v)
	if err != nil {
		return answer{}, err
	}
	if l == nil {
		return answer{404, fields{{"statusCode", 404}, {"message", notFound}}, onlyStructured}, nil
	}
	return answer{200, fields{ok, {"message", success}, {"link", statsOf(l)}}, onlyStructured}, nil
}

// filters are the parameters of a list by the values of filter; the others are as top.
var filters = map[string]ops.Parameters{
	"top": door.Parameters("sort", "hits"), "bottom": door.Parameters("sort", "hits", "order", "asc"),
	"last": door.Parameters(), "rand": door.Parameters(), "random": door.Parameters(),
}

// maxStats bounds the links of an answer.
const maxStats = 10_000

// stats is the action of that name.
func (d *yourls) stats(_ *door.Request, caller account.Caller, v door.Values) (answer, error) {
	filter := v["filter"]
	if filters[filter] == nil {
		filter = "top"
	}
	listed, total, err := d.listed(caller, filter, number(v["start"]), min(number(v["limit"]), maxStats))
	if err != nil {
		return answer{}, err
	}
	var shown fields
	for i := range listed {
		shown = append(shown, field{"link_" + strconv.Itoa(i+1), statsOf(&listed[i])})
	}
	sums, err := d.sums(caller, total)
	if err != nil {
		return answer{}, err
	}
	a := answer{200, fields{{"stats", sums}, ok, {"message", success}}, onlyStructured}
	if len(shown) > 0 {
		a.fields = append(fields{{"links", shown}}, a.fields...)
	}
	return a, nil
}

// listed returns some links by a filter, and how many there are in all.
func (d *yourls) listed(caller account.Caller, filter string, start, limit int) (links []ops.Link, total uint64, err error) {
	q, err := d.Ops.ParseList(caller, filters[filter])
	if err != nil {
		return nil, 0, err
	}
	if filter != "rand" && filter != "random" || limit == 0 {
		links, total, err = d.List(caller, q, start, max(limit, 1))
		return links[:min(limit, len(links))], total, err
	}
	links, total, err = d.List(caller, q, 0, engine.MaxListed)
	rand.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	return links[:min(limit, len(links))], total, err
}

// number returns a number of a client; what is not one is 0, as in PHP.
func number(text string) int {
	n, _ := strconv.ParseUint(text, 10, 31)
	return int(n)
}

// dbStats is the action db-stats.
func (d *yourls) dbStats(_ *door.Request, caller account.Caller, _ door.Values) (answer, error) {
	_, total, err := d.listed(caller, "last", 0, 0)
	if err != nil {
		return answer{}, err
	}
	sums, err := d.sums(caller, total)
	return answer{200, fields{{"db-stats", sums}, ok, {"message", success}}, onlyStructured}, err
}

// sums returns the number of links of the caller, and of their hits.
func (d *yourls) sums(caller account.Caller, links uint64) (fields, error) {
	q, err := d.Ops.ParseOwnerFigures(caller, door.Parameters())
	if err != nil {
		return nil, err
	}
	f, err := d.Ops.OwnerFigures(caller, q)
	return fields{{"total_links", clicks(links)}, {"total_clicks", clicks(f.Hits)}}, err
}
