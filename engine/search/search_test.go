package search

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"shunt/engine/expect"
)

func folded(s string) string { return string(Append(nil, s)) }

func TestFolding(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"Hello, World", "hello, world"},
		{"Crème Brûlée", "creme brulee"},
		{"STRASSE straße", "strasse strasse"},
		{"Œuvre Ærø Łódź Đorđe Þór İstanbul ısı", "oeuvre aero lodz dorde thor istanbul isi"},
		{"ΣΊΣΥΦΟΣ σίσυφος", "σισυφοσ σισυφοσ"},
		{"ﬁne ２０２６ K", "fine 2026 k"},
		{"Việt Nam", "viet nam"},
		{"日本語 한국어", "日本語 " + folded("한국어")},
		{"a\tb\x00c\u0085d", "a b c d"},
		{"\xff\xfeA", "\ufffd\ufffda"},
		{norm.NFD.String("Crème 한국어 Ǆ"), folded("Crème 한국어 Ǆ")},
	} {
		want := c.want
		if strings.Contains(c.typed, "Σ") { // the least of the sigmas is the capital one
			want = folded("σισυφοσ σισυφοσ")
		}
		expect.Equal(t, folded(c.typed), want, "%q becomes", c.typed)
	}
}

// FuzzFolding: folding a folded text changes nothing; a folded text is UTF-8 and has no zero byte and no capital letter
// of ASCII; and a text, its composed and its decomposed form are one.
func FuzzFolding(f *testing.F) {
	for _, s := range []string{"", "Crème", "\u0301e", "ǅ", "ẛ̣", "\xc3", "ﷺ", "가각", "İ", "\u212a", "ſ", "Ꭰ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Append(nil, s)
		again := Append(nil, string(once))
		expect.MustThat(t, bytes.Equal(again, once), "%q becomes %q, and that %q", s, once, again)
		expect.MustThat(t, bytes.IndexByte(once, fieldEnd) < 0 && !bytes.ContainsFunc(once, func(r rune) bool { return 'A' <= r && r <= 'Z' }), "%q becomes %q", s, once)
		expect.MustThat(t, utf8.Valid(once), "%q becomes %q, which is not UTF-8", s, once)
		for _, f := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			form := f.String(s)
			expect.MustThat(t, bytes.Equal(Append(nil, form), once), "%q becomes %q, and its form %q %q", s, once, form, Append(nil, form))
		}
	})
}

func TestQueries(t *testing.T) {
	link := Fields{Code: "Spring-26", Title: "Frühling für Kunden", Tags: []string{"Sale", "été"}, Target: "https://Example.com/caf%C3%A9?x=1&y=%zz"}
	other := Fields{Code: "x", Target: "https://example.org/caf%C3%A9"}
	for _, c := range []struct {
		typed string
		want  bool
	}{
		{"", true}, {"spring", true}, {"RING-2", true}, {"fruhling kunden", true}, {"kunden FRÜHLING", true}, {"zoe ete sale", true},
		{"example.com/caf", true}, {"https://example.com/caf%c3%a9", true}, {"spring autumn", false}, {"26frühling", false}, {"sale été", true}, {"26 f", true},
	} {
		q, ok := Parse(c.typed)
		expect.That(t, ok && q.Matches(link.AppendText(nil, "ask Zoë")) == c.want, "%q: parsed %v, found %v, want %v", c.typed, ok, !c.want, c.want)
	}
	q, _ := Parse("org/café")
	expect.That(t, q.Matches(other.AppendText(nil)), "a target is not found by what its percent-encoding means")
}

func TestLimitsOfAQuery(t *testing.T) {
	for _, c := range []struct {
		typed string
		ok    bool
	}{
		{strings.Repeat("a", MaxQueryBytes), true}, {strings.Repeat("a", MaxQueryBytes+1), false},
		{strings.Repeat("a ", MaxWords), true}, {strings.Repeat("a ", MaxWords+1), false},
	} {
		_, ok := Parse(c.typed)
		expect.Equal(t, ok, c.ok, "%d bytes", len(c.typed))
	}
	q, _ := Parse("a ab b abc")
	expect.That(t, len(q.words) == 1 && string(q.words[0].text) == "abc", "words within others stay: %v", q.words)
}

// TestAMatcherFindsWhatContainsFinds looks for words of any length in texts of few characters, in which they are often
// found or nearly.
func TestAMatcherFindsWhatContainsFinds(t *testing.T) {
	letters := rapid.StringOfN(rapid.SampledFrom([]rune("aawz/")), 0, 90, -1)
	rapid.Check(t, func(t *rapid.T) {
		typed := rapid.SliceOfN(letters, 0, 3).Draw(t, "words")
		q, ok := Parse(strings.Join(typed, " "))
		expect.MustThat(t, ok, "%q is not read", typed)
		m := q.Matcher()
		for range 5 {
			text := []byte(letters.Draw(t, "text"))
			for _, word := range typed {
				if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
					at := rapid.IntRange(0, len(text)).Draw(t, "at")
					text = slices.Insert(text, at, []byte(word)...)
				}
			}
			want := !slices.ContainsFunc(typed, func(word string) bool { return !bytes.Contains(text, []byte(word)) })
			expect.MustThat(t, q.Matches(text) == want && m.Matches(text) == want, "%q in %q: found %v and %v", typed, text, q.Matches(text), m.Matches(text))
		}
	})
}

// TestAWordIsFoundWhereItIsFirst compares with bytes.Index, for words of as many bytes as are looked for in two ways.
func TestAWordIsFoundWhereItIsFirst(t *testing.T) {
	for n := 1; n < 2*maxRareBytes; n++ {
		word := strings.Repeat("a", n-1) + "b"
		for _, text := range []string{"", word, word[1:], "b" + word, word + word, strings.Repeat("a", 300), strings.Repeat("ba", n) + word + "a"} {
			w := newWord([]byte(word))
			expect.Equal(t, w.index([]byte(text)), strings.Index(text, word), "%q in %q", word, text)
		}
	}
}

// TestAWordThatIsMissingIsLookedForFirst: the word that most texts lack is found to be missing at once.
func TestAWordThatIsMissingIsLookedForFirst(t *testing.T) {
	q, _ := Parse("example seldom often")
	m := q.Matcher()
	for range 3 {
		expect.That(t, !m.Matches([]byte("an example that comes often")), "a word that is missing is found")
	}
	expect.Equal(t, string(m.words[0].text), "seldom")
	expect.Equal(t, string(q.words[0].text), "example", "another matcher of the query begins with")
}

func TestRanks(t *testing.T) {
	ordered := []struct { // from the best to the worst for "news"
		Fields
		note string
	}{
		{Fields{Code: "news"}, ""}, {Fields{Code: "NEWS-2"}, ""}, {Fields{Code: "a", Title: "Old news"}, ""}, {Fields{Code: "oldnews"}, ""},
		{Fields{Code: "b", Tags: []string{"news"}}, ""}, {Fields{Code: "c"}, "news"}, {Fields{Code: "d", Target: "https://news.example/"}, ""},
	}
	q, _ := Parse("News")
	for i := range ordered[1:] {
		better, worse := &ordered[i], &ordered[i+1]
		if a, b := q.Rank(better.AppendText(nil, better.note)), q.Rank(worse.AppendText(nil, worse.note)); a >= b {
			t.Errorf("%+v has rank %d, %+v has %d", better, a, worse, b)
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([][]byte, 1000)
	for i := range texts {
		f := Fields{Code: "Abc12345", Title: "Quarterly report of the team", Target: "https://www.example.com/articles/2026/" + strings.Repeat("x", rng.IntN(60))}
		texts[i] = f.AppendText(nil)
	}
	for _, typed := range []string{"report", "zebra", "team zebra", "example.com/articles/2026/xxxxxxxx"} {
		b.Run(strings.ReplaceAll(typed, "/", "_"), func(b *testing.B) {
			q, _ := Parse(typed)
			n := 0
			for b.Loop() {
				q.Matches(texts[n%len(texts)])
				n++
			}
		})
	}
}

func BenchmarkAppendText(b *testing.B) {
	f := Fields{Code: "Abc12345", Title: "Crème brûlée of the team", Tags: []string{"sale"}, Target: "https://www.example.com/articles/2026/caf%C3%A9"}
	var room [512]byte
	for b.Loop() {
		f.AppendText(room[:0])
	}
}
