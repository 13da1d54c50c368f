package link

import (
	"strings"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/engine/extras"
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
	"shunt/engine/search"
	"shunt/engine/texts"
)

// TestTheFieldThatIsWrongIsNamed asks for links that no API would ask for.
func TestTheFieldThatIsWrongIsNamed(t *testing.T) {
	rule := extras.Rule{URL: "https://a/", Conditions: []extras.Condition{{Kind: extras.InLanguage, Value: "de"}}}
	early, long := time.UnixMilli(-1), strings.Repeat("x", limits.MaxTargetBytes+1)
	for name, c := range map[string]struct {
		draft Draft
		want  string
	}{
		"an early start":             {Draft{StartsAt: early}, "starts_at: must be later than 1970"},
		"and a rule":                 {Draft{StartsAt: early, Rules: []extras.Rule{rule}}, "starts_at: must be later than 1970"},
		"and all that can be passed": {Draft{StartsAt: early, ForwardPath: true, ForwardQuery: true, ExpiresAt: time.UnixMilli(9)}, "starts_at: must be later than 1970"},
		"a long expired_url":         {Draft{ExpiredURL: long}, "expired_url: must have at most 8192 bytes"},
		"and a start":                {Draft{ExpiredURL: strings.Repeat(long, 20), StartsAt: time.UnixMilli(9)}, "expired_url: must have at most 8192 bytes"},
		"no condition":               {Draft{Rules: []extras.Rule{{URL: "https://a/"}}}, "rules: must be at most 32 rules of 1 to 8 conditions, and 8192 bytes"},
		"rules of 100,000 bytes":     {Draft{Rules: []extras.Rule{rule, {URL: strings.Repeat(long, 12), Conditions: rule.Conditions}}}, "rules: must be at most 32 rules of 1 to 8 conditions, and 8192 bytes"},
		"a share":                    {Draft{Split: []extras.Share{{URL: "https://a/", Weight: 1}}}, "split: must be 2 to 10 parts with weights of 1 to 1000, and 8192 bytes"},
	} {
		c.draft.Owner, c.draft.Target = 1, "https://a/"
		_, err := c.draft.record(time.UnixMilli(1))
		wrong, ok := err.(invalid.Error)
		expect.That(t, ok && len(wrong) == 1 && wrong[0].Error() == c.want, "%s: got %v, want %s", name, err, c.want)
	}
	r := Record{Hot: Hot{Target: "https://a/"}}
	r.SetStart(early)
	expect.That(t, r.SetRules([]extras.Rule{rule}) && r.SetSplit(nil), "an early start refuses rules")
}

// TestSearchesFindTheWordsOfEveryText needs no case for a new field that is text for people.
func TestSearchesFindTheWordsOfEveryText(t *testing.T) {
	q, _ := search.Parse("Straße")
	for _, text := range texts.All() {
		var r Record
		expect.That(t, !q.Matches(AppendSearched(nil, &r.Hot, &r.Cold)), "%s: found before it was there", text.Name)
		*r.Cold.Text(text.Name) = "the strasse"
		expect.That(t, q.Matches(AppendSearched(nil, &r.Hot, &r.Cold)), "%s: not found", text.Name)
	}
}

func TestSearchingALinkAllocatesNothing(t *testing.T) {
	r := Record{Hot: Hot{Target: "https://example.org/"}, Cold: Cold{Texts: texts.Texts{Title: "title", Note: "note"}, Tags: []string{"tag"}}}
	dst := make([]byte, 0, 1<<10)
	n := testing.AllocsPerRun(100, func() { dst = AppendSearched(dst[:0], &r.Hot, &r.Cold) })
	expect.Equal(t, n, 0)
}
