package redirect

import (
	"testing"

	"shunt/engine/expect"
)

func TestPrefetchHeadersAreKnownInEverySpelling(t *testing.T) {
	for line, want := range map[string]bool{
		"Sec-Purpose: prefetch":           true,
		"Sec-Purpose: prefetch;prerender": true,
		"Sec-Purpose: PreFetch":           true,
		"Purpose: prefetch":               true,
		"X-Purpose: preview":              true,
		"Sec-Purpose: prerender":          true,
		"Purpose: PRERENDER;x=y":          true,
		"Purpose: render":                 false,
		"X-Moz: prefetch":                 true,
		"Purpose: : preview":              true,
		"Sec-Purpose: navigate":           false,
		"X-Moz: prefetc":                  false,
		"Sec-Fetch-Dest: prefetch":        false,
		"Purpose:":                        false,
	} {
		expect.Equal(t, IsPrefetch([]byte("Host: a\r\n"+line+"\r\n")), want, line)
	}
}

func TestEveryLineOfAPrefetchHeaderCounts(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		want bool
	}{
		"in the second line":         {"Purpose: foo\r\nPurpose: prefetch\r\n", true},
		"in the first line":          {"Purpose: prefetch\r\nPurpose: foo\r\n", true},
		"after another header":       {"Sec-Purpose: navigate\r\nAccept: */*\r\nx-moz:PREVIEW\r\n", true},
		"without the last line end":  {"Purpose: prefetch", true},
		"in the line after it":       {"Purpose: foo\r\nAccept: prefetch\r\n", false},
		"in the name":                {"Prefetch: Purpose: prefetch\r\n", false},
		"a longer name":              {"X-Purposes: prefetch\r\n", false},
		"a line that is only a name": {"Purpose:\r\nX-Moz:", false},
		"empty lines":                {"\r\n\n\r\n", false},
		"nothing":                    {"", false},
	} {
		if got := IsPrefetch([]byte(c.raw)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
	raw := []byte("Purpose: foo\r\nCookie: a=b; c=d\r\nPurpose: prefetch\r\n")
	var got bool
	allocations := testing.AllocsPerRun(100, func() { got = IsPrefetch(raw) })
	if !got || allocations != 0 {
		t.Errorf("two lines and cookies: got %v and %v allocations, want true and 0", got, allocations)
	}
}
