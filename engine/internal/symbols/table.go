package symbols

import "slices"

const (
	// numCodes is the number of codes: one byte. Code 0 is no symbol.
	numCodes = 256

	// plainFollows is the code after which the rest of the text comes as it is.
	plainFollows = 0
)

// MaxGrowthBytes is how much longer than its text a coded text may be.
const MaxGrowthBytes = 1

// Table is a table of symbols, with what is needed to code and to decode texts by it. It never
// changes, so any number of goroutines may use it at once. It takes 4.3 KB for decoding, which stay
// in the processor's first cache, and some hundred KB for coding.
type Table struct {
	symbols [numCodes][maxSymbolBytes]byte // by code
	lengths [numCodes]uint8                // 0: the code is not used
	matcher *matcher
	ratio   float64
}

// newTable returns the table of a dictionary of fewer than numCodes symbols, which it sorts.
func newTable(dictionary []symbol) *Table {
	slices.SortFunc(dictionary, compareSymbols)
	t := &Table{matcher: newMatcher(dictionary)}
	for i, s := range dictionary {
		t.symbols[i+1], t.lengths[i+1] = s.bytes, s.length
	}
	return t
}

// Append appends plain to dst, coded, in the fewest bytes that the table allows: at most
// MaxGrowthBytes more than plain has, and none more if plain has address bytes only (RFC 3986).
// It allocates nothing if dst has room for len(plain) + MaxGrowthBytes, all of which it may
// overwrite, so plain must not be there. It takes about 10 ns a byte.
func (t *Table) Append(dst, plain []byte) []byte {
	dst = slices.Grow(dst, len(plain)+MaxGrowthBytes)
	coded := dst[len(dst) : len(dst)+len(plain)+MaxGrowthBytes]
	// The codes of all places are kept one byte behind the coded text. That never reaches a code
	// which is still needed, since each symbol has one byte or more.
	codes := coded[MaxGrowthBytes:]
	var c costs
	parse(t.matcher, plain, codes, &c)
	n := 0
	for i := 0; i < len(codes); i += int(t.lengths[coded[n-1]]) {
		coded[n] = codes[i]
		n++
		if coded[n-1] == plainFollows {
			n += copy(coded[n:], plain[i:])
			break
		}
	}
	return dst[:len(dst)+n]
}

// AppendPlain appends to dst the text of which coded is the coding. It takes any bytes: what Append
// has not made is decoded to something of at most maxSymbolBytes times its length. It allocates
// nothing if dst has room for the text and maxSymbolBytes more, all of which it may overwrite, so
// coded must not be there. It takes about 2 ns a symbol.
func (t *Table) AppendPlain(dst, coded []byte) []byte {
	text, n := dst[:cap(dst)], len(dst)
	for i, code := range coded {
		if code == plainFollows {
			return append(text[:n], coded[i+1:]...)
		}
		if n > len(text)-maxSymbolBytes {
			return t.appendPlainSlow(text[:n], coded[i:])
		}
		*(*[maxSymbolBytes]byte)(text[n:]) = t.symbols[code] // the whole symbol, whatever its length: one load, one store
		n += int(t.lengths[code])
	}
	return text[:n]
}

// appendPlainSlow is AppendPlain for a text of which the end may not fit.
func (t *Table) appendPlainSlow(dst, coded []byte) []byte {
	for i, code := range coded {
		if code == plainFollows {
			return append(dst, coded[i+1:]...)
		}
		dst = append(dst, t.symbols[code][:t.lengths[code]]...)
	}
	return dst
}

// PlainBytes returns the length of the text that AppendPlain appends.
func (t *Table) PlainBytes(coded []byte) (n int) {
	for i, code := range coded {
		if code == plainFollows {
			return n + len(coded) - (i + 1)
		}
		n += int(t.lengths[code])
	}
	return n
}

const (
	// staleBytes is how many bytes must have been coded before Stale judges by them: some 1,500
	// addresses, the ratio of which is exact to about 2 %.
	staleBytes = 64 << 10

	// staleFactor is how much worse than at first the ratio of a stale table is.
	staleFactor = 1.2
)

// Ratio returns how many coded bytes a byte took of the samples, or of those that were held back
// from training where there were enough; 0 if the table was trained on none.
func (t *Table) Ratio() float64 { return t.ratio }

// Stale reports whether texts have changed so much since the training that another table would be
// clearly better. plainBytes and codedBytes are the lengths of recent texts, all together, before
// and after coding by t. It returns false as long as there are too few of them to tell.
func (t *Table) Stale(plainBytes, codedBytes uint64) bool {
	return plainBytes >= staleBytes && float64(codedBytes) > staleFactor*t.ratio*float64(plainBytes)
}
