package ops

import (
	"context"
	"slices"
	"strconv"

	"shunt/api/jsonbody"
	"shunt/engine"
)

// TargetFigures are the figures of one target of a link.
type TargetFigures struct {
	Target uint8   `json:"target"`           // its number; 0: hits of the time when the link had one target, and imported ones
	URL    string  `json:"url,omitempty"`    // absent: the link no longer has this target
	Weight uint16  `json:"weight,omitempty"` // in the split; absent: it is in none
	Hits   uint64  `json:"hits"`
	Unique *uint64 `json:"unique,omitempty"` // absent for Target 0, of which it is not known
}

// givenTarget is what a link says of a target to which it has given a number.
type givenTarget struct {
	url    string
	weight uint16
}

// givenTargets returns the targets of a link by their numbers, also of those that it no longer has. As long as a link
// does not say which targets it has, these are the numbers that were ever hit.
func (c *Calls) givenTargets(k engine.Key) (map[uint8]givenTarget, error) {
	numbers, err := c.o.Engine.TargetsHit(context.Background(), k)
	given := make(map[uint8]givenTarget, len(numbers))
	for _, n := range numbers {
		given[n] = givenTarget{}
	}
	return given, err
}

// wantTarget refuses a query for a target to which the link has given no such number.
func (c *Calls) wantTarget(q *FiguresQuery, k engine.Key) error {
	if q.Target == 0 {
		return nil
	}
	given, err := c.givenTargets(k)
	if _, known := given[q.Target]; err == nil && !known {
		err = jsonbody.FieldError("target", "unknown", "is not the number of a target of this link")
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

// readTargetNumber reads the number of a target.
func readTargetNumber(q *FiguresQuery, value string) error {
	n, err := strconv.ParseUint(value, 10, 8)
	if err != nil || n == 0 {
		return jsonbody.FieldError("", "range", "must be the number of a target, 1 to "+strconv.Itoa(engine.NumTargets-1))
	}
	q.Target = uint8(n)
	return nil
}

// readLinkInclude is readInclude for one link.
func readLinkInclude(q *FiguresQuery, value string) error { return q.readInclude(value, true) }
