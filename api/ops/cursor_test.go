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
	list := func(user uint32, any bool, tag, words string) *ListQuery {
		return &ListQuery{Whose: Whose{User: user, Anybody: any}, Listed: Listed{Tag: tag, Q: words}}
	}
	with := func(change func(*ListQuery)) *ListQuery {
		q := list(7, false, "ab", "c")
		change(q)
		return q
	}
	in := func(state engine.State, q *ListQuery) *ListQuery {
		q.State = state
		return q
	}
	q := list(7, false, "ab", "c")
	place := search.Place{Key: 3, ID: 1<<48 | 5}
	text := c.encode(q, place)
	after, ok := c.decode(q, text)
	expect.That(t, after == place && ok, "got %d, %v", after, ok)
	for name, foreign := range map[string]*ListQuery{
		"another domain": with(func(q *ListQuery) { q.Whose.Domain = 3 }), "all domains": with(func(q *ListQuery) { q.Whose.Every = true }),
		"another user": list(8, false, "ab", "c"), "all owners": list(0, true, "ab", "c"), "another tag": list(7, false, "a", "c"),
		"other words": list(7, false, "ab", "cd"), "another split of both": list(7, false, "a", "bc"), "neither": list(7, false, "", ""),
		"with a state": in(engine.StateActive, list(7, false, "ab", "c")),
		"in an order":  with(func(q *ListQuery) { q.Order = "hits" }), "turned round": with(func(q *ListQuery) { q.Ascending = true }),
		"since a time": with(func(q *ListQuery) { q.From = time.Unix(0, 0) }), "until a time": with(func(q *ListQuery) { q.To = time.Unix(0, 0) }),
		"never hit": with(func(q *ListQuery) { q.NeverHit = true }),
	} {
		_, ok := c.decode(foreign, text)
		expect.That(t, !ok, "%s: the cursor was accepted", name)
	}
	disabled := in(engine.StateDisabled, list(7, false, "ab", "c"))
	ofDisabled := c.encode(disabled, search.Place{ID: 5})
	after, ok = c.decode(disabled, ofDisabled)
	expect.That(t, after.ID == 5 && ok, "of a state: got %d, %v", after, ok)
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
	plain := &ListQuery{Whose: Whose{User: 7}}
	f.Add(c.encode(plain, search.Place{ID: 1}), uint64(0), uint64(1), uint32(7), "", "", "", byte(0), byte(1))
	f.Add(c.encode(plain, search.Place{Key: 1, ID: 1 << 63}), uint64(9), uint64(1<<63), uint32(1), "active", "tag", "words", byte(30), byte(8))
	f.Add("AQAAAAAAAAAB", uint64(0), uint64(0), uint32(0), "a", "a", "", byte(33), byte('A'^'B'))
	f.Fuzz(func(t *testing.T, text string, key, id uint64, owner uint32, state, tag, words string, at, flip byte) {
		if after, ok := c.decode(plain, text); ok && c.encode(plain, after) != text {
			t.Errorf("%q was accepted as a cursor after %d, whose cursor is %q", text, after, c.encode(plain, after))
		}
		q := &ListQuery{Whose: Whose{User: owner}, Listed: Listed{State: engine.State(state), Tag: tag, Q: words}}
		given := c.encode(q, search.Place{Key: key, ID: id})
		after, ok := c.decode(q, given)
		expect.That(t, after == search.Place{Key: key, ID: id} && ok == (id != 0), "%+v: got %d, %v", q, after, ok)
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
