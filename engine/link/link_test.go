package link

import (
	"testing"

	"shunt/engine/expect"
	"shunt/engine/search"
)

// TestSearchesFindTheWordsOfEveryText needs no case for a new field that is text for people.
func TestSearchesFindTheWordsOfEveryText(t *testing.T) {
	q, _ := search.Parse("Straße")
	for _, text := range texts {
		var r Record
		expect.That(t, !q.Matches(AppendSearched(nil, &r.Hot, &r.Cold)), "%s: found before it was there", text.Name)
		*r.Cold.Text(text.Name) = "the strasse"
		expect.That(t, q.Matches(AppendSearched(nil, &r.Hot, &r.Cold)), "%s: not found", text.Name)
	}
}

func TestSearchingALinkAllocatesNothing(t *testing.T) {
	r := Record{Hot: Hot{Target: "https://example.org/"}, Cold: Cold{Title: "title", Note: "note", Tags: []string{"tag"}}}
	dst := make([]byte, 0, 1<<10)
	n := testing.AllocsPerRun(100, func() { dst = AppendSearched(dst[:0], &r.Hot, &r.Cold) })
	expect.Equal(t, n, 0)
}
