package index

import (
	"cmp"
	"strings"
	"unsafe"
)

// Domain is the number of a domain of this server. Equal codes in two domains are two links.
type Domain uint16

// DefaultDomain is the domain of a server that has only one.
const DefaultDomain Domain = 0

// Key names a link, or the place of one.
type Key struct {
	Domain Domain
	Code   string
}

// KeyView is a Key whose code aliases a buffer of the caller.
type KeyView struct {
	Domain Domain
	Code   []byte
}

// View returns k as a view of it, which must not be written.
func (k Key) View() KeyView {
	return KeyView{Domain: k.Domain, Code: unsafe.Slice(unsafe.StringData(k.Code), len(k.Code))}
}

// Own returns a copy of k that shares no memory with it.
func (k KeyView) Own() Key { return Key{Domain: k.Domain, Code: string(k.Code)} }

// Valid reports whether k can name a link.
func (k KeyView) Valid() bool { return ValidCode(k.Code) }

// Compare returns the order of two keys: by domain, then by code.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Domain, other.Domain), strings.Compare(k.Code, other.Code))
}
