package visit

import (
	"testing"

	"shunt/api/words"
	"shunt/engine/expect"
)

func TestACountHasItsNounOrItsSentence(t *testing.T) {
	german, err := words.Read([]byte(`{"language": "de", "language name": "Deutsch", "thousands separator": ".",
		"link": "Verweis", "links": "Verweise", "1 link is gone.": "Fort ist 1 Verweis.", "{0} links are gone.": "Fort sind {0} Verweise."}`))
	expect.OK(t, err)
	for n, want := range map[uint64]string{
		0: "0 Verweise|Fort sind 0 Verweise.", 1: "1 Verweis|Fort ist 1 Verweis.", 12345: "12.345 Verweise|Fort sind 12.345 Verweise.",
	} {
		got := plural(german, n, "link", "links") + "|" + plural(german, n, "1 link is gone.", "{0} links are gone.")
		expect.Equal(t, got, want, "%d", n)
	}
	expect.Equal(t, plural(nil, 12345, "1 link is gone.", "{0} links are gone."), "12,345 links are gone.")
}
