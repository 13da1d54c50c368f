package wire

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

// A span is a part of a head.
type span struct{ from, to int }

// found is what a reader knows of a head besides what it has set in the Plain.
type found struct {
	minor       byte // of the version: '0' or '1'
	closes      bool // Connection: close has come
	rules       rules
	purposes    int // where the first line with a purpose begins; 0: there is none
	country     span
	clientLines int
	clients     [maxClientLines]span
}

// A nameTable has the names of fields with rules. Most fields have none: their length and first
// letter show it.
type nameTable struct {
	first [256]uint8 // by slot: the place in rows, plus 1, of the first row of the slot; 0: it has none
	rows  []nameRow
}

// A nameRow is one name. Names are compared after fold, which is exact for names of isPlainName.
type nameRow struct {
	name  string // folded
	rules rules
	next  uint8 // in the same slot, like nameTable.first
}

func slotOf(length int, first byte) uint8 { return uint8(length)<<3 ^ first&31 }

// fold makes letters lower-case. It changes other bytes, too.
func fold(c byte) byte { return c | 0x20 }

// isPlainName reports whether name is one of letters, digits, - and _, of which no two are the same
// after fold but the two cases of a letter.
func isPlainName(name string) bool {
	for _, c := range []byte(name) {
		if bytesOf[c]&inSegment == 0 {
			return false
		}
	}
	return name != ""
}

// add adds a rule for a name.
func (t *nameTable) add(name string, rule rules) {
	if rule == ruleOther {
		return
	}
	folded := make([]byte, len(name))
	for i := range folded {
		folded[i] = fold(name[i])
	}
	for i := range t.rows {
		if t.rows[i].name == string(folded) {
			t.rows[i].rules |= rule
			return
		}
	}
	slot := &t.first[slotOf(len(name), name[0])]
	t.rows = append(t.rows, nameRow{name: string(folded), rules: rule, next: *slot})
	*slot = uint8(len(t.rows))
}

// may reports whether a name of that length and first letter may have rules.
func (t *nameTable) may(length int, first byte) bool { return t.first[slotOf(length, first)] != 0 }

// rulesOf returns the rules for the field with the name, 0 if it has none.
func (t *nameTable) rulesOf(name []byte) rules {
	for i := t.first[slotOf(len(name), name[0])]; i != 0; {
		row := &t.rows[i-1]
		if isFolded(name, row.name) {
			return row.rules
		}
		i = row.next
	}
	return 0
}

// isFolded reports whether name is folded after fold.
func isFolded(name []byte, folded string) bool {
	if len(name) != len(folded) {
		return false
	}
	for i := range name {
		if fold(name[i]) != folded[i] {
			return false
		}
	}
	return true
}

// readKnown reads a field whose name may have rules. It returns false if the request is not plain.
func (rd *Reader) readKnown(b []byte, name, value span, r *Plain, f *found) (plain bool) {
	rule := rd.names.rulesOf(b[name.from:name.to])
	if rule == 0 {
		return true
	}
	if rule&(ruleRefuse|f.rules&ruleOnce) != 0 {
		return false
	}
	f.rules |= rule
	for value.from < value.to && b[value.from] == ' ' {
		value.from++
	}
	for value.from < value.to && b[value.to-1] == ' ' {
		value.to--
	}
	text := b[value.from:value.to]
	switch {
	case rule == ruleHost:
		return isHost(text)
	case rule == ruleConnection:
		f.closes = string(text) == "close"
		return f.closes || f.minor == '1' && isWord(text, "keep-alive")
	case rule == ruleUserAgent:
		r.UserAgent = text
	case rule == ruleReferrer:
		r.Referrer = text
	default:
		return f.note(rule, name.from, value)
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
	if rule&ruleClient != 0 {
		if f.clientLines == maxClientLines {
			return false
		}
		f.clients[f.clientLines] = value
		f.clientLines++
	}
	return true
}
