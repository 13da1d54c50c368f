package source

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

// twice encodes a text a second time, as a database does that takes UTF-8 for latin1.
func twice(text string) string {
	special := []rune(windows1252)
	var out strings.Builder
	for _, b := range []byte(text) {
		r := rune(b)
		if 0x80 <= b && b < 0xa0 {
			r = special[b-0x80]
		}
		out.WriteRune(r)
	}
	return out.String()
}

func TestATextThatWasEncodedTwiceIsMended(t *testing.T) {
	expect.Equal(t, utf8.RuneCountInString(windows1252), 32)
	for _, text := range []string{"Blüte 🌸 – 桜", "Mañana", "€", "“Zitat” und ‘mehr’", "Ñandú à ÿ", "Привет"} {
		got, ok := encodedOnce(twice(text))
		expect.That(t, ok && got == text, "%q is read as %q", twice(text), got)
	}
	for _, text := range []string{"", "plain", "Blüte", "SÃO PAULO", "Ã¼ and ü", "桜 Ã¼", "naïve café", "50 €", "“Zitat”", "Ã", "Â "} {
		got, ok := encodedOnce(text)
		expect.That(t, got == text && !ok, "%q becomes %q", text, got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got, ok := encodedOnce(twice(text))
		isASCII := len(text) == utf8.RuneCountInString(text)
		expect.That(t, ok != isASCII && got == text, "%q is read as %q, %v", twice(text), got, ok)
	})
}
