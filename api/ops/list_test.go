package ops

import (
	"testing"

	"shunt/engine"
)

// TestALinkThatLeftItsStateIsNotListed has a page whose links were selected as active, and one is
// on the block list by now.
func TestALinkThatLeftItsStateIsNotListed(t *testing.T) {
	c := &Calls{cursors: newCursors(1, 2), state: func(d *engine.Detail) engine.State {
		if d.Code == "b" {
			return engine.StateBlocked
		}
		return d.State
	}}
	read := engine.LinkPage{Next: 7, Links: []engine.Detail{
		{Key: keyOf("a"), State: engine.StateActive}, {Key: keyOf("b"), State: engine.StateActive}, {Key: keyOf("c"), State: engine.StateExpired},
	}}
	for state, want := range map[engine.State]string{"": "abc", engine.StateActive: "a", engine.StateBlocked: "b", engine.StateExhausted: ""} {
		q, got := ListQuery{State: state}, ""
		page := c.page(&q, read)
		for _, l := range page.Links {
			got += l.Code
		}
		if below, ok := c.cursors.decode(&q, page.Next); got != want || below != 7 || !ok {
			t.Errorf("%q: got %q and a cursor of %d, %v, want %q and 7", state, got, below, ok, want)
		}
	}
}

func TestAnUnknownStateIsRefusedWithAllWords(t *testing.T) {
	var q ListQuery
	err := readState(&q, "dead")
	if want := "must be active, expired, exhausted, blocked or disabled"; err == nil || err.(engine.FieldError).Message != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if err := readState(&q, "expired"); err != nil || q.State != engine.StateExpired {
		t.Errorf("got %v, %q", err, q.State)
	}
	if err := readState(&q, ""); err != nil || q.State != "" {
		t.Errorf("empty: got %v, %q", err, q.State)
	}
}
