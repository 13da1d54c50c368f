package console

import (
	"bytes"
	"testing"

	"shunt/engine/expect"
)

func TestProgressIsALineNowAndThen(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b)
	p.Say("too early")
	p.shown = p.shown.Add(-logProgressInterval)
	p.Say("copying")
	p.Say("too soon")
	p.End()
	expect.Equal(t, b.String(), "shunt: copying\n")
	p = NewProgress(&b)
	b.Reset()
	p.person = true
	for _, text := range []string{"a long line", "short"} {
		p.shown = p.shown.Add(-logProgressInterval)
		p.Say(text)
	}
	p.End()
	expect.Equal(t, b.String(), "\ra long line\rshort      \r     \r")
}

func TestSizesHaveUnits(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 7 << 30: "7.0 GiB", 1<<64 - 1: "16.0 EiB"} {
		expect.Equal(t, Size(n), want, "%d", n)
	}
}

func TestShellQuoteLeavesPlainWordsAlone(t *testing.T) {
	for word, want := range map[string]string{
		"./shunt-data": "./shunt-data", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'", "ü": "'ü'", "a\nb": "'a\nb'",
	} {
		expect.Equal(t, Quote(word), want, "%q", word)
	}
}
