package ops

import (
	"encoding/base64"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/search"
)

func TestACursorIsAcceptedOnlyForItsOwnList(t *testing.T) {
	c, other := newCursors(1, 2), newCursors(1, 3)
	list := func(owner uint32, any bool, tag, words string) *ListQuery {
		return &ListQuery{Guard: engine.Guard{Owner: owner, AnyOwner: any}, Listed: Listed{Tag: tag, Q: words}}
	}
	sorted := func(change func(*Listed)) *ListQuery {
		q := list(7, false, "ab", "c")
		change(&q.Listed)
		return q
	}
	place := search.Place{Key: 3, ID: 1<<48 | 5}
	in := func(state engine.State, q *ListQuery) *ListQuery {
		q.State = state
		return q
	}
	q := list(7, false, "ab", "c")
	text := c.encode(q, place)
	expect.Equal(t, text, "AQAAAAAAAAADAAEAAAAAAAUJ4U50PZu91CTpSuiinDMg", "old cursors must remain valid")
	after, ok := c.decode(q, text)
	expect.That(t, after == place && ok, "got %v, %v", after, ok)
	for name, foreign := range map[string]*ListQuery{
		"another owner": list(8, false, "ab", "c"), "all owners": list(0, true, "ab", "c"), "another tag": list(7, false, "a", "c"),
		"other words": list(7, false, "ab", "cd"), "another split of both": list(7, false, "a", "bc"), "neither": list(7, false, "", ""),
		"with a state": in(engine.StateActive, list(7, false, "ab", "c")), "another order": sorted(func(l *Listed) { l.Order = "hits" }),
		"ascending": sorted(func(l *Listed) { l.Ascending = true }), "never hit": sorted(func(l *Listed) { l.NeverHit = true }),
		"from a time": sorted(func(l *Listed) { l.From = time.UnixMilli(5) }), "to a time": sorted(func(l *Listed) { l.To = time.UnixMilli(5) }),
	} {
		_, ok := c.decode(foreign, text)
		expect.That(t, !ok, "%s: the cursor was accepted", name)
	}
	disabled := in(engine.StateDisabled, list(7, false, "ab", "c"))
	ofDisabled := c.encode(disabled, place)
	after, ok = c.decode(disabled, ofDisabled)
	expect.That(t, after == place && ok, "of a state: got %v, %v", after, ok)
	for name, foreign := range map[string]*ListQuery{
		"another state": in(engine.StateExpired, list(7, false, "ab", "c")), "no state": q, "another tag": in(engine.StateDisabled, list(7, false, "a", "c")),
		"all owners": in(engine.StateDisabled, list(7, true, "ab", "c")),
	} {
		_, ok := c.decode(foreign, ofDisabled)
		expect.That(t, !ok, "%s: the cursor of a state was accepted", name)
	}
	_, ok = other.decode(q, text)
	expect.That(t, !ok, "the cursor was accepted by another store")
	raw, _ := base64.RawURLEncoding.DecodeString(text)
	for i := range 8 * len(raw) {
		raw[i/8] ^= 1 << (i % 8)
		_, ok := c.decode(q, base64.RawURLEncoding.EncodeToString(raw))
		expect.That(t, !ok, "the cursor was accepted with bit %d flipped", i)
		raw[i/8] ^= 1 << (i % 8)
	}
	for _, bad := range []string{"", "x", text + "A", text[1:], text + "=", text + "\n", "!" + text[1:]} {
		_, ok := c.decode(q, bad)
		expect.That(t, !ok, "%q was accepted", bad)
	}
}

// FuzzCursor checks that a cursor of any list is accepted for that list and for no other, that it
// is refused when a byte of it is changed, and that only a cursor that encode would return is
// accepted.
func FuzzCursor(f *testing.F) {
	c := newCursors(1, 2)
	plain := &ListQuery{Guard: engine.Guard{Owner: 7}}
	f.Add(c.encode(plain, search.Place{ID: 1}), uint64(1), uint64(0), uint32(7), "", "", "", byte(0), byte(1))
	f.Add(c.encode(plain, search.Place{Key: 1, ID: 1 << 63}), uint64(1<<63), uint64(1), uint32(1), "active", "tag", "prefix", byte(30), byte(8))
	f.Add("AQAAAAAAAAAB", uint64(0), uint64(0), uint32(0), "a", "a", "", byte(33), byte('A'^'B'))
	f.Fuzz(func(t *testing.T, text string, id, key uint64, owner uint32, state, tag, words string, at, flip byte) {
		if after, ok := c.decode(plain, text); ok && c.encode(plain, after) != text {
			t.Errorf("%q was accepted as a cursor after %v, whose cursor is %q", text, after, c.encode(plain, after))
		}
		q := &ListQuery{Guard: engine.Guard{Owner: owner}, Listed: Listed{State: engine.State(state), Tag: tag, Q: words}}
		place := search.Place{Key: key, ID: id}
		given := c.encode(q, place)
		after, ok := c.decode(q, given)
		expect.That(t, after == place && ok == (id != 0), "%+v after %v: got %v, %v", q, place, after, ok)
		other := *q
		other.Tag, other.Q = q.Q, q.Tag
		_, ok = c.decode(&other, given)
		expect.That(t, !ok || tag == words, "a cursor of tag %q and words %q was accepted with both exchanged", tag, words)
		other = *q
		other.State, other.Tag = engine.State(q.Tag), string(q.State)
		_, ok = c.decode(&other, given)
		expect.That(t, !ok || tag == state, "a cursor of state %q and tag %q was accepted with both exchanged", state, tag)
		changed := []byte(given)
		changed[int(at)%len(changed)] ^= flip
		_, ok = c.decode(q, string(changed))
		expect.That(t, !ok || flip == 0, "%q was accepted for %q", changed, given)
	})
}
