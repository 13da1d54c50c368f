package search

import (
	"bytes"
	"strings"
)

// A word is looked for by the byte of it that texts have least. bytes.Contains looks for the first one instead, and
// stops at each that it finds.
type word struct {
	text []byte
	rare int // where that byte is
}

// common are the bytes that texts have most, the most common first: of addresses, and of words. Most addresses have
// www.
const common = "/etaoswcpmhinrld.:-u0123456789gbfyxkv "

// rarity is greater for a byte that texts seldom have.
func rarity(c byte) int {
	if i := strings.IndexByte(common, c); i >= 0 {
		return i
	}
	return len(common)
}

func newWord(text []byte) word {
	w := word{text: text}
	for i, c := range text {
		if rarity(c) > rarity(text[w.rare]) {
			w.rare = i
		}
	}
	return w
}

// maxRareBytes is the length of a word up to which it is looked for by its rarest byte: a longer one could cost as much
// as it is long at each such byte of a text.
const maxRareBytes = 64

// index returns where a text first has the word, and -1 if it has not.
func (w *word) index(text []byte) int {
	if len(w.text) > maxRareBytes {
		return bytes.Index(text, w.text)
	}
	end := len(text) - len(w.text) + w.rare + 1 // of where the rarest byte may be
	for at := w.rare; at < end; at++ {
		next := bytes.IndexByte(text[at:end], w.text[w.rare])
		if next < 0 {
			return -1
		}
		at += next
		if begin := at - w.rare; text[begin] == w.text[0] && bytes.Equal(text[begin:begin+len(w.text)], w.text) {
			return begin
		}
	}
	return -1
}
