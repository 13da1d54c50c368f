package engine

import "shunt/engine/index"

// A claim is what the index knows of a code that somebody wants for a new link.
type claim struct {
	exact           *Hot // the live link of the code itself, if there is one
	othersTombstone bool // the code itself was deleted not long ago, by somebody else

	// Variants, which differ from the code only by case. To an import they do not matter. A live
	// one of the same owner is in the way. One of somebody else, live or deleted not long ago, is
	// in the way unless the code was the owner's until not long ago. That can only be where both
	// were imported, and whoever deletes one of them does not lose it for the other's sake.
	ownVariant, othersVariant bool

	full bool // the code would be one variant more than maxVariants

	// The nearest of those that are in the way (see nearness), with its target if it is the
	// owner's; nil if there are only too many variants.
	by *Hot
}

// maxVariants is how many codes that differ only by case imports may make. All of them are in one
// probe sequence.
const maxVariants = 64

// claim looks at code, and at what differs from it only by case, for a new link of owner. beside is
// how many variants are about to be made.
func (e *Engine) claim(code string, owner uint32, imported bool, beside int, nowMs int64) (c claim) {
	variants, hasSlot, nearest := beside, false, 0
	e.index.Variants(code, func(v index.HotView) {
		live := v.Flags&index.FlagTombstone == 0
		variant := string(v.Code) != code
		held := (live || v.Owner != owner && tombstoneHolds(v.DeletedAtMs, nowMs)) && !(imported && variant)
		if n := nearness(&v, code, owner); held && n > nearest {
			nearest, c.by = n, inTheWay(&v, owner)
		}
		switch {
		case variant:
			if !v.Purged() {
				variants++
			}
			c.ownVariant = c.ownVariant || held && v.Owner == owner
			c.othersVariant = c.othersVariant || held && v.Owner != owner
			return
		case live:
			c.exact = c.by
		default:
			c.othersTombstone = held
		}
		hasSlot = true
	})
	c.full = imported && !hasSlot && variants >= maxVariants
	return c
}
