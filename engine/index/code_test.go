package index

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/invalid"
)

func TestValidCodeAcceptsExactlyTheBytesOfTheContract(t *testing.T) {
	const allowed = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-"
	for b := range 256 {
		expect.Equal(t, ValidCode([]byte{byte(b)}), strings.IndexByte(allowed, byte(b)) >= 0, "ValidCode(%#x)", b)
	}
	for length, want := range map[int]bool{0: false, 1: true, 64: true, 65: false} {
		expect.Equal(t, ValidCode(bytes.Repeat([]byte("x"), length)), want, "a code of %d bytes", length)
	}
}

func TestAliasIsRefusedWithAStableCode(t *testing.T) {
	for name, c := range map[string]struct{ alias, want string }{
		"plain":                  {"promo", ""},
		"one character":          {"a", ""},
		"sixty-four characters":  {strings.Repeat("a", 64), ""},
		"api in other case":      {"API", ""},
		"two underscores":        {"__", ""},
		"begins like a reserved": {"api2", ""},
		"api":                    {"api", "reserved"},
		"underscore":             {"_", "reserved"},
		"empty":                  {"", "required"},
		"too long":               {strings.Repeat("a", 65), "too_long"},
		"slash":                  {"a/b", "characters"},
		"percent":                {"%61", "characters"},
		"dot":                    {"robots.txt", "characters"},
		"beyond ASCII":           {"straße", "characters"},
		"NUL":                    {"a\x00", "characters"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ValidateAlias(c.alias)
			var got invalid.FieldError
			if errors.As(err, &got); got.Code != c.want || (err != nil && got.Field != "alias") {
				t.Errorf("got %+v, want code %q of field alias", err, c.want)
			}
		})
	}
}

// The reader is a fixed stream, so the test always gives the same answer. χ² of 61 degrees of
// freedom is above 105 once in 2,500 fair streams; drawing byte%62 gives about 1,700 on this
// stream.
func TestEachCharacterOfADrawnCodeIsEquallyLikely(t *testing.T) {
	const draws = 50_000
	r := rand.NewChaCha8([32]byte{1})
	var seen [256]int
	for range draws {
		code, err := DrawCode(r)
		expect.MustThat(t, err == nil && len(code) == DrawnCodeBytes && ValidCode([]byte(code)), "DrawCode: got %q, %v", code, err)
		for _, c := range []byte(code) {
			seen[c]++
		}
	}
	want := float64(draws*DrawnCodeBytes) / float64(len(base62))
	chi2 := 0.0
	for _, c := range []byte(base62) {
		d := float64(seen[c]) - want
		chi2 += d * d / want
	}
	expect.That(t, chi2 <= 105, "χ² of the characters: got %.0f, want at most 105", chi2)
}

func TestDrawCodeDiscardsBytesThatWouldBiasIt(t *testing.T) {
	stream := append(bytes.Repeat([]byte{248, 255}, 12), 0, 61, 62, 247, 9, 10, 35, 36)
	got, err := DrawCode(bytes.NewReader(stream))
	want := "0z0z9AZa"
	expect.That(t, err == nil && got == want, "got %q, %v; want %q", got, err, want)
}

func TestDrawCodeReportsAFailingReader(t *testing.T) {
	_, err := DrawCode(bytes.NewReader(nil))
	expect.Error(t, err, io.EOF, "the error")
}
