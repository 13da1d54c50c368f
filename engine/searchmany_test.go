package engine_test

import (
	"context"
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// asTyped are letters that no form of Unicode takes apart, as people type them.
var asTyped = strings.NewReplacer("æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l", "đ", "d", "Đ", "d", "ð", "d", "Ð", "d",
	"þ", "th", "Þ", "th", "ı", "i")

// plainText is what a text is compared as, by the tables of golang.org/x/text alone: without marks and case.
func plainText(s string) string {
	plain, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn))), asTyped.Replace(s))
	if err != nil {
		panic(err)
	}
	return cases.Fold().String(plain)
}

// searchedVocabulary is of many scripts, and some of its words are within others.
var searchedVocabulary = []string{
	"Crème", "creme brûlée", "Ångström", "Straße", "STRASSE", "straß", "naïve", "Łódź", "Ærø", "smørrebrød", "Œuvre", "Þór", "Việt Nam", "coöperate", "Zoë",
	"Σίσυφος", "ΣΊΣΥΦΟΣ", "ᾳδης", "Ελλάδα", "Москва", "МОСКВЫ", "Ёлка", "елка", "Йод", "İstanbul", "ISPARTA", "ısı", "isi", "日本語", "東京都", "京都", "ｶﾀｶﾅ", "カタカナ",
	"한국어", "한국", "नमस्ते", "שָׁלוֹם", "שלום", "مَرْحَبًا", "مرحبا", "ﬁne", "fine", "２０２６", "2026", "👍🏽 ok", "👩‍👩‍👧 family", "é", "e\u0301", "n\u0303o", "Ⅳ", "K", "k", "½",
}

// variantOf writes a text in another form, and sometimes in other case.
func variantOf(rng *rand.Rand, s string) string {
	if form := rng.IntN(5); form < 4 {
		s = []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD}[form].String(s)
	}
	switch rng.IntN(4) {
	case 0:
		return strings.ToUpper(s)
	case 1:
		return strings.ToLower(s)
	}
	return s
}

// A searchedLink is a link of the model, with its fields as they are compared.
type searchedLink struct {
	owner  uint32
	fields []string
}

func (l *searchedLink) has(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		return !slices.ContainsFunc(l.fields, func(field string) bool { return strings.Contains(field, word) })
	})
}

// makeSearched makes n links, and returns the model of them by code.
func (e *testEngine) makeSearched(t *testing.T, rng *rand.Rand, n int) map[string]*searchedLink {
	words := func(most int) string {
		var some []string
		for range rng.IntN(most + 1) {
			some = append(some, variantOf(rng, searchedVocabulary[rng.IntN(len(searchedVocabulary))]))
		}
		return strings.Join(some, []string{" ", "-", ""}[rng.IntN(3)])
	}
	model := map[string]*searchedLink{}
	for made := 0; made < n; {
		items := make([]engine.BulkItem, min(1000, n-made))
		for i := range items {
			d := engine.Draft{Owner: uint32(1 + rng.IntN(8)/7), Alias: "c" + strconv.FormatUint(rng.Uint64(), 36), Texts: engine.Texts{Title: words(3), Note: words(1)}, Target: "https://example.com/"}
			if rng.IntN(3) == 0 {
				d.Target += url.PathEscape(words(2))
			}
			if tag := words(1); tag != "" && len(tag) <= engine.MaxTagBytes {
				d.Tags = []string{tag}
			}
			items[i].Draft = d
			plain, err := url.PathUnescape(d.Target)
			expect.OK(t, err)
			l := &searchedLink{owner: d.Owner}
			for _, field := range append([]string{d.Alias, d.Title, d.Note, d.Target, plain}, d.Tags...) {
				l.fields = append(l.fields, plainText(field))
			}
			model[d.Alias] = l
			made++
		}
		results, err := e.CreateBulk(context.Background(), items)
		expect.OK(t, err)
		for _, r := range results {
			expect.OK(t, r.Err)
		}
	}
	return model
}

// TestASearchOfManyFindsWhatAnotherFoldingFinds searches so many links that all cores read parts of them, and that
// these are split again. The model shares no code with the search: it folds texts by another library. Both must find
// the same links.
func TestASearchOfManyFindsWhatAnotherFoldingFinds(t *testing.T) {
	const links = 12_000 // more than three times what a core reads at once, on each of two
	e := newTestEngine(t, engine.Options{})
	model := e.makeSearched(t, rand.New(rand.NewPCG(37, 3)), links)
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var typed []string
		for range rapid.IntRange(1, 3).Draw(rt, "words") {
			word := []rune(variantOf(rng, rapid.SampledFrom(searchedVocabulary).Draw(rt, "word")))
			from := rapid.IntRange(0, len(word)-1).Draw(rt, "from")
			typed = append(typed, string(word[from:rapid.IntRange(from+1, len(word)).Draw(rt, "to")]))
		}
		q := engine.LinkQuery{
			ListRange: engine.ListRange{Words: wordsOf(strings.Join(typed, " "))}, Limit: rapid.SampledFrom([]int{300, 1000}).Draw(rt, "limit"), Total: true,
			Order: rapid.SampledFrom([]engine.Order{engine.ByID, engine.ByCreation, engine.ByRelevance, engine.ByVisitors}).Draw(rt, "order"),
		}
		if q.AnyOwner = rapid.Bool().Draw(rt, "any"); !q.AnyOwner {
			q.Owners = engine.OneOwner(1)
		}
		words, want := strings.Fields(plainText(strings.Join(typed, " "))), map[string]bool{}
		for code, l := range model {
			if (q.AnyOwner || l.owner == 1) && l.has(words) {
				want[code] = true
			}
		}
		page, err := e.ListLinks(context.Background(), q)
		expect.OK(rt, err)
		expect.MustEqual(rt, page.Total, uint64(len(want)), "%q: links in all", typed)
		got, _ := e.codes(t, q)
		for _, code := range got {
			var fields []string
			if l := model[code]; l != nil {
				fields = l.fields
			}
			expect.MustThat(rt, want[code], "%q: %s is found: %q", typed, code, fields)
			delete(want, code)
		}
		expect.MustEqual(rt, len(want), 0, "%q: links that are not found", typed)
		found += len(got)
	})
	expect.That(t, found > links, "all searches found %d links", found)
}
