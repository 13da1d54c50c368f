package redirect

import (
	"testing"

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

func TestAPermanentRedirectIsCachedBrieflyAndNeverPastExpiry(t *testing.T) {
	const now = 1_800_000_000_000
	for name, c := range map[string]struct {
		expiresAt int64
		want      string
	}{
		"never expires":       {0, "private, max-age=90"},
		"expires late":        {now + 90_000, "private, max-age=90"},
		"expires soon":        {now + 89_999, "private, max-age=89"},
		"expires immediately": {now + 1, "private, max-age=0"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decision{maxAge: maxAge(c.expiresAt, now)}
			got := d.AppendCacheControl(nil)
			expect.Equal(t, string(got), c.want, "got %q", got)
		})
	}
}
