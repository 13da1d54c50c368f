package source

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

// codesOf returns the codes of the links of a text, and why others were refused.
func codesOf(t rapid.TB, text string, o Options) (codes, refused []string) {
	t.Helper()
	s, err := Open(strings.NewReader(text), int64(len(text)), o)
	expect.MustThat(t, err == nil, "%v: %s", err, text)
	for {
		r, err := s.Next()
		switch {
		case errors.Is(err, io.EOF):
			return codes, refused
		case err != nil:
			t.Fatalf("%v: %s", err, text)
		case r.Refused != "":
			refused = append(refused, fmt.Sprintf("%d: %s", r.Number, r.Refused))
		default:
			f, _ := objectOf(r.Link)
			codes = append(codes, f["code"].text)
		}
	}
}

// TestDamageOfALinkLosesNoOther damages one link of pages by a byte that is missing or another one, or ends its page
// within it: all other links come, and something says so unless the link comes, too.
func TestDamageOfALinkLosesNoOther(t *testing.T) {
	const perPage = 4
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "links")
		bad := rapid.IntRange(0, n-1).Draw(t, "the damaged one")
		links := make([]string, n)
		for i := range links {
			links[i] = fmt.Sprintf(`{"id":"link_%d","key":"c%02d","url":"https://a.example/%d","title":"%s","tags":[{"id":"t1","name":"news"},{"id":"t2","name":"old"}]}`,
				i, i, i, rapid.SampledFrom([]string{"", "A title", `}],{\"`, "[{ }]"}).Draw(t, "title"))
		}
		at := rapid.IntRange(0, len(links[bad])-1).Draw(t, "where")
		ends := false
		switch rapid.SampledFrom([]string{"missing", "another", "end"}).Draw(t, "damage") {
		case "missing":
			links[bad] = links[bad][:at] + links[bad][at+1:]
		case "another":
			links[bad] = links[bad][:at] + rapid.SampledFrom([]string{`"`, "x", "\n", "\\"}).Draw(t, "byte") + links[bad][at+1:]
		default:
			links[bad], ends = links[bad][:at], true
		}
		text, want := strings.Builder{}, []string(nil)
		opens, closes := `{"links":[`, "]}\n"
		if rapid.Bool().Draw(t, "named") { // as YOURLS has them
			opens, closes = `{"links":{`, "}}\n"
			for i := range links {
				links[i] = fmt.Sprintf(`"link_%d":`, i+1) + links[i]
			}
		}
		for page := 0; page < n; page += perPage {
			last := min(page+perPage, n) - 1
			if ends && page <= bad && bad <= last { // what is left of the page is not there
				text.WriteString(opens + strings.Join(links[page:bad+1], ", ") + "\n")
				last = bad
			} else {
				text.WriteString(opens + strings.Join(links[page:last+1], ", ") + closes)
			}
			for i := page; i <= last; i++ {
				if i != bad {
					want = append(want, fmt.Sprintf("c%02d", i))
				}
			}
		}
		codes, refused := codesOf(t, text.String(), Options{Format: JSON})
		others := slices.DeleteFunc(slices.Clone(codes), func(code string) bool { return !slices.Contains(want, code) })
		expect.MustSlices(t, others, want, "%s", text.String())
		expect.That(t, len(codes) > len(want) || len(refused) > 0, "nothing says what is not there of %s", text.String())
	})
}

// TestReadingAfterDamageHasABudget has files in which every place looks as if a link began there.
func TestReadingAfterDamageHasABudget(t *testing.T) {
	for name, text := range map[string]string{
		"open lists":    `[{"url":"https://a.example/","code":"a"},` + strings.Repeat(`{"a":[`, 200_000),
		"open objects":  `[{"url":"https://a.example/","code":"a"},` + strings.Repeat(`{"a":`, 200_000),
		"no links":      `[{"url":"https://a.example/","code":"a"},,` + strings.Repeat(`{"a":1},`, 200_000),
		"a list in all": `[{"url":"https://a.example/","code":"a"},,` + strings.Repeat(`{"links":[`, 90) + strings.Repeat(`{"a":1},`, 100_000),
		"deep":          strings.Repeat("[", 1<<20),
	} {
		codes, refused := codesOf(t, text, Options{Format: JSON})
		expect.That(t, len(codes) <= 1 && len(refused) == 1, "%s: got %d links, refused %q", name, len(codes), refused)
	}
	const link = `{"url":"https://a.example/","code":"a"},`
	section := ",," + strings.Repeat(`{"a":[`, 1500) + link
	_, refused := codesOf(t, "["+link+strings.Repeat(section, 50), Options{Format: JSON})
	expect.That(t, len(refused) > 1 && len(refused) < 50 && strings.Contains(refused[len(refused)-1], "what follows was not read"),
		"long sections of damage: refused %d", len(refused))
	codes, refused := codesOf(t, "["+link+strings.Repeat(","+link, 20_000), Options{Format: JSON})
	expect.That(t, len(codes) == 20_001 && len(refused) == 20_001, "short sections: got %d links, refused %d", len(codes), len(refused))
}
