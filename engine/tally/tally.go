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

// Values are the values of a hit, one for each dimension; 0 is unknown.
type Values struct {
	Agent    Agent
	Country  Country
	Referrer uint16 // its number in the dictionary of referrers
}

// Numbers that no dictionary assigns to a host.
const (
	NoReferrer    = 0
	OtherReferrer = 1<<16 - 1 // a referrer without a name of its own: it shows as "other"
)

// Names maps the numbers of referrers to hosts. The journal's dictionary is one.
type Names interface {
	// Name returns the host that has a number, "" for NoReferrer; ok is false if no host has it, as
	// for OtherReferrer.
	Name(number uint16) (host string, ok bool)
}
