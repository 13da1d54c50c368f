package account

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shunt/engine"
)

// MaxDomains is how many domains a user or a token may be limited to: so a caller in memory stays small, and an entry
// of the audit log has room for all.
const MaxDomains = 64

// Domains are the domains whose links a user or a caller may use: all of them, which is the zero value, or only some.
// It never changes, and can be compared.
//
// A domain that is removed stays in it. Its number is never given again, so it opens nothing, and a user who is limited
// to removed domains may use none: what has no domain left is not what has no limit.
type Domains struct {
	limited bool
	numbers string // if limited: two big-endian bytes each, in order, each once
}

// OnlyIn returns only those domains; of none, nobody may use anything.
func OnlyIn(numbers ...engine.Domain) Domains {
	numbers = slices.Clone(numbers)
	slices.Sort(numbers)
	var b []byte
	for _, n := range slices.Compact(numbers) {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return Domains{true, string(b)}
}

// Limited reports whether d is not all domains.
func (d Domains) Limited() bool { return d.limited }

// Has reports whether a domain is one of d.
func (d Domains) Has(n engine.Domain) bool {
	if !d.limited {
		return true
	}
	for i := 0; i+1 < len(d.numbers); i += 2 {
		if d.at(i) == n {
			return true
		}
	}
	return false
}

func (d Domains) at(i int) engine.Domain {
	return engine.Domain(uint16(d.numbers[i])<<8 | uint16(d.numbers[i+1]))
}

// Numbers returns the numbers of d in order; nil: it is all.
func (d Domains) Numbers() []engine.Domain {
	if !d.limited {
		return nil
	}
	numbers := make([]engine.Domain, 0, len(d.numbers)/2)
	for i := 0; i+1 < len(d.numbers); i += 2 {
		numbers = append(numbers, d.at(i))
	}
	return numbers
}

// And returns the domains that are in both.
func (d Domains) And(other Domains) Domains {
	switch {
	case !d.limited || d == other:
		return other
	case !other.limited:
		return d
	}
	return OnlyIn(slices.DeleteFunc(d.Numbers(), func(n engine.Domain) bool { return !other.Has(n) })...)
}

// In reports whether each domain of d is one of other.
func (d Domains) In(other Domains) bool { return d.And(other) == d }

// audited returns d as an entry of the audit log has it: numbers, which stay when a host changes; empty: all.
func (d Domains) audited() string {
	texts := make([]string, 0, len(d.numbers)/2)
	for _, n := range d.Numbers() {
		texts = append(texts, strconv.Itoa(int(n)))
	}
	return strings.Join(texts, " ")
}

// AuditedDomains returns the numbers of a change of the field domains in the audit log. ok is false if text is none.
func AuditedDomains(text string) (numbers []engine.Domain, ok bool) {
	for field := range strings.FieldsSeq(text) {
		n, err := strconv.ParseUint(field, 10, 16)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, engine.Domain(n))
	}
	return numbers, true
}

// check returns an engine.FieldError if a user or token cannot be limited to d.
func (d Domains) check() error {
	switch n := len(d.Numbers()); {
	case d.limited && n == 0:
		return fieldError("domains", "required", "must name a domain, or be null: no limit")
	case n > MaxDomains:
		return fieldError("domains", "too_many", fmt.Sprintf("must be at most %d domains", MaxDomains))
	}
	return nil
}

// errAdminLimited is the error of a limit of somebody who may do everything.
var errAdminLimited = fieldError("domains", "conflict", "an admin cannot be limited to domains: make the user a member, or lift the limit")

// limitTo returns c with what it may do in d alone. Whoever is limited is no admin, whatever else says so.
func (c Caller) limitTo(d Domains) Caller {
	if c.Domains = c.Domains.And(d); c.Domains.limited {
		c.Scopes = withoutScope(c.Scopes, Admin)
	}
	return c
}
