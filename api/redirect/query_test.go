package redirect

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

func TestTheQueryIsPutBeforeTheFragment(t *testing.T) {
	for name, c := range map[string]struct{ target, query, want string }{
		"no query sent":             {"http://a/b?c#d", "", "http://a/b?c#d"},
		"target without query":      {"http://a/b", "x=1", "http://a/b?x=1"},
		"target with query":         {"http://a/b?c", "x=1", "http://a/b?c&x=1"},
		"target with fragment":      {"http://a/b#d", "x=1", "http://a/b?x=1#d"},
		"target with both":          {"http://a/b?c#d", "x=1", "http://a/b?c&x=1#d"},
		"target without path":       {"http://a", "x=1", "http://a?x=1"},
		"target ends in ?":          {"http://a/?", "x", "http://a/?x"},
		"target ends in &":          {"http://a/?c&", "x", "http://a/?c&x"},
		"question mark in fragment": {"http://a/#d?e", "x", "http://a/?x#d?e"},
		"query is not decoded":      {"http://a/", "%41+%zz", "http://a/?%41+%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			got := addQuery([]byte("head "+c.target), len("head "), []byte(c.query))
			expect.Equal(t, string(got), "head "+c.want, "got %q, want %q", got, c.want)
		})
	}
}

func TestAQueryReplacesParametersOfTheTargetOrYieldsToThem(t *testing.T) {
	for _, c := range []struct{ target, query, override, keep string }{
		{"http://a", "x=1", "http://a?x=1", "http://a?x=1"},
		{"http://a/?", "x=1", "http://a/?x=1", "http://a/?x=1"},
		{"http://a/?y=2", "x=1", "http://a/?y=2&x=1", "http://a/?y=2&x=1"},
		{"http://a/?x=2", "x=1", "http://a/?x=1", "http://a/?x=2"},
		{"http://a/?x=2#f", "x=1", "http://a/?x=1#f", "http://a/?x=2#f"},
		{"http://a/?x=2&y=3&x=4", "x=1&z=5", "http://a/?y=3&x=1&z=5", "http://a/?x=2&y=3&x=4&z=5"},
		{"http://a/?y=3&x=2", "x=1&x=6&y=7", "http://a/?x=1&x=6&y=7", "http://a/?y=3&x=2"},
		{"http://a/?x", "x=1", "http://a/?x=1", "http://a/?x"},
		{"http://a/?x=a=b", "x", "http://a/?x", "http://a/?x=a=b"},
		{"http://a/?X=2", "x=1", "http://a/?X=2&x=1", "http://a/?X=2&x=1"},
		{"http://a/?a%62=2", "%61b=%31", "http://a/?%61b=%31", "http://a/?a%62=2"},
		{"http://a/?a+b=2", "a%20b=1", "http://a/?a%20b=1", "http://a/?a+b=2"},
		{"http://a/?%zz=2", "%zz=1", "http://a/?%zz=1", "http://a/?%zz=2"},
		{"http://a/?x[]=2", "x%5B%5D=1", "http://a/?x%5B%5D=1", "http://a/?x[]=2"},
		{"http://a/?y=2&", "x=1", "http://a/?y=2&x=1", "http://a/?y=2&x=1"},
		{"http://a/?x=2&&y=3", "x=1", "http://a/?y=3&x=1", "http://a/?x=2&&y=3"},
		{"http://a/#x?x=2", "x=1", "http://a/?x=1#x?x=2", "http://a/?x=1#x?x=2"},
		{"http://a/?x=2", "&", "http://a/?x=2&&", "http://a/?x=2"},
	} {
		head := "head?x=9 "
		got := string(override([]byte(head+c.target), len(head), []byte(c.query)))
		expect.Equal(t, got, head+c.override, "override, %s and %s", c.target, c.query)
		got = string(keep([]byte(head+c.target), len(head), []byte(c.query)))
		expect.Equal(t, got, head+c.keep, "keep, %s and %s", c.target, c.query)
	}
}

// TestParametersAreThoseOfURLValues compares with a model: maps of parameters as net/url reads them.
func TestParametersAreThoseOfURLValues(t *testing.T) {
	anyQuery := rapid.Custom(func(t *rapid.T) string {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "%61", "c+d", "c%20d", "%63 d", "e", "ab", "A", "\xff"}), 1, 40).Draw(t, "names")
		for i := range names {
			names[i] = strings.ReplaceAll(names[i], " ", "+") + fmt.Sprint("=", i)
		}
		return strings.Join(names, "&")
	})
	rapid.Check(t, func(t *rapid.T) {
		own, sent := anyQuery.Draw(t, "target"), anyQuery.Draw(t, "query")
		target, err := url.ParseQuery(own)
		expect.OK(t, err)
		visitor, err := url.ParseQuery(sent)
		expect.OK(t, err)
		for way, do := range map[string]func([]byte, int, []byte) []byte{"override": override, "keep": keep} {
			winner, loser := target, visitor
			if way == "override" {
				winner, loser = visitor, target
			}
			want := url.Values{}
			for _, values := range []url.Values{loser, winner} {
				for name, all := range values {
					want[name] = all
				}
			}
			location := do([]byte("http://a/?"+own+"#f"), 0, []byte(sent))
			got, err := url.Parse(string(location))
			expect.MustThat(t, err == nil && got.Query().Encode() == want.Encode() && got.Fragment == "f", "%s of %q by %q: got %s, want %q", way, own, sent, location, want)
		}
	})
}

func TestFewParametersTakeNoMemory(t *testing.T) {
	buf, query := make([]byte, 0, 512), []byte("a=1&b=2&c=3")
	for way, do := range map[string]func([]byte, int, []byte) []byte{"append": addQuery, "override": override, "keep": keep} {
		n := testing.AllocsPerRun(100, func() { do(append(buf, "https://example.org/?b=5&d=6#f"...), 0, query) })
		expect.Equal(t, n, 0, "%s: allocations", way)
	}
}
