package index

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// A ledger is an owner of links in one domain: all links of an owner are in the same domain. So a record
// says by one bit that its link is not in the default domain, and by its owner in which it is.

const (
	ledgerPageBits = 10
	ledgersAPage   = 1 << ledgerPageBits
)

// ledgers has the domains of owners. Owners that nobody has put are of the default domain. of takes no lock.
type ledgers struct {
	pages atomic.Pointer[[]*ledgerPage] // by owner >> ledgerPageBits; entries are set once, in a copy
	mu    sync.Mutex                    // held by put
}

type ledgerPage [ledgersAPage]atomic.Uint32

// of returns the domain of an owner.
func (l *ledgers) of(owner uint32) Domain {
	if pages := l.pages.Load(); pages != nil && int(owner>>ledgerPageBits) < len(*pages) {
		if p := (*pages)[owner>>ledgerPageBits]; p != nil {
			return Domain(p[owner%ledgersAPage].Load())
		}
	}
	return DefaultDomain
}

// put sets the domain of an owner who has no links.
func (l *ledgers) put(owner uint32, d Domain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var pages []*ledgerPage
	if old := l.pages.Load(); old != nil {
		pages = *old
	}
	at := int(owner >> ledgerPageBits)
	if at >= len(pages) || pages[at] == nil {
		pages = append(slices.Clone(pages), make([]*ledgerPage, max(0, at+1-len(pages)))...)
		pages[at] = new(ledgerPage)
	}
	pages[at][owner%ledgersAPage].Store(uint32(d))
	l.pages.Store(&pages)
}

// check returns an error for a link that its owner cannot have.
func (l *ledgers) check(h *HotView) error {
	if of := l.of(h.Owner); of != h.Domain {
		return fmt.Errorf("link %q of owner %d is in domain %d, and the owner's links are in domain %d", h.Code, h.Owner, h.Domain, of)
	}
	return nil
}

// PutLedger says that the links of an owner, who has none yet, are in a domain. It must be called before the first of
// them is put. An owner that nobody has put has links in the default domain.
func (x *Index) PutLedger(owner uint32, d Domain) { x.memory.ledgers.put(owner, d) }

// DomainOf returns the domain of an owner's links. It takes no lock.
func (x *Index) DomainOf(owner uint32) Domain { return x.memory.ledgers.of(owner) }
