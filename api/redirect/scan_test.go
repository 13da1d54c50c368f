package redirect

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

func TestTheMarkOfAScanIsTakenOutOfAQuery(t *testing.T) {
	for query, want := range map[string]string{
		"": "no", "a=b": "no a=b", "a=b&c": "no a=b&c", "_q": "no _q", "_qrs": "no _qrs", "x_qr=1": "no x_qr=1", "_QR": "no _QR", "a=_qr": "no a=_qr",
		"&": "no &", "_qr;a=b": "no _qr;a=b", "%5": "no %5", "=_qr": "no =_qr", "+_qr": "no +_qr", "_%71%7": "no _%71%7",
		"_qr": "yes ", "_qr=": "yes ", "_qr=1": "yes ", "_qr=a=b": "yes ", "%5Fqr": "yes ", "%5fq%72=x": "yes ", "%5f%71%72": "yes ",
		"_qr&a=b": "yes a=b", "a=b&_qr": "yes a=b", "a=b&_qr=1&c=d": "yes a=b&c=d", "_qr&_qr": "yes ", "_qr=1&a&_qr=2&b&%5Fqr": "yes a&b", "&_qr": "yes ", "a&&_qr": "yes a&",
	} {
		rest, scan := TakeScan([]byte(query))
		got := map[bool]string{true: "yes ", false: strings.TrimSpace("no " + string(rest))}[scan]
		if scan {
			got += string(rest)
		}
		expect.Equal(t, got, want, "%q", query)
	}
}

func TestTheUsualQueriesOfScansCostNoMemory(t *testing.T) {
	for _, query := range []string{"a=b&c=d", "_qr", "_qr=1"} {
		text := []byte(query)
		expect.Equal(t, testing.AllocsPerRun(100, func() { TakeScan(text) }), 0, "%s", query)
	}
}

// FuzzTakeScan compares TakeScan with a plain one, and takes the mark out of what is left again.
func FuzzTakeScan(f *testing.F) {
	for _, query := range []string{"", "_qr", "a=b&_qr=1&c", "%5Fqr=%", "_qr&&", "a=%zz&_q%72"} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		before := strings.Clone(query)
		rest, scan := TakeScan([]byte(query))
		expect.Equal(t, query, before, "the query is changed")
		parts := strings.Split(query, "&")
		isMark := func(part string) bool {
			name, _, _ := strings.Cut(part, "=")
			decoded, err := url.QueryUnescape(name)
			return err == nil && decoded == ScanMark
		}
		expect.Equal(t, scan, slices.ContainsFunc(parts, isMark), "%q", query)
		again, more := TakeScan(rest)
		expect.That(t, !more && string(again) == string(rest), "%q: %q has the mark", query, rest)
		for _, part := range parts {
			expect.That(t, isMark(part) || part == "" || strings.Contains("&"+string(rest)+"&", "&"+part+"&"), "%q: %q lacks %q", query, rest, part)
		}
	})
}
