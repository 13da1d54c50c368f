package symbols

import "slices"

// maxSymbolBytes is the length of the longest symbol: what one copy moves when a text is decoded.
const maxSymbolBytes = 16

// A symbol is a run of 1 to maxSymbolBytes bytes for which a code stands.
type symbol struct {
	bytes  [maxSymbolBytes]byte // zero from length on, so that symbols can be compared
	length uint8
}

func newSymbol(b []byte) (s symbol) {
	s.length = uint8(copy(s.bytes[:], b))
	return s
}

func (s *symbol) text() []byte { return s.bytes[:s.length] }

// compareSymbols orders symbols: longer ones first, then by their bytes.
func compareSymbols(a, b symbol) int {
	if a.length != b.length {
		return int(b.length) - int(a.length)
	}
	return slices.Compare(a.text(), b.text())
}

const (
	codeBits = 11
	codeMask = 1<<codeBits - 1

	// maxEntries is the number of entries of next that a state can address.
	maxEntries = 1 << (32 - codeBits)
)

// A matcher finds the symbols of a dictionary in a text. For those of several bytes it is the
// automaton of Aho and Corasick (CACM 1975) over the reversed symbols, with all its transitions
// written out: it reads a text from the end to the start, and after each byte its state names the
// longest symbol that begins there. All others that begin there are prefixes of that one, so a list
// of prefixes yields them.
//
// The number of a symbol in the dictionary, from 1 up, is its code.
type matcher struct {
	class [256]uint8 // of a byte, from 1 up; 0: no symbol of several bytes has it

	// next has a row for each state, and in it an entry for each class of byte: where the row of
	// the next state begins, and below that, in codeBits, the longest symbol that begins there; 0 if
	// none does. An entry is also how a state is represented. The first row is the initial state.
	next []uint32

	// steps has for each code the code of the longest other symbol of several bytes that is a prefix
	// of it, or 0, and below that, in lengthBits, its own length.
	steps [1 << codeBits]uint16

	// single has the code of each byte, and oneCode, which it costs; unknown: the byte has none.
	single [256]uint64
}

const (
	lengthBits = 5
	lengthMask = 1<<lengthBits - 1
)

// newMatcher returns the matcher of a dictionary of distinct symbols: fewer than 1<<codeBits, of at
// most 255 different bytes. A row for each byte of each symbol must fit into maxEntries.
func newMatcher(dictionary []symbol) *matcher {
	m := new(matcher)
	for b := range m.single {
		m.single[b] = unknown
	}
	classes := m.classify(dictionary)
	rows := m.addReversed(dictionary, classes)
	m.link(rows, classes)
	return m
}

// classify numbers the bytes of symbols of several bytes and returns how long a row is.
func (m *matcher) classify(dictionary []symbol) (classes int) {
	classes = 1
	for i := range dictionary {
		for _, b := range dictionary[i].text() {
			if m.class[b] == 0 && dictionary[i].length > 1 {
				m.class[b] = uint8(classes)
				classes++
			}
		}
	}
	return classes
}

// addReversed makes a trie of the reversed symbols. In it, unlike later, an entry has the symbol
// only if the whole of it was read. It returns how many rows there are.
func (m *matcher) addReversed(dictionary []symbol, classes int) (rows int) {
	m.next = make([]uint32, classes)
	for i, s := range dictionary {
		m.steps[i+1] = uint16(s.length)
		if s.length == 1 {
			m.single[s.bytes[0]] = oneCode + uint64(i+1)
			continue
		}
		at, last := uint32(0), uint32(0)
		for _, b := range slices.Backward(s.text()) {
			entry := at>>codeBits + uint32(m.class[b])
			if m.next[entry] == 0 {
				m.next[entry] = uint32(len(m.next)) << codeBits
				m.next = append(m.next, make([]uint32, classes)...)
			}
			at = m.next[entry]
			last = entry
		}
		m.next[last] |= uint32(i + 1)
	}
	return len(m.next) / classes
}

// link completes the transitions of the trie, shorter texts first. The fallback of a state is that
// of the longest end of its text that the trie also has; it is complete before the state is.
func (m *matcher) link(rows, classes int) {
	type row struct{ at, fallback uint32 }
	queue := make([]row, 1, rows)
	for n := 0; n < len(queue); n++ {
		r := queue[n]
		for c := range uint32(classes) {
			entry := &m.next[r.at+c]
			fallback := uint32(0)
			if n > 0 {
				fallback = m.next[r.fallback+c]
			}
			if *entry == 0 {
				*entry = fallback
				continue
			}
			queue = append(queue, row{*entry >> codeBits, fallback >> codeBits})
			if code := *entry & codeMask; code != 0 {
				m.steps[code] |= uint16(fallback&codeMask) << lengthBits
			} else {
				*entry |= fallback & codeMask
			}
		}
	}
}

// costs are those of the last 32 ends of a text that parse has seen. The end from i on is at i
// modulo 32: the number of codes that it takes, times oneCode.
type costs [2 * maxSymbolBytes]uint64

const (
	oneCode   = 1 << 16
	firstCode = oneCode - 1
	unknown   = 1 << 62 // more than any text costs
)

func (c *costs) at(i int) *uint64 { return &c[uint(i)%uint(len(c))] }

// plainFrom returns where the first byte is that no symbol has, so that no coding goes further, or else
// the length of text.
func (m *matcher) plainFrom(text []byte) int {
	for i, b := range text {
		if m.class[b] == 0 && m.single[b] == unknown {
			return i
		}
	}
	return len(text)
}

// parse stores into codes, for each place in text, the code with which the shortest coding of the
// rest begins: that of a symbol that begins there, or 0 for the rest as it is. So the codes that
// one meets from the start, symbol by symbol, are the shortest coding of the text. Of equally short
// ones it takes the one with the smallest codes, the longest symbols. codes is as long as text, c is
// zero.
//
// It goes from the end (or from the first byte that no symbol has) to the start, which is how the shortest way to the
// end becomes known for each place (dynamic programming), and takes no other memory.
func parse[C uint8 | uint16](m *matcher, text []byte, codes []C, c *costs) {
	state, after := uint32(0), uint64(0)
	codes = codes[:len(text)]
	end := m.plainFrom(text)
	if end < len(text) {
		codes[end] = 0
		after = uint64(len(text)-end+1) * oneCode
		*c.at(end) = after
	}
	for i := end - 1; i >= 0; i-- {
		b := text[i]
		state = m.next[state>>codeBits+uint32(m.class[b])]
		best := min(uint64(len(text)-i+1)*oneCode, after+m.single[b])
		for code := state & codeMask; code != 0; {
			step := uint32(m.steps[code])
			best = min(best, *c.at(i + int(step&lengthMask))+oneCode+uint64(code))
			code = step >> lengthBits
		}
		codes[i] = C(best & firstCode)
		after = best &^ firstCode
		*c.at(i) = after
	}
}
