package load

import "time"

// A Spec is what a run of the generator does. It travels as JSON.
type Spec struct {
	Address     string // of the server: an IPv4 address and a port
	Connections int
	Pipeline    int     // requests sent together on a connection; at least 1
	Rate        float64 // requests per second of an open loop; 0: a closed loop
	Sleep       bool    // wait asleep for the next due time, where the core is needed by others
	Links       int     // number of links; 1: always the same
	Evenly      bool    // no link is more popular than others
	Visitors    bool    // many User-Agents and source addresses

	Chores []Chore // what is asked beside the load

	WarmUp, Length time.Duration
	Seed           uint64
	Processes      []int // whose CPU time is measured
}

// A Chore is a request that is sent again and again beside the load, by the generator itself: another
// client would take the core from it, and the delays of that would count as the server's.
type Chore struct {
	Address     string // an IPv4 address and a port
	Request     []byte // whole; the answer must have a Content-Length
	Status      int    // of the answer
	Every       time.Duration
	Connections int // as many answers may be awaited; further requests wait
}

// Tail is how long after the end of a run the last answers may come.
const Tail = 10 * time.Second

// A Report is what a run has measured between warm-up and end.
type Report struct {
	Answers      uint64
	Elapsed      time.Duration
	CPU          time.Duration // of Spec.Processes
	Own          time.Duration // CPU time of the generator
	P50, P99     time.Duration // from the time that the request was due
	AnswersInAll uint64        // with those of the warm-up and after the end
	Reconnected  uint64        // connections made again
	Chores       []uint64      // answers to each, in all
	Unsent       uint64        // that were due, but not sent until the end, as no connection was free
}
