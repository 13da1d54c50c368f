package extras

import (
	"math"
	"slices"
)

// A link decides if it has rules or a split. Then each of its targets has a number from 1 on, by which hits are
// counted: its own address too, which is the default of rules, and where bots go of a split. A number means one target
// for the life of a link: it is never given to another one.

// Decides reports whether a link has more targets than its own address.
func (f *Fields) Decides() bool { return len(f.Rules) > 0 || len(f.Split) > 0 }

// target is a target of a link: its place, its address, and what else is said about it.
type target struct {
	number    *uint8
	kind      byte // the part of the blob
	url, more string
}

// targets returns the targets of a link whose own address is url. Their numbers are those in f.
func (f *Fields) targets(url string) []target {
	if !f.Decides() {
		return nil
	}
	all := make([]target, 0, 1+len(f.Rules)+len(f.Split))
	all = append(all, target{&f.Target, own, url, ""})
	for i := range f.Rules {
		r := &f.Rules[i]
		all = append(all, target{&r.Target, rules, r.URL, string(appendConditions(nil, r.Conditions))})
	}
	for i := range f.Split {
		s := &f.Split[i]
		all = append(all, target{&s.Target, split, s.URL, ""})
	}
	return all
}

// alike are the ways in which a target may be one that a link had before, the surest first.
var alike = [...]func(a, b target) bool{
	func(a, b target) bool { return a.kind == b.kind && a.url == b.url && a.more == b.more },
	func(a, b target) bool { return a.kind == b.kind && a.url == b.url },
	func(a, b target) bool { return a.url == b.url },
}

// Number gives each target of f its number: that of the same target in before, which is what the link has had so far,
// or the next after last, the greatest that the link has given. url and urlBefore are the link's own address now and
// before. It returns the greatest number that is given now; ok is false if one would be above 255.
func (f *Fields) Number(url string, before *Fields, urlBefore string, last uint8) (_ uint8, ok bool) {
	had, all := before.targets(urlBefore), f.targets(url)
	f.Target = 0
	for _, t := range all {
		*t.number = 0
	}
	for _, same := range alike {
		for _, t := range all {
			if i := slices.IndexFunc(had, func(old target) bool { return same(old, t) }); *t.number == 0 && i >= 0 {
				*t.number = *had[i].number
				had = slices.Delete(had, i, i+1)
			}
		}
	}
	for _, t := range all {
		if *t.number != 0 {
			continue
		}
		if last == math.MaxUint8 {
			return last, false
		}
		last++
		*t.number = last
	}
	return last, true
}

// Greatest returns the greatest number of a target of f, 0 if f does not decide.
func (f *Fields) Greatest() (greatest uint8) {
	copied := *f // as in numbered
	for _, t := range copied.targets("") {
		greatest = max(greatest, *t.number)
	}
	return greatest
}

// numbered reports whether each target of a link that decides has a number of its own, and no other link has one.
func (f *Fields) numbered() bool {
	if !f.Decides() {
		return f.Target == 0
	}
	var seen [math.MaxUint8 + 1]bool
	seen[0] = true
	copied := *f // which targets has on the heap: so that blobs of links that do not decide, nearly all, need no memory
	for _, t := range copied.targets("") {
		if seen[*t.number] {
			return false
		}
		seen[*t.number] = true
	}
	return true
}
