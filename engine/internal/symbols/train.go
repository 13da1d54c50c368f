package symbols

import (
	"cmp"
	"slices"
)

const (
	// MaxSamples is how many samples Train uses at most. It takes them evenly from what it is given.
	MaxSamples = 4096

	// maxSampleBytes is how much of one sample is used, and maxTrainingBytes how much of all. They
	// bound the time and the memory.
	maxSampleBytes   = 1 << 10
	maxTrainingBytes = 256 << 10

	// Of at least minHeldSamples samples each heldEvery-th is held back, to measure by it.
	minHeldSamples = 256
	heldEvery      = 16

	// A byte that is not an address byte gets a code if it is in one of otherByteShare samples: the
	// rest of a text, from a byte without a code on, is not coded at all. maxOtherBytes is more than
	// a script of two-byte letters needs (UTF-8).
	otherByteShare = 512
	maxOtherBytes  = 80

	// A pair of symbols is tried as a symbol if it is at least this often in the samples: once in
	// pairShare of them, and twice.
	pairShare = 1024
	minPairs  = 2

	// maxCandidates is the number of symbols of several bytes that are tried at once. The matcher
	// of all of them has room: 512 · 16 + 1 rows of at most 166 entries are below maxEntries. With 768
	// or more, codings are shorter by 0.3 % at most.
	maxCandidates = 512
)

// schedule is how training goes: in each step the candidates are coded by, and then cut to a number
// of the best. Pairs of symbols that follow each other become candidates at first, so that four
// steps can make a symbol of 16 bytes; then the number falls slowly, because the loss of one symbol
// changes the worth of others. 0 is the number of codes that there are.
var schedule = [...]struct {
	keep  int
	pairs bool
}{
	{maxCandidates, true}, {maxCandidates, true}, {maxCandidates, true}, {maxCandidates, true}, {maxCandidates, true},
	{384, false}, {288, false}, {224, false}, {0, false},
}

// Train returns a table for texts that are like samples, which it does not keep. The result depends
// on the samples alone. Without samples, it is a table for addresses as they are common everywhere.
// Training takes up to some 100 ms and some MB, however many samples there are and however long
// they are.
//
// The samples must be real: a table that was trained on texts of another kind codes twice as long.
func Train(samples [][]byte) *Table {
	used := thin(samples)
	training, held := used, used
	if len(used) >= minHeldSamples {
		training, held = holdBack(used)
	}
	tr := newTrainer(training)
	if len(training) > 0 {
		for _, step := range schedule {
			tr.step(cmp.Or(step.keep, tr.room()), step.pairs)
		}
	}
	t := newTable(tr.filled())
	t.ratio = t.measure(held)
	return t
}

// thin returns an even choice of the samples, within the limits.
func thin(samples [][]byte) [][]byte {
	n, total := min(len(samples), MaxSamples), 0
	for i := range n {
		total += len(sample(samples, i, n))
	}
	if total > maxTrainingBytes {
		n = max(1, n*maxTrainingBytes/total)
	}
	used, total := make([][]byte, 0, n), 0
	for i := range n {
		s := sample(samples, i, n)
		if total += len(s); total > maxTrainingBytes {
			break
		}
		used = append(used, s)
	}
	return used
}

// sample returns the part that is used of the i-th of n samples that are chosen evenly.
func sample(samples [][]byte, i, n int) []byte {
	s := samples[int(uint64(i)*uint64(len(samples))/uint64(n))]
	return s[:min(len(s), maxSampleBytes)]
}

func holdBack(samples [][]byte) (training, held [][]byte) {
	for i, s := range samples {
		if i%heldEvery == heldEvery-1 {
			held = append(held, s)
		} else {
			training = append(training, s)
		}
	}
	return training, held
}

// measure returns how many coded bytes a byte of the samples takes; 0 if there are none.
func (t *Table) measure(samples [][]byte) float64 {
	plain, coded := 0, 0
	var b []byte
	for _, s := range samples {
		b = t.Append(b[:0], s)
		plain, coded = plain+len(s), coded+len(b)
	}
	if plain == 0 {
		return 0
	}
	return float64(coded) / float64(plain)
}

// trainer finds symbols that make the coding of its texts short.
type trainer struct {
	texts   [][]byte
	singles []symbol // the symbols of one byte; they stay
	longer  []symbol // the other candidates

	// Of the last count, by code: a code is the number, from 1 up, of a symbol in singles and then
	// in longer.
	matcher *matcher
	uses    []uint32
	pairs   []uint32 // two codes that follow each other: first*len(uses) + second

	codes []uint16 // room of parse
}

func newTrainer(texts [][]byte) *trainer {
	t := &trainer{texts: texts, codes: make([]uint16, maxSampleBytes)}
	for i := range len(addressBytes) {
		t.singles = append(t.singles, newSymbol([]byte(addressBytes[i:i+1])))
	}
	for _, b := range otherBytes(texts) {
		t.singles = append(t.singles, newSymbol([]byte{b}))
	}
	return t
}

// otherBytes returns the bytes that need a code although they are not address bytes.
func otherBytes(texts [][]byte) (others []byte) {
	var texted, last [256]int // by byte: the texts that have it, and the last such text
	for i, text := range texts {
		for _, b := range text {
			if last[b] != i+1 {
				last[b] = i + 1
				texted[b]++
			}
		}
	}
	for i := range len(addressBytes) {
		texted[addressBytes[i]] = 0
	}
	for b, n := range texted {
		if n > len(texts)/otherByteShare {
			others = append(others, byte(b))
		}
	}
	slices.SortStableFunc(others, func(a, b byte) int { return texted[b] - texted[a] })
	return others[:min(len(others), maxOtherBytes)]
}

// room returns how many codes the symbols of one byte leave.
func (t *trainer) room() int { return numCodes - 1 - len(t.singles) }

// symbol returns the symbol of a code.
func (t *trainer) symbol(code int) symbol {
	if code <= len(t.singles) {
		return t.singles[code-1]
	}
	return t.longer[code-1-len(t.singles)]
}

// count codes the texts by all symbols and counts how often each is used, and each pair.
func (t *trainer) count() {
	t.matcher = newMatcher(slices.Concat(t.singles, t.longer))
	codes := 1 + len(t.singles) + len(t.longer)
	t.uses, t.pairs = zeroed(t.uses, codes), zeroed(t.pairs, codes*codes)
	for _, text := range t.texts {
		var c costs
		parse(t.matcher, text, t.codes, &c)
		before := 0
		for i := 0; i < len(text); {
			code := int(t.codes[i])
			if code == plainFollows {
				break
			}
			t.uses[code]++
			t.pairs[before*codes+code]++ // of code 0 at the start of the text, where it does no harm
			before = code
			i += int(t.matcher.steps[code] & lengthMask)
		}
	}
}

// zeroed returns n zeros, in s if it has room.
func zeroed(s []uint32, n int) []uint32 {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

// A candidate is a symbol with its worth: how many codes it saves in the texts.
type candidate struct {
	symbol
	saved int
}

// step codes the texts by the present candidates and cuts these to the best ones, among them, if
// asked, pairs.
func (t *trainer) step(keep int, pairs bool) {
	t.count()
	found := t.worth()
	if pairs {
		found = t.addPairs(found)
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(b.saved-a.saved, compareSymbols(a.symbol, b.symbol))
	})
	t.longer = t.longer[:0]
	for i := range found[:min(keep, len(found))] {
		t.longer = append(t.longer, found[i].symbol)
	}
}

// worth returns the candidates that were used. Each saves, whenever it is used, the codes that its
// bytes would take without it, except one.
func (t *trainer) worth() (found []candidate) {
	for i, s := range t.longer {
		code := i + 1 + len(t.singles)
		if uses := int(t.uses[code]); uses > 0 {
			found = append(found, candidate{s, uses * (t.without(code) - 1)})
		}
	}
	return found
}

// without returns how many codes the bytes of a symbol take without that symbol: a shorter symbol,
// and then the best coding of the rest.
func (t *trainer) without(code int) int {
	var c costs
	s := t.symbol(code)
	parse(t.matcher, s.text(), t.codes, &c)
	least := 1 + *c.at(1)/oneCode
	for p := t.matcher.steps[code] >> lengthBits; p != 0; p = t.matcher.steps[p] >> lengthBits {
		least = min(least, 1+*c.at(int(t.matcher.steps[p] & lengthMask))/oneCode)
	}
	return int(least)
}

// addPairs adds the pairs of symbols that follow each other often and fit into one symbol. Each
// saves one code wherever the two follow each other. Different pairs can make the same symbol.
func (t *trainer) addPairs(found []candidate) []candidate {
	often := uint32(max(minPairs, len(t.texts)/pairShare))
	places := make(map[symbol]int) // in found
	for i := range found {
		places[found[i].symbol] = i
	}
	codes := len(t.uses)
	for i, n := range t.pairs[codes:] { // the first row is of starts of texts
		if n < often {
			continue
		}
		first, second := t.symbol(i/codes+1), t.symbol(i%codes)
		if int(first.length)+int(second.length) > maxSymbolBytes {
			continue
		}
		copy(first.bytes[first.length:], second.text())
		first.length += second.length
		if place, known := places[first]; known {
			found[place].saved += int(n)
		} else {
			places[first] = len(found)
			found = append(found, candidate{first, int(n)})
		}
	}
	return found
}

// filled returns the dictionary: all symbols, and then fragments as long as there are codes.
func (t *trainer) filled() []symbol {
	dictionary := slices.Concat(t.singles, t.longer)
	for _, f := range fragments {
		if len(dictionary) == numCodes-1 {
			break
		}
		if s := newSymbol([]byte(f)); !slices.Contains(dictionary, s) {
			dictionary = append(dictionary, s)
		}
	}
	return dictionary
}
