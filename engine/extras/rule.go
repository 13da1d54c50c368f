package extras

import (
	"bytes"
	"encoding/binary"
	"slices"

	"shunt/engine/internal/limits"
	"shunt/engine/tally"
)

// Limits of rules.
const (
	MaxRules      = 32
	MaxConditions = 8   // of a rule, which has at least one
	MaxOperand    = 255 // bytes of a condition's key, and of its value

	// MaxDecidingBytes bounds the rules of a link as the blob has them, and likewise its split.
	MaxDecidingBytes = 8 << 10
)

// A Rule sends visitors to a target of its own. Of the rules of a link the first counts of which all conditions are
// met.
type Rule struct {
	URL        string
	Conditions []Condition
	Target     uint8 // its number among all targets that the link ever had; 0: it has none yet
}

// A Condition is met by some requests. Key and Value have the bytes that a redirect compares: see Kind.
type Condition struct {
	Kind       Kind
	Key, Value string
}

// Kind is what a condition asks. Its numbers are durable.
type Kind uint8

// The kinds, with what a condition has as its value.
const (
	OnDevice           Kind = 1 + iota // a Device
	InBrowser                          // a tally.Browser
	InLanguage                         // a language tag in lower case: a language, or one with subtags
	WithQuery                          // the value of the parameter Key, decoded
	WithAnyQuery                       // nothing: the parameter Key is there
	WithValuelessQuery                 // nothing: the parameter Key is there, and is empty
	FromNetwork                        // an address without the bits that do not count, and a mask of those that do: 4 and 4 bytes, or 16 and 16
	InCountry                          // a country's code of two letters
	Before                             // 8 bytes, little-endian: Unix milliseconds
	After                              // the same: at that moment or later
	numKinds
)

// HasKey reports whether conditions of that kind have a key: the name of a parameter of the query.
func (k Kind) HasKey() bool { return WithQuery <= k && k <= WithValuelessQuery }

// Device is the system that a device runs, or a group of them. Its numbers are durable.
type Device uint8

// Devices.
const (
	Android Device = 1 + iota
	IOS
	Mobile // Android or IOS
	Windows
	MacOS
	Linux
	ChromeOS
	Desktop // one of the four before
	numDevices
)

const (
	ruleHeadBytes      = 5 // the number, the size of the conditions, the size of the address
	conditionHeadBytes = 3 // the kind, the size of the key, the size of the value
)

// A RuleView is a rule in a blob, which it aliases.
type RuleView struct {
	Target     uint8
	Conditions []byte // for CutCondition
	URL        []byte
}

// A ConditionView is a condition in a blob, which it aliases.
type ConditionView struct {
	Kind       Kind
	Key, Value []byte
}

// CutRule returns the first of rules and the others. Of rules that a blob has, ok is false after the last.
func CutRule(rules []byte) (first RuleView, rest []byte, ok bool) {
	if len(rules) < ruleHeadBytes {
		return first, rules, false
	}
	end := ruleHeadBytes + int(binary.LittleEndian.Uint16(rules[1:]))
	after := end + int(binary.LittleEndian.Uint16(rules[3:]))
	if after > len(rules) {
		return first, rules, false
	}
	return RuleView{rules[0], rules[ruleHeadBytes:end], rules[end:after]}, rules[after:], true
}

// CutCondition returns the first of conditions and the others. Of conditions that a blob has, ok is false after the
// last.
func CutCondition(conditions []byte) (first ConditionView, rest []byte, ok bool) {
	if len(conditions) < conditionHeadBytes {
		return first, conditions, false
	}
	end := conditionHeadBytes + int(conditions[1])
	after := end + int(conditions[2])
	if after > len(conditions) {
		return first, conditions, false
	}
	return ConditionView{Kind(conditions[0]), conditions[conditionHeadBytes:end], conditions[end:after]}, conditions[after:], true
}

func appendRules(dst []byte, rules []Rule) []byte {
	for _, r := range rules {
		head := len(dst)
		dst = appendConditions(append(dst, make([]byte, ruleHeadBytes)...), r.Conditions)
		dst[head] = r.Target
		binary.LittleEndian.PutUint16(dst[head+1:], uint16(len(dst)-head-ruleHeadBytes))
		binary.LittleEndian.PutUint16(dst[head+3:], uint16(len(r.URL)))
		dst = append(dst, r.URL...)
	}
	return dst
}

func appendConditions(dst []byte, conditions []Condition) []byte {
	for _, c := range conditions {
		dst = append(append(dst, byte(c.Kind), byte(len(c.Key)), byte(len(c.Value))), c.Key...)
		dst = append(dst, c.Value...)
	}
	return dst
}

// readRules returns rules that a blob has. ok is false if they are not what appendRules writes.
func readRules(b []byte) (rules []Rule, ok bool) {
	for ok = 0 < len(b) && len(b) <= MaxDecidingBytes; ok && len(b) > 0; {
		var view RuleView
		if view, b, ok = CutRule(b); !ok || len(rules) == MaxRules || !isAddress(view.URL) {
			return nil, false
		}
		r := Rule{URL: string(view.URL), Target: view.Target}
		if r.Conditions, ok = readConditions(view.Conditions); ok {
			rules = append(rules, r)
		}
	}
	return rules, ok
}

func readConditions(b []byte) (conditions []Condition, ok bool) {
	for ok = len(b) > 0; ok && len(b) > 0; {
		var c ConditionView
		if c, b, ok = CutCondition(b); !ok || len(conditions) == MaxConditions || !c.wellFormed() {
			return nil, false
		}
		conditions = append(conditions, Condition{c.Kind, string(c.Key), string(c.Value)})
	}
	return conditions, ok
}

func isAddress(url []byte) bool { return 0 < len(url) && len(url) <= limits.MaxTargetBytes }

// WellFormed reports whether a link can have c.
func (c *Condition) WellFormed() bool {
	v := ConditionView{c.Kind, []byte(c.Key), []byte(c.Value)}
	return len(c.Key) <= MaxOperand && len(c.Value) <= MaxOperand && v.wellFormed()
}

func (c *ConditionView) wellFormed() bool {
	if c.Kind.HasKey() != (len(c.Key) > 0) {
		return false
	}
	switch v := c.Value; c.Kind {
	case OnDevice:
		return len(v) == 1 && 0 < v[0] && v[0] < byte(numDevices)
	case InBrowser:
		return len(v) == 1 && tally.Browser(v[0]).String() != tally.UnknownBrowser.String()
	case InLanguage:
		return isLanguage(v)
	case WithQuery:
		return true
	case WithAnyQuery, WithValuelessQuery:
		return len(v) == 0
	case FromNetwork:
		return isNetwork(v)
	case InCountry:
		return len(v) == 2 && tally.CountryOf(v) != 0 && tally.CountryOf(v).String() == string(v)
	case Before, After:
		return len(v) == 8 && int64(binary.LittleEndian.Uint64(v)) > 0
	}
	return false
}

// isLanguage reports whether tag is one of RFC 5646 in lower case, as far as its form says: subtags of one to eight
// letters and digits, of which the first is two to eight letters.
func isLanguage(tag []byte) bool {
	first, _, _ := bytes.Cut(tag, []byte{'-'})
	if len(first) < 2 || slices.ContainsFunc(first, func(c byte) bool { return c < 'a' }) {
		return false
	}
	for subtag := range bytes.SplitSeq(tag, []byte{'-'}) {
		if len(subtag) == 0 || len(subtag) > 8 || slices.ContainsFunc(subtag, func(c byte) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
			return false
		}
	}
	return true
}

// isNetwork reports whether b is an address and a mask, and the address has no bit that the mask lacks.
func isNetwork(b []byte) bool {
	if len(b) != 8 && len(b) != 32 {
		return false
	}
	address, mask := b[:len(b)/2], b[len(b)/2:]
	for i := range address {
		if address[i]&^mask[i] != 0 {
			return false
		}
	}
	return true
}
