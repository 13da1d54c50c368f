package link

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"shunt/engine/expect"
)

func TestFoldedTagsAreOfBoundedLengthAndFoldToThemselves(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		text := string(r)
		folded := FoldTag(text)
		if len(folded) > len(text) || FoldTag(folded) != folded || strings.Contains(folded, "\x00") && r != 0 {
			t.Errorf("%q: folded %q, and again %q", text, folded, FoldTag(folded))
		}
		if other := string(unicode.SimpleFold(r)); FoldTag(other) != folded {
			t.Errorf("%q and %q differ by case only, and fold to %q and %q", text, other, folded, FoldTag(other))
		}
	}
	for _, same := range [][2]string{{"News", "nEWS"}, {"STRAẞE", "Straße"}, {"ΣΊΣΥΦΟΣ", "σίσυφος"}, {"\u212aELVIN", "Kelvin"}, {"\xffA", "\xffa"}} {
		if FoldTag(same[0]) != FoldTag(same[1]) {
			t.Errorf("%q and %q are two tags", same[0], same[1])
		}
	}
	if n := testing.AllocsPerRun(100, func() { FoldTag("a-usual tag 1") }); n != 0 {
		t.Errorf("a usual tag takes %v allocations", n)
	}
}

func TestOfTagsThatDifferByCaseTheFirstStays(t *testing.T) {
	for sent, want := range map[string]string{
		"": "", "a": "a", "a b": "a b", "News news NEWS": "News", "b A a B c": "b A c", "é É e": "é e",
	} {
		tags := strings.Fields(sent)
		got := DistinctTags(tags)
		expect.That(t, strings.Join(got, " ") == want && strings.Join(tags, " ") == sent, "%s: got %q, want %s, and what was sent unchanged: %q", sent, got, want, tags)
	}
}

func TestATagIsReplacedInItsPlace(t *testing.T) {
	for _, c := range []struct{ tags, tag, name, want string }{
		{"a b c", "B", "x", "a x c"},
		{"a b c", "b", "", "a c"},
		{"a b c", "x", "y", "a b c"},
		{"a b c", "c", "A", "A b"},
		{"a b c", "a", "C", "C b"},
		{"News b", "news", "news", "news b"},
		{"b", "B", "b", "b"},
		{"b", "b", "", ""},
	} {
		tags := strings.Fields(c.tags)
		got, changed := replacedTag(tags, FoldTag(c.tag), c.name)
		expect.That(t, strings.Join(got, " ") == c.want && changed != slices.Equal(got, tags) && strings.Join(tags, " ") == c.tags,
			"%+v: got %q, changed %v; what was given is %q", c, got, changed, tags)
	}
}
