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

	// MaxDomain is the highest number of a domain.
	MaxDomain Domain = 1<<(32-userBits) - 1
)

// OwnerIn returns the owner of a user's links in a domain.
func OwnerIn(d Domain, user uint32) uint32 { return uint32(d)<<userBits | user }

// UserOf returns the user whose links an owner's are.
func UserOf(owner uint32) uint32 { return owner & MaxUser }

// DomainOf returns the domain of an owner's links.
func DomainOf(owner uint32) Domain { return Domain(owner >> userBits) }

// CheckOwner returns an error if k is in another domain than the links of an owner.
func CheckOwner(k KeyView, owner uint32) error {
	if of := DomainOf(owner); of != k.Domain {
		return fmt.Errorf("link %q of owner %d is in domain %d, and the owner's links are in domain %d", k.Code, owner, k.Domain, of)
	}
	return nil
}
