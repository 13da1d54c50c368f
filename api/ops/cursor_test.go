package ops

import (
	"encoding/base64"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestACursorIsAcceptedOnlyForItsOwnList(t *testing.T) {
	c, other := newCursors(1, 2), newCursors(1, 3)
	list := func(owner uint32, any bool, tag, prefix string) *ListQuery {
		return &ListQuery{Guard: engine.Guard{Owner: owner, AnyOwner: any}, Tag: tag, Prefix: prefix}
	}
	in := func(state engine.State, q *ListQuery) *ListQuery {
		q.State = state
		return q
	}
	q := list(7, false, "ab", "c")
	text := c.encode(q, 1<<48|5)
	expect.Equal(t, text, "AQABAAAAAAAFkWRFwJd8GZce3zKOf8_kpw", "old cursors must remain valid")
	below, ok := c.decode(q, text)
	expect.That(t, below == 1<<48|5 && ok, "got %d, %v", below, ok)
	for name, foreign := range map[string]*ListQuery{
		"another owner": list(8, false, "ab", "c"), "all owners": list(0, true, "ab", "c"), "another tag": list(7, false, "a", "c"),
		"another prefix": list(7, false, "ab", "cd"), "another split of both": list(7, false, "a", "bc"), "neither": list(7, false, "", ""),
		"with a state": in(engine.StateActive, list(7, false, "ab", "c")),
	} {
		_, ok := c.decode(foreign, text)
		expect.That(t, !ok, "%s: the cursor was accepted", name)
	}
	disabled := in(engine.StateDisabled, list(7, false, "ab", "c"))
	ofDisabled := c.encode(disabled, 5)
	below, ok = c.decode(disabled, ofDisabled)
	expect.That(t, below == 5 && ok, "of a state: got %d, %v", below, ok)
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
	f.Add(c.encode(plain, 1), uint64(1), uint32(7), "", "", "", byte(0), byte(1))
	f.Add(c.encode(plain, 1<<63), uint64(1<<63), uint32(1), "active", "tag", "prefix", byte(30), byte(8))
	f.Add("AQAAAAAAAAAB", uint64(0), uint32(0), "a", "a", "", byte(33), byte('A'^'B'))
	f.Fuzz(func(t *testing.T, text string, id uint64, owner uint32, state, tag, prefix string, at, flip byte) {
		if below, ok := c.decode(plain, text); ok && c.encode(plain, below) != text {
			t.Errorf("%q was accepted as a cursor below %d, whose cursor is %q", text, below, c.encode(plain, below))
		}
		q := &ListQuery{Guard: engine.Guard{Owner: owner}, State: engine.State(state), Tag: tag, Prefix: prefix}
		given := c.encode(q, id)
		below, ok := c.decode(q, given)
		expect.That(t, below == id && ok == (id != 0), "%+v below %d: got %d, %v", q, id, below, ok)
		other := *q
		other.Tag, other.Prefix = q.Prefix, q.Tag
		_, ok = c.decode(&other, given)
		expect.That(t, !ok || tag == prefix, "a cursor of tag %q and prefix %q was accepted with both exchanged", tag, prefix)
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
