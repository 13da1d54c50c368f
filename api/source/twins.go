package source

import (
	"hash/maphash"
	"slices"
	"strings"
)

// A twins finds codes that differ only by case from an earlier one of their domain. Such links are made side by side.
//
// It remembers hashes of up to maxSeen codes in a table of a fixed size, 24 MiB, so the memory of an import does not
// depend on the length of its file. A small file, as most are on the dashboard's page, has a table of 768 KiB with room
// for all of its codes. Two of a million codes share a hash of 64 bits once in 30 million imports.
type twins struct {
	small  bool // the file has at most smallFile bytes
	seed   maphash.Seed
	folded []uint64 // hashes of codes without case; 0: a free place
	exact  []uint32 // parts of hashes of the first code there
	seen   int
	unseen bool // a code was not looked at
	names  []string
	more   int64 // twins that have no name here
}

const (
	seenPlaces  = 1 << 21
	maxSeen     = seenPlaces / 4 * 3
	smallPlaces = 1 << 16
	smallFile   = smallPlaces / 4 * 3 * 8 // no link has less than 8 bytes
	maxTwins    = 100                     // that have a name
)

// newMet returns what counts in a file of size bytes.
func newMet(size int64) met { return met{twins: twins{small: size <= smallFile}} }

func (t *twins) note(domain, code string) {
	if t.folded == nil {
		places := seenPlaces
		if t.small {
			places = smallPlaces
		}
		t.seed, t.folded, t.exact = maphash.MakeSeed(), make([]uint64, places), make([]uint32, places)
	}
	if domain != "" {
		code = domain + "/" + code
	}
	folded, exact := max(1, maphash.String(t.seed, strings.ToLower(code))), uint32(maphash.String(t.seed, code))
	places := uint64(len(t.folded))
	at := folded % places
	for t.folded[at] != 0 && t.folded[at] != folded {
		at = (at + 1) % places
	}
	switch {
	case t.folded[at] == folded && t.exact[at] != exact:
		t.add(code)
	case t.folded[at] == folded:
	case t.seen == len(t.folded)/4*3:
		t.unseen = true
	default:
		t.folded[at], t.exact[at] = folded, exact
		t.seen++
	}
}

func (t *twins) add(code string) {
	switch {
	case slices.Contains(t.names, code):
	case len(t.names) < maxTwins:
		t.names = append(t.names, strings.Clone(code))
	default:
		t.more++
	}
}

// met counts by host, and finds twins.
type met struct {
	hosts map[string]int64
	twins twins
}

// maxHosts bounds the hosts that are counted one by one.
const maxHosts = 1000

func (m *met) countHost(host string) {
	if _, known := m.hosts[host]; known || len(m.hosts) < maxHosts {
		if m.hosts == nil {
			m.hosts = make(map[string]int64)
		}
		m.hosts[host]++
	}
}

// addTo adds what was met to a summary.
func (m *met) addTo(s *Summary) {
	s.Hosts, s.Twins, s.MoreTwins, s.Unseen = m.hosts, m.twins.names, m.twins.more, m.twins.unseen
}
