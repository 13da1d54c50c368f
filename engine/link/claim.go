package link

import (
	"fmt"
	"strings"

	"shunt/engine/index"
	"shunt/engine/internal/errs"
)

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
func (ls *Links) heldBack(d *Draft, owner uint32, deletedAtMs int64) bool {
	return owner != d.Owner && !d.TakesDeleted && ls.TombstoneHolds(deletedAtMs)
}

// maxVariants bounds the codes that differ only by case that imports may make: they all share one
// probe sequence.
const maxVariants = 64

// claim looks up the code of k and its variants, for the new link that d asks for. prepared is the number of
// variants that are about to be made.
func (ls *Links) claim(k index.Key, d *Draft, prepared int) (c claim) {
	variants, hasSlot, nearest := prepared, false, 0
	owner, imported := d.Owner, d.Import != nil
	look := func(v index.HotView) {
		live := v.Flags&index.FlagTombstone == 0
		variant := string(v.Code) != k.Code
		held := (live || ls.heldBack(d, v.Owner, v.DeletedAtMs)) && !(imported && variant)
		if n := nearness(&v, k.Code, owner); held && n > nearest {
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
	known, hidden := ls.index.Variants(k, func(v index.HotView) {
		look(v)
		switch variant := string(v.Code) != k.Code; {
		case !variant:
			hasSlot = true
		case !v.Purged():
			variants++
		}
	})
	if hidden {
		ls.index.Hidden(k, look)
	}
	c.known = known
	c.full = imported && !hasSlot && variants >= maxVariants
	return c
}

// TakenError is an ErrTaken that names the link that blocks the alias, as far as the caller may
// know it.
type TakenError struct {
	Alias  string // that was asked for
	Code   string // that blocks it: the alias, or a code that differs from it only by case
	Target string // where Code leads, if it is a link of the caller; otherwise empty
	Wanted string // the target that was asked for
}

// maxShownTargetBytes is how much of a target TakenError.Error shows: enough to recognize it, while
// an answer about 1,000 items that each meet a target of 8 KiB stays below half a megabyte.
const maxShownTargetBytes = 200

func (e TakenError) Error() string {
	why := ""
	switch {
	case e.Code != e.Alias && e.Target != "":
		why = fmt.Sprintf(": it differs only by case from %q, which leads to %s", e.Code, shownTarget(e.Target))
	case e.Code != e.Alias:
		why = fmt.Sprintf(": it differs only by case from %q", e.Code)
	case e.Target == "":
	case e.Target == e.Wanted:
		why = fmt.Sprintf(": %q leads there already, with other settings", e.Code)
	default:
		why = fmt.Sprintf(": %q leads to %s", e.Code, shownTarget(e.Target))
	}
	return errs.ErrTaken.Error() + why
}

// Unwrap returns ErrTaken.
func (e TakenError) Unwrap() error { return errs.ErrTaken }

// shownTarget returns the beginning of a long target, and a short one whole.
func shownTarget(target string) string {
	if len(target) <= maxShownTargetBytes {
		return target
	}
	return strings.ToValidUTF8(target[:maxShownTargetBytes], "") + "…"
}

// nearness ranks the links that block a new link of owner, from 1 up: the code itself ranks above a
// variant, and a variant of the same owner above any other.
func nearness(v *index.HotView, code string, owner uint32) int {
	switch {
	case string(v.Code) == code:
		return 3
	case v.Owner == owner:
		return 2
	}
	return 1
}

// inTheWay returns a copy of the fields of v that owner may know. The target of another owner's
// link is left out.
func inTheWay(v *index.HotView, owner uint32) *Hot {
	h := &Hot{Key: v.Own(), Owner: v.Owner}
	if v.Owner == owner {
		h.Target = string(v.Target)
	}
	return h
}

// takenError returns the error for a draft whose alias is blocked by by: a TakenError if by is
// known.
func takenError(by *Hot, d *Draft) error {
	if by == nil || d.Alias == "" {
		return errs.ErrTaken
	}
	e := TakenError{Alias: d.Alias, Code: by.Code, Wanted: d.Target}
	if by.Owner == d.Owner {
		e.Target = by.Target
	}
	return e
}
