package tally

// Tally is the counts of one link or one owner over a span of time. Tallies add up: counts are
// summed, sketches united.
type Tally struct {
	Hits, Bots, Prefetches, Heads uint64
	Visitors                      Sketch     // of hits only
	Dimensions                    Dimensions // of hits only
}

// Add adds u to t: counts are summed, visitors united.
func (t *Tally) Add(u *Tally) {
	t.Hits += u.Hits
	t.Bots += u.Bots
	t.Prefetches += u.Prefetches
	t.Heads += u.Heads
	t.Visitors.Unite(u.Visitors)
	t.Dimensions.Add(&u.Dimensions)
}

// Parts are the parts of a tally that a reader wants. It gets the counts in any case.
type Parts uint8

const (
	Visitors   Parts = 1 << iota // the sketch
	Breakdowns                   // the dimensions
	WithNext                     // of several spans: the dimensions are added to those of the next span
)

// Class is the kind of request for a link that works. Its numbers are part of the journal's
// format.
type Class uint8

const (
	ClassHit      Class = iota // by a visitor; counts toward the cap
	ClassBot                   // a known bot
	ClassPrefetch              // a prefetch or preview header
	ClassHead                  // method HEAD
	NumClasses                 // the number of classes
)

// Kind is the class of a visit and, of a hit of a link with several targets, the number of the target that the visitor
// was sent to. A Class is the Kind without a number.
type Kind uint16

const kindTargetShift = 8

// KindOf returns the kind of a visit of a class that was sent to a target.
func KindOf(c Class, target uint8) Kind { return Kind(c) | Kind(target)<<kindTargetShift }

// Class returns the class.
func (k Kind) Class() Class { return Class(k) }

// Target returns the number of the target; 0: there is none.
func (k Kind) Target() uint8 { return uint8(k >> kindTargetShift) }

// The tally of a link has the id of the link, and the tallies of its targets have ids beyond those of all links: the
// number of the target is above the 48 bits of the link. So tallies of targets are rows like those of links, and
// come after them.
const (
	targetShift = 48

	// NumTargets is the number of target numbers, with 0, which no target has.
	NumTargets = 1 << 8
)

// TargetID returns the id of the tally of a target of a link; with number 0 the id of the link.
func TargetID(link uint64, target uint8) uint64 { return link | uint64(target)<<targetShift }

// SplitID returns the link of a tally, and the number of its target, 0 if the tally is of the whole link. No link has
// bits above those of the number, so they are left in link, which then names none.
func SplitID(id uint64) (link uint64, target uint8) {
	return id &^ ((NumTargets - 1) << targetShift), uint8(id >> targetShift)
}

// Values are the values of a hit, one for each dimension; 0 is unknown.
type Values struct {
	Agent    Agent
	Country  Country
	Referrer uint16 // its number in the dictionary of referrers
}

// Numbers that no dictionary assigns to a host.
const (
	NoReferrer    = 0
	ScanReferrer  = 1<<15 - 1 // the QR code of the link: see ScanName
	OtherReferrer = 1<<16 - 1 // a referrer without a name of its own: it shows as "other"
)

// Names maps the numbers of referrers to hosts. The journal's dictionary is one.
type Names interface {
	// Name returns the host that has a number, "" for NoReferrer, ScanName for ScanReferrer; ok is false if no host has
	// it, as for OtherReferrer.
	Name(number uint16) (host string, ok bool)
}
