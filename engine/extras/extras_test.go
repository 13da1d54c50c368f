package extras

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
)

func anyFields() *rapid.Generator[Fields] {
	return rapid.Custom(func(t *rapid.T) Fields {
		return Fields{
			StartsAtMs: rapid.SampledFrom([]int64{0, 1, 1<<63 - 1}).Draw(t, "starts"),
			ExpiredURL: strings.Repeat("x", rapid.SampledFrom([]int{0, 1, 255, 256, limits.MaxTargetBytes}).Draw(t, "expired")),
			Query:      Query(rapid.Uint8Max(uint8(Keep)).Draw(t, "query")),
		}
	})
}

func TestABlobIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyFields().Draw(t, "fields")
		blob := want.Append(nil)
		got, err := Read(blob)
		expect.MustThat(t, err == nil && got == want, "got %+v, %v, want %+v", got, err, want)
		expect.MustEqual(t, StartsAtMs(blob), want.StartsAtMs, "a redirect reads another start")
		expect.MustEqual(t, string(ExpiredURL(blob)), want.ExpiredURL, "a redirect reads another address")
		expect.MustEqual(t, QueryOf(blob), want.Query, "a redirect treats the query in another way")
	})
}

func TestALinkWithoutExtrasHasNoBlob(t *testing.T) {
	expect.Equal(t, len((&Fields{}).Append(nil)), 0, "bytes")
	got, err := Read("")
	expect.That(t, err == nil && got == Fields{}, "no blob says %+v, %v", got, err)
	expect.Equal(t, StartsAtMs(nil), 0, "no blob has a start")
}

func TestWhatAppendDoesNotWriteIsMalformed(t *testing.T) {
	start := "\x01\x08\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00"
	for name, blob := range map[string]string{
		"a number alone":         "\x01",
		"half a length":          "\x01\x08",
		"a part that is cut off": start[:len(start)-1],
		"bytes after the last":   start + "\x00",
		"a part twice":           start + start,
		"the number 0":           "\x00\x00\x00",
		"a number not known":     start + "\x63\x01\x00\x07",
		"a start of 7 bytes":     "\x01\x07\x00" + "\x01\x00\x00\x00\x00\x00\x00",
		"the start 0":            "\x01\x08\x00" + strings.Repeat("\x00", 8),
		"a start before 1970":    "\x01\x08\x00" + strings.Repeat("\xff", 8),
		"an empty address":       "\x02\x00\x00",
		"an address too long":    "\x02\x01\x20" + strings.Repeat("x", limits.MaxTargetBytes+1),
		"bits that say nothing":  "\x03\x01\x00\x00",
		"a bit not known":        "\x03\x01\x00\x09",
		"both ways of a query":   "\x03\x01\x00\x03",
		"bits of two bytes":      "\x03\x02\x00\x01\x00",
		"parts without order":    "\x02\x01\x00x" + start,
		"too many bytes":         "\x63\x00\x80" + strings.Repeat("x", MaxBytes),
	} {
		got, err := Read(blob)
		expect.That(t, err == ErrMalformed && got == Fields{}, "%s: got %+v, %v", name, got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add((&Fields{StartsAtMs: 1_700_000_000_000, ExpiredURL: "https://a.b/", Query: Keep}).Append(nil))
	f.Fuzz(func(t *testing.T, blob []byte) {
		fields, err := Read(blob)
		expect.MustThat(t, err != nil || bytes.Equal(fields.Append(nil), blob), "%x is read as %+v, which is written in another way", blob, fields)
		if err == nil {
			expect.MustEqual(t, StartsAtMs(blob), fields.StartsAtMs, "%x", blob)
			expect.MustEqual(t, string(ExpiredURL(blob)), fields.ExpiredURL, "%x", blob)
			expect.MustEqual(t, QueryOf(blob), fields.Query, "%x", blob)
		}
	})
}
