package engine

import "shunt/engine/index"

// A claim is the state of a code, in the index, for which a caller wants to make a new link.
type claim struct {
	exact           *Hot // the live link of the code itself, if there is one
	othersTombstone bool // the code itself was deleted not long ago, by somebody else

	// Variants differ from the code only by case. They do not matter to an import. A live variant
	// of the same owner blocks the code. A variant of another owner, live or deleted not long ago,
	// blocks the code unless the code was the owner's own until not long ago. That is possible only
	// if both were imported, and an owner that deletes one of two such codes must not lose it
	// because of the other.
	ownVariant, othersVariant bool

	full bool // the code would be one variant more than maxVariants

	// known: a record of the code or of a variant is in the index, or was until not long ago. If
	// not, the store has none either, because the index has everything that the store has.
	known bool

	// The nearest link that blocks the code (see nearness), with its target if it is the owner's;
	// nil if there are only too many variants.
	by *Hot
}

// heldBack reports whether a deleted link of owner keeps its code, or a variant, from d.
func (e *Engine) heldBack(d *Draft, owner uint32, deletedAtMs int64) bool {
	return owner != d.Owner && !d.TakesDeleted && e.tombstoneHolds(deletedAtMs)
}

// maxVariants bounds the codes that differ only by case that imports may make: they all share one
// probe sequence.
const maxVariants = 64

// claim looks up code and its variants, for the new link that d asks for. prepared is the number of
// variants that are about to be made.
func (e *Engine) claim(code string, d *Draft, prepared int) (c claim) {
	variants, hasSlot, nearest := prepared, false, 0
	owner, imported := d.Owner, d.Import != nil
	look := func(v index.HotView) {
		live := v.Flags&index.FlagTombstone == 0
		variant := string(v.Code) != code
		held := (live || e.heldBack(d, v.Owner, v.DeletedAtMs)) && !(imported && variant)
		if n := nearness(&v, code, owner); held && n > nearest {
			nearest, c.by = n, inTheWay(&v, owner)
		}
		switch {
		case variant:
			c.ownVariant = c.ownVariant || held && v.Owner == owner
			c.othersVariant = c.othersVariant || held && v.Owner != owner
		case live:
			c.exact = c.by
		default:
			c.othersTombstone = held
		}
	}
	known, hidden := e.index.Variants(code, func(v index.HotView) {
		look(v)
		switch variant := string(v.Code) != code; {
		case !variant:
			hasSlot = true
		case !v.Purged():
			variants++
		}
	})
	if hidden {
		e.index.Hidden(code, look)
	}
	c.known = known
	c.full = imported && !hasSlot && variants >= maxVariants
	return c
}
