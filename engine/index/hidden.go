package index

import (
	"slices"

	"shunt/engine/internal/limits"
)

// maxHidden bounds the hidden tombstones that are remembered exactly, of one case-folded code. So
// nobody can make creates slow by making and deleting variants of one code.
const maxHidden = 64

// A tombstone is hidden when it has no slot: a variant of the same owner has taken it over (see
// tombstoneVariant). The store has the tombstone until it is purged, and it may block codes for
// longer than the record that took its slot: when the clock has gone back in between, or when that
// record was purged first. So a shard remembers hidden tombstones beside its table. A code that has
// neither a slot nor a hidden tombstone, nor has any variant of it, is not in the store.
//
// This costs some 100 bytes each, and nothing where nobody deletes a code and then makes a variant
// of it.
type hidden struct {
	tombstones []hiddenTombstone // at most maxHidden, and one for each further owner

	// crowded: there were more than maxHidden. Then tombstones has the latest of each owner, and
	// none is removed while the process lives. That may block variants for longer only if the clock
	// goes back, and it costs the creates of such codes a look into the store.
	crowded bool
}

type hiddenTombstone struct {
	code        string
	id          uint64
	deletedAtMs int64
	owner       uint32
}

// add remembers t instead of an earlier tombstone of its code.
func (h *hidden) add(t hiddenTombstone) {
	same := slices.IndexFunc(h.tombstones, func(o hiddenTombstone) bool { return o.code == t.code })
	switch {
	case !h.crowded && same >= 0:
		h.tombstones[same] = t
	case !h.crowded && len(h.tombstones) < maxHidden:
		h.tombstones = append(h.tombstones, t)
	default:
		h.crowded = true
		h.addLatest(t)
	}
}

// addLatest remembers t if it is the latest of its owner.
func (h *hidden) addLatest(t hiddenTombstone) {
	latest := -1
	for i, o := range h.tombstones {
		if o.owner == t.owner && (latest < 0 || o.deletedAtMs > h.tombstones[latest].deletedAtMs) {
			latest = i
		}
	}
	switch {
	case latest < 0:
		h.tombstones = append(h.tombstones, t)
	case t.deletedAtMs > h.tombstones[latest].deletedAtMs:
		h.tombstones[latest] = t
	}
}

// remove forgets the tombstone of code, and reports whether none is left.
func (h *hidden) remove(code []byte) (empty bool) {
	if !h.crowded {
		h.tombstones = slices.DeleteFunc(h.tombstones, func(t hiddenTombstone) bool { return t.code == string(code) })
	}
	return len(h.tombstones) == 0
}

// hideLocked remembers a tombstone of the store that has no slot, or has one no longer.
func (s *shard) hideLocked(v *HotView) {
	if v.Purged() { // the store does not have it
		return
	}
	var folded [limits.MaxCodeBytes]byte
	key := Key{Domain: v.Domain, Code: string(foldCase(&folded, v.Code))}
	h := s.mu.hidden[key]
	if h == nil {
		h = new(hidden)
		s.mu.hidden[key] = h
	}
	h.add(hiddenTombstone{code: string(v.Code), id: v.ID, deletedAtMs: v.DeletedAtMs, owner: v.Owner})
}

// unhideLocked forgets the hidden tombstone of a key, if there is one: the key has another record
// by now, or was purged.
func (s *shard) unhideLocked(k KeyView) {
	if len(s.mu.hidden) == 0 {
		return
	}
	var folded [limits.MaxCodeBytes]byte
	code := foldCase(&folded, k.Code)
	if h := s.mu.hidden[Key{Domain: k.Domain, Code: string(code)}]; h != nil && h.remove(k.Code) {
		delete(s.mu.hidden, Key{Domain: k.Domain, Code: string(code)})
	}
}

// Hidden calls fn for the tombstones that Variants does not yield because they have no slot. It is
// for callers to whom Variants has reported that there are some. fn is as for Variants.
func (x *Index) Hidden(k Key, fn func(HotView)) {
	var folded [limits.MaxCodeBytes]byte
	s := &x.shards[placeOf(&x.key, k.View()).shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.mu.hidden[Key{Domain: k.Domain, Code: string(foldCase(&folded, k.View().Code))}]
	if h == nil {
		return
	}
	for _, t := range h.tombstones {
		fn(HotView{KeyView: Key{Domain: k.Domain, Code: t.code}.View(), ID: t.id, Owner: t.owner, Flags: FlagTombstone, DeletedAtMs: t.deletedAtMs})
	}
}
