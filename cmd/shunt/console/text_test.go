package console

import (
	"bytes"
	"testing"
)

func TestProgressIsALineNowAndThen(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b)
	p.Say("too early")
	p.shown = p.shown.Add(-logProgressInterval)
	p.Say("copying")
	p.Say("too soon")
	p.End()
	if got := b.String(); got != "shunt: copying\n" {
		t.Errorf("got %q", got)
	}
	p = NewProgress(&b)
	b.Reset()
	p.person = true
	for _, text := range []string{"a long line", "short"} {
		p.shown = p.shown.Add(-logProgressInterval)
		p.Say(text)
	}
	p.End()
	if got, want := b.String(), "\ra long line\rshort      \r     \r"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSizesHaveUnits(t *testing.T) {
	for n, want := range map[uint64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 7 << 30: "7.0 GiB", 1<<64 - 1: "16.0 EiB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestShellQuoteLeavesPlainWordsAlone(t *testing.T) {
	for word, want := range map[string]string{
		"./shunt-data": "./shunt-data", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "~": "'~'", "ü": "'ü'", "a\nb": "'a\nb'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
