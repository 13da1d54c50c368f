package engine

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// Two tags are the same if they differ by case only. A link keeps a tag as it was given, and
// everything that looks for tags compares their folded forms.

// FoldTag returns the form in which tags are compared: Unicode's full case folding (CaseFolding.txt,
// C and F, by golang.org/x/text/cases), in which "STRASSE" and "Straße" are the same. Unicode
// promises that it does not change for characters that exist, which lower case may; so it can be in
// keys. It makes at most three bytes of one, and folding a folded tag changes nothing. It allocates nothing for lower-case ASCII.
func FoldTag(tag string) string {
	for i := range len(tag) {
		if tag[i] >= utf8.RuneSelf {
			return cases.Fold().String(tag)
		}
	}
	return strings.ToLower(tag)
}

// FoldedTagBytes returns how many bytes FoldTag(tag) has at most.
func FoldedTagBytes(tag string) int {
	for i := range len(tag) {
		if tag[i] >= utf8.RuneSelf {
			return 3 * len(tag)
		}
	}
	return len(tag)
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
