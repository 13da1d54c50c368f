package index

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
)

func TestValidCodeAcceptsExactlyTheBytesOfTheContract(t *testing.T) {
	const allowed = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-./"
	for b := range 256 {
		expect.Equal(t, ValidCode([]byte{'a', byte(b), 'c'}), strings.IndexByte(allowed, byte(b)) >= 0, "ValidCode(a%#xc)", b)
	}
	for length, want := range map[int]bool{0: false, 1: true, 64: true, 65: false} {
		expect.Equal(t, ValidCode(bytes.Repeat([]byte("x"), length)), want, "a code of %d bytes", length)
	}
}

var (
	pathCodes = []string{
		"a/b", "a/b/c", "v1.2", "a.", ".a", "...", "a/.b", "a./b", "-/_", "a.b/c.d", strings.Repeat("a/", 31) + "ab", "sho.rt/a", "api/x", "_/x", "robots.txt", "a.png",
	}
	notPathCodes = []string{"/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "../a", "a/..", "a/./b", "a/../b", strings.Repeat("a/", 32) + "a", "//", "a/b/"}
)

func TestValidCodeAcceptsNamesAsSegmentsOnly(t *testing.T) {
	for _, code := range pathCodes {
		expect.That(t, ValidCode([]byte(code)), "%q is not a code", code)
	}
	for _, code := range notPathCodes {
		expect.That(t, !ValidCode([]byte(code)), "%q is a code", code)
	}
}

// Case is folded by one bit, so no two bytes of codes may share the others unless they are one letter.
func TestCodesThatDifferByMoreThanCaseAreFoldedApart(t *testing.T) {
	fold := func(code string) string {
		var folded [limits.MaxCodeBytes]byte
		return string(foldCase(&folded, []byte(code)))
	}
	for a := range 256 {
		for b := range 256 {
			if codeByte[a] == 0 || codeByte[b] == 0 {
				continue
			}
			x, y := string([]byte{byte(a)}), string([]byte{byte(b)})
			expect.Equal(t, fold(x) == fold(y), strings.EqualFold(x, y), "%q and %q folded", x, y)
		}
	}
}

func TestAliasIsRefusedWithAStableCode(t *testing.T) {
	for name, c := range map[string]struct{ alias, want string }{
		"plain":                    {"promo", ""},
		"one character":            {"a", ""},
		"sixty-four characters":    {strings.Repeat("a", 64), ""},
		"segments":                 {"docs/v1.2/setup", ""},
		"a dot at the end":         {"a.", ""},
		"a dot at the beginning":   {".a", ""},
		"api in other case":        {"API", ""},
		"api within":               {"a/api", ""},
		"two underscores":          {"__", ""},
		"begins like a reserved":   {"api2", ""},
		"dot after a reserved":     {"api.html", ""},
		"rest with more letters":   {"restaurant/menu", ""},
		"robots deeper":            {"a/robots.txt", ""},
		"an ending as a segment":   {"png", ""},
		"an ending within":         {"a.png/b", ""},
		"api":                      {"api", "reserved"},
		"below api":                {"api/x", "reserved"},
		"a path of the API":        {"api/v1/links", "reserved"},
		"underscore":               {"_", "reserved"},
		"below underscore":         {"_/x", "reserved"},
		"rest":                     {"rest", "reserved"},
		"below rest":               {"rest/v3/short-urls", "reserved"},
		"api and a slash":          {"api/", "reserved"},
		"well-known":               {".well-known", "reserved"},
		"below well-known":         {".well-known/acme-challenge/x", "reserved"},
		"the file of YOURLS":       {"yourls-api.php", "reserved"},
		"robots":                   {"robots.txt", "reserved"},
		"icon":                     {"favicon.ico", "reserved"},
		"QR code":                  {"a.png", "reserved"},
		"QR code of a deeper one":  {"a/b.svg", "reserved"},
		"QR code in capitals":      {"a.SvG", "reserved"},
		"only the end of an image": {".png", "reserved"},
		"preview":                  {"a+", "reserved"},
		"empty":                    {"", "required"},
		"too long":                 {strings.Repeat("a", 65), "too_long"},
		"too long with slashes":    {strings.Repeat("a/", 32) + "a", "too_long"},
		"percent":                  {"%61", "characters"},
		"plus within":              {"a+b", "characters"},
		"beyond ASCII":             {"straße", ""},
		"a script without case":    {"日本/東京", ""},
		"a script from the right":  {"שלום", ""},
		"a joiner within":          {"می\u200cخواهم", ""},
		"an emoji of several":      {"👩\u200d💻", ""},
		"sixty-four bytes of two":  {strings.Repeat("é", 32), ""},
		"sixty-six bytes of two":   {strings.Repeat("é", 33), "too_long"},
		"not in NFC":               {"e\u0301", "characters"},
		"no UTF-8":                 {"a\xff", "characters"},
		"half of a character":      {"a\xc3", "characters"},
		"a surrogate":              {"a\xed\xa0\x80", "characters"},
		"a mark of direction":      {"a\u200eb", "characters"},
		"an override of direction": {"a\u202eb", "characters"},
		"an isolate":               {"a\u2066b", "characters"},
		"no width":                 {"a\u200bb", "characters"},
		"a blank without break":    {"a\u00a0b", "characters"},
		"an ideographic blank":     {"a\u3000b", "characters"},
		"a separator of lines":     {"a\u2028b", "characters"},
		"a control beyond ASCII":   {"a\u0085b", "characters"},
		"a private character":      {"a\ue000", "characters"},
		"no character":             {"a\uffff", "characters"},
		"a joiner at the end":      {"a\u200d", "characters"},
		"a joiner at a beginning":  {"a/\u200db", "characters"},
		"a joiner before a slash":  {"a\u200c/b", "characters"},
		"a letter like a blank":    {"a\u3164", "characters"},
		"another one":              {"\u115f", "characters"},
		"a half of it":             {"a\uffa0b", "characters"},
		"blank braille":            {"\u2800", "characters"},
		"a form of a letter":       {"abc\ufe0f", "characters"},
		"a form of a sign":         {"\u4e00\U000e0100", "characters"},
		"a joiner of graphemes":    {"abc\u034f", "characters"},
		"a Mongolian form":         {"a\u180b", "characters"},
		"a vowel without sound":    {"a\u17b4", "characters"},
		"a mark at the beginning":  {"\u0301a", "characters"},
		"a mark after a slash":     {"a/\u0301", "characters"},
		"an emoji with its form":   {"\u2764\ufe0f", ""},
		"a keycap":                 {"1\ufe0f\u20e3", ""},
		"a soft hyphen":            {"a\u00adb", "characters"},
		"NUL":                      {"a\x00", "characters"},
		"empty segment":            {"a//b", "format"},
		"slash before":             {"/a", "format"},
		"slash behind":             {"a/", "format"},
		"dot segment":              {"a/./b", "format"},
		"dot-dot segment":          {"a/../b", "format"},
		"dot":                      {".", "format"},
		"dot-dot":                  {"..", "format"},
	} {
		t.Run(name, func(t *testing.T) {
			err := ValidateAlias(c.alias)
			var got invalid.FieldError
			if errors.As(err, &got); got.Code != c.want || (err != nil && got.Field != "alias") {
				t.Errorf("got %+v, want code %q of field alias", err, c.want)
			}
			expect.Equal(t, Reserved([]byte(c.alias)), c.want == "reserved", "Reserved(%q)", c.alias)
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
		code, err := DrawCode(r, false)
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
	got, err := DrawCode(bytes.NewReader(stream), false)
	want := "0z0z9AZa"
	expect.That(t, err == nil && got == want, "got %q, %v; want %q", got, err, want)
}

func TestDrawCodeReportsAFailingReader(t *testing.T) {
	_, err := DrawCode(bytes.NewReader(nil), false)
	expect.Error(t, err, io.EOF)
}
