package link

import (
	"slices"
	"strings"
	"unicode"
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

// foldRune returns the least of the characters that differ from r by case (Unicode's simple
// folding).
func foldRune(r rune) rune {
	if 'a' <= r && r <= 'z' {
		return r - 'a' + 'A'
	}
	if r < utf8.RuneSelf {
		return r
	}
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
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

// MaxListedTags bounds the tags of a page.
const MaxListedTags = 1000

// A TagCount is a tag and the number of live links of its owner that have it.
type TagCount struct {
	Name  string // as the newest of the links has it
	Links uint64

	folded string
}

// NewTagCount returns the count of a tag whose folded form is folded. It is for implementations of
// Listing.
func NewTagCount(folded, name string, links uint64) TagCount { return TagCount{name, links, folded} }

// Folded returns the form by which tags are sorted.
func (c *TagCount) Folded() string { return c.folded }

// TagScan is a count of an owner's tags, in the order of their folded forms. Listing.CountTags sets
// all but the first three fields.
type TagScan struct {
	Owner  uint32
	Prefix string // only tags whose folded forms begin with it
	After  string // only tags whose folded forms come after it; empty: all

	Open  TagCount // the tag that the last call was counting; its zero value: none
	Below uint64   // the links of Open with a smaller id are not counted yet
}

// TagQuery asks for a page of an owner's tags.
type TagQuery struct {
	Owner  uint32
	Prefix string // of the tags, in any case; empty: all
	After  string // Next of the page before; empty: from the first on
	Limit  int    // 1 to MaxListedTags
	Rows   int    // that are counted, about: a tag whose count is cut is the last of the page; 0: any number

	TagRows int // of a tag that are counted, or up to twice as many: then the next tag is; 0: all
}

// TagPage is a part of an owner's tags, sorted by their folded forms.
type TagPage struct {
	Tags []TagCount
	Next string // After of the next page; empty: this was the last one
}
