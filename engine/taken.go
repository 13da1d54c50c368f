package engine

import (
	"fmt"
	"strings"

	"shunt/engine/index"
)

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
	return ErrTaken.Error() + why
}

// Unwrap returns ErrTaken.
func (e TakenError) Unwrap() error { return ErrTaken }

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
	h := &Hot{Code: string(v.Code), Owner: v.Owner}
	if v.Owner == owner {
		h.Target = string(v.Target)
	}
	return h
}

// takenError returns the error for a draft whose alias is blocked by by: a TakenError if by is
// known.
func takenError(by *Hot, d *Draft) error {
	if by == nil || d.Alias == "" {
		return ErrTaken
	}
	e := TakenError{Alias: d.Alias, Code: by.Code, Wanted: d.Target}
	if by.Owner == d.Owner {
		e.Target = by.Target
	}
	return e
}

// takenNow returns the error for an item whose alias was taken when its request was first answered.
// Receipts do not keep the link that blocked it, so the error names the link that blocks it now, if
// there is one.
func (e *Engine) takenNow(item *BulkItem) error {
	d := &item.Draft
	if item.Refused != nil || d.Alias == "" {
		return ErrTaken
	}
	c := e.claim(d.Alias, d, 0)
	return takenError(c.by, d)
}
