package search

import (
	"bytes"
	"slices"
)

// Limits of a query.
const (
	MaxQueryBytes = 8192
	MaxWords      = 16
)

// A Query is the folded words of a search, the longest first, none within another.
type Query struct {
	words []word
	typed []byte // the words as they were typed, folded, with a blank between them
}

// Parse reads the words of a search, which blanks end. ok is false if there are too many bytes or words.
// A query without words matches every link.
func Parse(typed string) (q Query, ok bool) {
	if len(typed) > MaxQueryBytes {
		return Query{}, false
	}
	words := bytes.Fields(Append(nil, typed))
	if len(words) > MaxWords {
		return Query{}, false
	}
	q.typed = bytes.Join(words, []byte(" "))
	slices.SortStableFunc(words, func(a, b []byte) int { return len(b) - len(a) })
	for _, w := range words {
		if !slices.ContainsFunc(q.words, func(longer word) bool { return bytes.Contains(longer.text, w) }) {
			q.words = append(q.words, newWord(w))
		}
	}
	return q, true
}

// Empty reports whether the query has no words.
func (q *Query) Empty() bool { return len(q.words) == 0 }

// Matches reports whether each word is in a link's text.
func (q *Query) Matches(text []byte) bool {
	for i := range q.words {
		if q.words[i].index(text) < 0 {
			return false
		}
	}
	return true
}

// A Matcher looks for the words of a query in many texts. One goroutine at a time may use it.
type Matcher struct{ words []word }

// Matcher returns a matcher of the query.
func (q *Query) Matcher() Matcher { return Matcher{slices.Clone(q.words)} }

// Matches is Query.Matches. A word that was missing is looked for earlier the next time, because it is rarer than those
// before it.
func (m *Matcher) Matches(text []byte) bool {
	for i := range m.words {
		if m.words[i].index(text) < 0 {
			if i > 0 {
				m.words[i-1], m.words[i] = m.words[i], m.words[i-1]
			}
			return false
		}
	}
	return true
}

// A Rank says how well a link's text that matches fits a query; less is better.
type Rank uint8

// Ranks, the best first: by the whole of what was typed, then by the first field that has a word.
const (
	RankCode      Rank = iota // the code is what was typed
	RankCodeBegin             // the code begins so
	RankTitle                 // the title has it as it was typed
	RankFirst                 // RankFirst plus the number of the first field with a word
)

// Rank ranks a text that matches.
func (q *Query) Rank(text []byte) Rank {
	code, rest, _ := bytes.Cut(text, []byte{fieldEnd})
	if bytes.HasPrefix(code, q.typed) {
		if len(code) == len(q.typed) {
			return RankCode
		}
		return RankCodeBegin
	}
	if title, _, _ := bytes.Cut(rest, []byte{fieldEnd}); bytes.Contains(title, q.typed) {
		return RankTitle
	}
	first := len(text)
	for _, w := range q.words {
		first = min(first, max(w.index(text), 0))
	}
	return RankFirst + Rank(bytes.Count(text[:first], []byte{fieldEnd}))
}
