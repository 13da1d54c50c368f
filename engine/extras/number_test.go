package extras

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

func ruleTo(url, device string) Rule {
	return Rule{URL: url, Conditions: []Condition{{OnDevice, "", device}}}
}

// A life is a link in the course of its edits.
type life struct {
	url  string
	f    Fields
	last uint8
}

// edit makes rules and split those of the link, and returns the numbers of all its targets.
func (l *life) edit(t *testing.T, url string, rules []Rule, split []Share) string {
	t.Helper()
	f := Fields{Rules: slices.Clone(rules), Split: slices.Clone(split)}
	last, ok := f.Number(url, &l.f, l.url, l.last)
	expect.MustThat(t, ok, "no number is left")
	l.url, l.f, l.last = url, f, last
	var numbers []uint8
	for _, target := range f.targets(url) {
		numbers = append(numbers, *target.number)
	}
	return fmt.Sprint(numbers)
}

func TestAnEditKeepsTheNumbersOfEqualTargets(t *testing.T) {
	var l life
	a, b, c := ruleTo("a", "\x01"), ruleTo("b", "\x02"), ruleTo("c", "\x03")
	expect.Equal(t, l.edit(t, "own", []Rule{a, b}, nil), "[1 2 3]", "a new link")
	expect.Equal(t, l.edit(t, "own", []Rule{b, a}, nil), "[1 3 2]", "in another order")
	expect.Equal(t, l.edit(t, "own", []Rule{ruleTo("b", "\x04"), c}, nil), "[1 3 4]", "another condition, and another rule")
	expect.Equal(t, l.edit(t, "other", []Rule{c, a}, nil), "[5 4 6]", "another own address, and a rule that was there before")
	expect.Equal(t, l.edit(t, "other", nil, []Share{{"x", 70, 0}, {"y", 30, 0}}), "[5 7 8]", "a split instead")
	expect.Equal(t, l.edit(t, "other", nil, []Share{{"y", 60, 0}, {"x", 40, 0}}), "[5 8 7]", "other weights")
	expect.Equal(t, l.edit(t, "other", nil, nil), "[]", "no more choices")
	expect.Equal(t, l.f.Target, 0, "the number of a link with one target")
	expect.Equal(t, l.edit(t, "other", []Rule{a}, nil), "[9 10]", "a choice again")
	same := []Rule{ruleTo("a", "\x01"), ruleTo("a", "\x02")}
	expect.Equal(t, l.edit(t, "other", same, nil), "[9 10 11]", "two rules with one address")
	expect.Equal(t, l.edit(t, "other", same[1:], nil), "[9 11]", "the second of them")
	expect.Equal(t, l.edit(t, "other", nil, []Share{{"a", 1, 0}, {"b", 1, 0}}), "[9 11 12]", "an address of a rule in a split")
}

func TestANumberIsNeverGivenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		meant := map[uint8]string{}
		var before Fields
		url, last := "", uint8(0)
		for range rapid.IntRange(1, 20).Draw(t, "edits") {
			f := anyFields().Draw(t, "fields")
			now := rapid.SampledFrom([]string{"p", "q"}).Draw(t, "own")
			n, ok := f.Number(now, &before, url, last)
			if !ok {
				return
			}
			expect.MustThat(t, n >= last, "the last number falls from %d to %d", last, n)
			for _, target := range f.targets(now) {
				had, known := meant[*target.number]
				expect.MustThat(t, *target.number != 0 && (!known || had == target.url), "%d meant %q, and now %q", *target.number, had, target.url)
				meant[*target.number] = target.url
			}
			_, err := Read(f.Append(nil))
			expect.MustThat(t, err == nil, "%+v cannot be read: %v", f, err)
			before, url, last = f, now, n
		}
	})
}

func TestThe256thNumberIsRefused(t *testing.T) {
	f := Fields{Rules: []Rule{ruleTo("a", "\x01")}}
	last, ok := f.Number("own", &Fields{}, "", 253)
	expect.That(t, ok && last == 255, "got %d, %v, want 255", last, ok)
	g := Fields{Rules: []Rule{ruleTo("b", "\x01")}}
	last, ok = g.Number("own", &f, "own", last)
	expect.That(t, !ok && last == 255, "got %d, %v", last, ok)
	g = Fields{Rules: []Rule{ruleTo("a", "\x02")}}
	_, ok = g.Number("own", &f, "own", last)
	expect.That(t, ok, "an edit that needs no number is refused")
}
