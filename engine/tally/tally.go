package tally

// Tally is what is counted of one link or one owner over some span of time. Tallies add up: counts
// are summed, sketches united.
type Tally struct {
	Hits, Bots, Prefetches, Heads uint64
	Visitors                      Sketch     // of the hits only
	Dimensions                    Dimensions // of the hits only
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

// Parts are the parts of a tally that a reader wants. Counts are always there.
type Parts uint8

const (
	Visitors   Parts = 1 << iota // the sketch
	Breakdowns                   // the dimensions
)

// Class is what kind of request a redirect answered. It is part of the journal's format.
type Class uint8

const (
	ClassHit      Class = iota // a visitor: counts, uses up the cap
	ClassBot                   // a known bot
	ClassPrefetch              // a prefetch or preview header
	ClassHead                  // method HEAD
	NumClasses                 // how many there are
)

// Values are what a hit is broken down by, one of each dimension; 0 is unknown.
type Values struct {
	Agent    Agent
	Country  Country
	Referrer uint16 // its number in the dictionary of referrers
}

// Numbers of referrers that no dictionary gives out.
const (
	NoReferrer    = 0
	OtherReferrer = 1<<16 - 1 // a referrer without a name of its own: it shows as "other"
)

// Names knows the hosts behind the numbers of referrers. The journal's dictionary is one.
type Names interface {
	// Name returns the host that has a number, "" for NoReferrer; ok is false if there is none, as
	// for OtherReferrer.
	Name(number uint16) (host string, ok bool)
}
