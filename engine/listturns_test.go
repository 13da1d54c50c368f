package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

// inTurns reads the list to its end, page by page, and returns its codes and the largest number of
// steps of a page.
func (e *testEngine) inTurns(t *testing.T, q engine.LinkQuery) (codes []string, steps int) {
	t.Helper()
	for {
		taken := 0
		page, err := e.ListLinksInTurns(context.Background(), q, func(step func() error) error {
			taken++
			return step()
		})
		expect.OK(t, err)
		expect.MustThat(t, len(page.Links) <= q.Limit, "got %d links, want %d at most", len(page.Links), q.Limit)
		for _, l := range page.Links {
			codes = append(codes, l.Code)
		}
		steps = max(steps, taken)
		if q.After = page.Next; q.After == nil {
			return codes, steps
		}
	}
}

func TestAListInTurnsComesInStepsOfFiftyLinks(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for i := range 230 {
		e.make(t, engine.Draft{Texts: engine.Texts{Title: fmt.Sprint(i % 3)}, Tags: []string{fmt.Sprint(i % 7)}})
	}
	for name, c := range map[string]struct {
		q     engine.LinkQuery
		steps int
	}{
		"all":            {engine.LinkQuery{Limit: 1000}, 5},
		"some":           {engine.LinkQuery{Limit: 70}, 2},
		"exactly all":    {engine.LinkQuery{Limit: 230}, 5},
		"few":            {engine.LinkQuery{Limit: 10}, 1},
		"by words":       {engine.LinkQuery{Limit: 1000, ListRange: engine.ListRange{Words: wordsOf("example.com")}}, 7}, // one to begin, one for the rows, five for the links
		"by tag":         {engine.LinkQuery{ListRange: engine.ListRange{Tag: "3"}, Limit: 20}, 1},
		"with visitors":  {engine.LinkQuery{Limit: 60, Unique: true}, 2},
		"of nobody":      {engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(2)}, Limit: 1000}, 1},
		"of all, by tag": {engine.LinkQuery{ListRange: engine.ListRange{AnyOwner: true, Tag: "3"}, Limit: 1000}, 3},
	} {
		if c.q.Owners == nil {
			c.q.Owners = engine.OneOwner(1)
		}
		want, _ := e.codes(t, c.q)
		got, steps := e.inTurns(t, c.q)
		expect.That(t, strings.Join(got, " ") == strings.Join(want, " ") && steps == c.steps,
			"%s: got %d links in %d steps a page, want %d in %d", name, len(got), steps, len(want), c.steps)
	}
}

func TestAListInTurnsObeysThePageByteLimit(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	for range 200 {
		e.make(t, engine.Draft{Target: "https://example.com/" + strings.Repeat("x", 8000)})
	}
	q := engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 1000}
	whole, err := e.ListLinks(context.Background(), q)
	expect.OK(t, err)
	inTurns, err := e.ListLinksInTurns(context.Background(), q, func(step func() error) error { return step() })
	expect.That(t, err == nil && len(inTurns.Links) == len(whole.Links) && *inTurns.Next == *whole.Next,
		"got %d links and %v, want the %d of a page of a MiB", len(inTurns.Links), err, len(whole.Links))
}

func TestAListEndsWithAnErrorOfItsTurns(t *testing.T) {
	e := newTestEngine(t, engine.Options{})
	e.make(t, engine.Draft{})
	late := errors.New("too late")
	q := engine.LinkQuery{ListRange: engine.ListRange{Owners: engine.OneOwner(1)}, Limit: 10}
	_, err := e.ListLinksInTurns(context.Background(), q, func(func() error) error { return late })
	expect.Error(t, err, late)
}
