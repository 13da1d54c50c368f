package http1

import "strings"

// maxClientLines is how many lines the header with the client's address may have. Each proxy that
// does not extend the line before it adds one.
const maxClientLines = 4

// rules are what a reader does with a field.
type rules uint16

const (
	ruleHost       rules = 1 << iota // exactly one, valid
	ruleConnection                   // at most one, close or keep-alive
	ruleUserAgent                    // at most one
	ruleReferrer                     // at most one
	ruleRefuse                       // none
	rulePurpose
	ruleClient
	ruleCountry
	ruleNamedHost

	// ruleOther is for fields that fasthttp keeps apart from others, so that no setting may name them.
	ruleOther rules = 0

	// ruleOnce are the fields that may come once.
	ruleOnce = ruleHost | ruleConnection | ruleUserAgent | ruleReferrer
)

// ownRules are the fields with a meaning of their own.
var ownRules = map[rules][]string{
	ruleHost:       {"host"},
	ruleConnection: {"connection"},
	ruleUserAgent:  {"user-agent"},
	ruleReferrer:   {"referer"},
	ruleRefuse:     {"content-length", "transfer-encoding", "expect", "upgrade", "trailer"},
	ruleOther:      {"content-type", "cookie"},
}

func hasOwnRule(name string) bool {
	for _, names := range ownRules {
		for _, own := range names {
			if strings.EqualFold(own, name) {
				return true
			}
		}
	}
	return false
}

// A span is a part of a head: the bytes from from to before to.
type span struct{ from, to int32 }

// found is what a reader knows of a head besides what it has set in the Plain.
type found struct {
	minor       byte // of the version: '0' or '1'
	closes      bool // Connection: close has come
	rules       rules
	purposes    int // where the first line with a purpose begins; 0: there is none
	country     span
	namedHost   span
	clientLines int
	clients     [maxClientLines]span
}

// maxNames is how many names the settings may have. A place in a nameTable has 8 bits.
const maxNames = 200

// A nameTable has the names of fields with rules. Most fields of a request have none: their length
// and first letter show it.
type nameTable struct {
	first [256]uint8 // by slot: the place in rows, plus 1, of the first row of the slot; 0: it has none
	rows  []nameRow
}

// A nameRow is one name, folded. It is as large as a cache line.
type nameRow struct {
	words [2]uint64 // the first 16 bytes
	masks [2]uint64 // of the bytes in words that the name has
	rest  string    // after the first 16 bytes
	size  int       // of the name
	rules rules
	next  uint8 // in the same slot, like nameTable.first
}

// slotOf has a factor with which, of all usual fields without rules, only Content-Type falls into the
// slot of one with rules.
func slotOf(size int, first byte) uint8 { return uint8(size)*33 + first&31 }

// fold makes letters lower-case. It changes other bytes, too, but no two bytes of codes become the
// same unless they are a letter in both cases.
func fold(c byte) byte { return c | 0x20 }

// newNameRow returns the row of a name of bytes of codes.
func newNameRow(name string, rule rules) (row nameRow) {
	row.size, row.rules = len(name), rule
	for i := range len(name) {
		c := fold(name[i])
		if i >= 16 {
			row.rest += string(rune(c))
			continue
		}
		row.words[i/8] |= uint64(c) << (i % 8 * 8)
		row.masks[i/8] |= 0xff << (i % 8 * 8)
	}
	return row
}

// is reports whether the first size bytes of line are the name of row. The words
// begin with the first 16 of them.
func (row *nameRow) is(first, second uint64, line []byte, size int) bool {
	return row.size == size &&
		(first|0x20*ones)&row.masks[0] == row.words[0] && (second|0x20*ones)&row.masks[1] == row.words[1] &&
		(size <= 16 || isFolded(line[16:size], row.rest))
}

// isFolded reports whether name, of the length of folded, is folded after fold.
func isFolded(name []byte, folded string) bool {
	for i, c := range name {
		if fold(c) != folded[i] {
			return false
		}
	}
	return true
}

// add adds a rule for a name of bytes of codes.
func (t *nameTable) add(name string, rule rules) {
	added := newNameRow(name, rule)
	for i := range t.rows {
		if row := &t.rows[i]; row.size == added.size && row.words == added.words && row.rest == added.rest {
			row.rules |= rule
			return
		}
	}
	slot := &t.first[slotOf(len(name), name[0])]
	added.next = *slot
	t.rows = append(t.rows, added)
	*slot = uint8(len(t.rows))
}

// read reads a field that has rules. It returns false if the request is not plain.
func (rule rules) read(b []byte, line, from, to int, r *Plain, f *found) (plain bool) {
	if rule&(ruleRefuse|f.rules&ruleOnce) != 0 {
		return false
	}
	f.rules |= rule
	for from < to && b[from] == ' ' {
		from++
	}
	for from < to && b[to-1] == ' ' {
		to--
	}
	text := b[from:to]
	switch {
	case rule == ruleHost:
		r.Host = text
		return isHost(text)
	case rule == ruleConnection:
		f.closes = string(text) == "close"
		return f.closes || f.minor == '1' && isWord(text, "keep-alive")
	case rule == ruleUserAgent:
		r.UserAgent = text
	case rule == ruleReferrer:
		r.Referrer = text
	default:
		return f.note(rule, line, span{int32(from), int32(to)})
	}
	return true
}

// note notes a field whose name the settings have.
func (f *found) note(rule rules, line int, value span) (plain bool) {
	if rule&rulePurpose != 0 && f.purposes == 0 {
		f.purposes = line
	}
	if rule&ruleCountry != 0 {
		f.country = value
	}
	if rule&ruleNamedHost != 0 {
		f.namedHost = value
	}
	if rule&ruleClient != 0 {
		if f.clientLines == maxClientLines {
			return false
		}
		f.clients[f.clientLines] = value
		f.clientLines++
	}
	return true
}
