package engine

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Two tags are the same if they differ by case only. A link keeps a tag as it was given, and
// everything that looks for tags compares their folded forms.

// FoldTag returns the form in which tags are compared: Unicode's simple case folding, as strings.EqualFold
// has it, and like the prefixes of lists. Each character becomes the least of those that differ from it by
// case, but for the letters of ASCII, which become lower case; so the result is never longer than the tag,
// and nothing is allocated for lower-case ASCII. Folding a folded tag changes nothing.
//
// Folded tags are in keys, so the folding of a character must not change with Unicode. Rejected: lower case,
// which has changed (Cherokee); golang.org/x/text/cases, whose Fold exchanges the two cases of Cherokee.
func FoldTag(tag string) string {
	begin := strings.IndexFunc(tag, func(r rune) bool { return foldTagRune(r) != r })
	if begin < 0 {
		return tag
	}
	folded := append(make([]byte, 0, len(tag)), tag[:begin]...)
	for i := begin; i < len(tag); {
		r, size := utf8.DecodeRuneInString(tag[i:])
		if r == utf8.RuneError {
			folded = append(folded, tag[i:i+size]...)
		} else {
			folded = utf8.AppendRune(folded, foldTagRune(r))
		}
		i += size
	}
	return string(folded)
}

func foldTagRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	if r = foldRune(r); 'A' <= r && r <= 'Z' { // the signs for kelvin and the long s
		r += 'a' - 'A'
	}
	return r
}

// HasTag reports whether tag, in any case, is among tags.
func HasTag(tags []string, tag string) bool { return tagIndex(tags, FoldTag(tag)) >= 0 }

// tagIndex returns the index of the first of tags whose folded form is folded; −1: there is none.
func tagIndex(tags []string, folded string) int {
	return slices.IndexFunc(tags, func(t string) bool { return FoldTag(t) == folded })
}

// DistinctTags returns tags without those that repeat an earlier one, in any case. If there are none,
// it returns tags itself.
func DistinctTags(tags []string) []string {
	for i, tag := range tags {
		if HasTag(tags[:i], tag) {
			kept := slices.Clone(tags[:i])
			for _, tag := range tags[i+1:] {
				if !HasTag(kept, tag) {
					kept = append(kept, tag)
				}
			}
			return kept
		}
	}
	return tags
}

// replacedTag returns tags with name in the place of the tag whose folded form is folded, and without
// other spellings of name; an empty name: without the tag. changed is false, and tags is as it was,
// if they do not have the tag, or as name has it already. It does not change tags.
func replacedTag(tags []string, folded, name string) (_ []string, changed bool) {
	at := tagIndex(tags, folded)
	if at < 0 {
		return tags, false
	}
	if name == "" {
		return slices.Delete(slices.Clone(tags), at, at+1), true
	}
	wanted := FoldTag(name)
	if first := tagIndex(tags, wanted); first >= 0 && first < at { // it has both: the first place stays
		at = first
	}
	kept := slices.Clone(tags[:at])
	kept = append(kept, name)
	for _, tag := range tags[at+1:] {
		if f := FoldTag(tag); f != folded && f != wanted {
			kept = append(kept, tag)
		}
	}
	return kept, !slices.Equal(kept, tags)
}
