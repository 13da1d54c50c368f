package index

import "fmt"

// The owner of a link is a user in one domain, as one number: the number of the domain above that of the user. In the
// default domain it is the user's number.
//
//	 31        20 19                 0
//	┌────────────┬────────────────────┐
//	│ domain 12  │ user 20            │
//	└────────────┴────────────────────┘
const (
	userBits = 20

	// MaxUser is the highest number of a user.
	MaxUser = 1<<userBits - 1

	// What a narrow record has room for, if its link is not in the default domain.
	narrowUserBits = 12
	narrowUserMask = 1<<narrowUserBits - 1
	narrowDomains  = 1 << (narrowOwnerBits - narrowUserBits)
)

// OwnerIn returns the owner of a user's links in a domain.
func OwnerIn(d Domain, user uint32) uint32 { return uint32(d)<<userBits | user }

// DomainOf returns the domain of an owner's links.
func DomainOf(owner uint32) Domain { return Domain(owner >> userBits) }

// narrowOwner returns an owner as a narrow record has it; ok is false if it has no room for it.
func narrowOwner(owner uint32) (bits uint32, ok bool) {
	d, user := owner>>userBits, owner&MaxUser
	if d == uint32(DefaultDomain) {
		return owner, true
	}
	return d<<narrowUserBits | user, d < narrowDomains && user <= narrowUserMask
}

// checkOwner returns an error for a link that its owner cannot have.
func checkOwner(h *HotView) error {
	if of := DomainOf(h.Owner); of != h.Domain {
		return fmt.Errorf("link %q of owner %d is in domain %d, and the owner's links are in domain %d", h.Code, h.Owner, h.Domain, of)
	}
	return nil
}
