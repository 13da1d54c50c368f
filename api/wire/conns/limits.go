package conns

import (
	"sync/atomic"
	"time"

	"shunt/api/wire/http1"
)

// MaxConnections is how many connections a listener may have.
const MaxConnections = 1 << 15 // at 16 + 4 KiB of buffers each: 640 MiB

// Limits are the limits of a listener's connections.
type Limits struct {
	Connections int
	PerAddress  int            // from one address; an IPv6 address counts as its /64; 0: no limit. Of first heads, a /48 or /24 has four times as many
	FirstHeads  int            // connections whose first head has not ended; 0: no limit but Connections
	Exempt      *http1.Proxies // from PerAddress; nil: none
	Counts      *Counts        // nil: not counted
}

// Counts counts connections that were closed or refused, by reason. Listeners may share one.
type Counts struct {
	Late      atomic.Uint64 // a request, or the reading of its answer, took too long
	Idle      atomic.Uint64 // no request came in time
	Evicted   atomic.Uint64 // idle, and a new connection needed the slot
	Address   atomic.Uint64 // refused: the address has its share
	PlainHTTP atomic.Uint64 // the client spoke HTTP on a port of HTTPS
}

// Patience is how long a connection may take before it is ended.
type Patience struct {
	// Head is the time from the first byte of a request to the end of its head. The head of the
	// first request may take as long from the beginning of the connection, and less if slots are few.
	Head time.Duration

	// First is the time for the first head, or for a handshake with a certificate; 0: Head.
	First time.Duration

	// Request is the time from the first byte of a request to the last byte of its answer. Each
	// MinRate bytes of a body or of a large answer add a second.
	Request time.Duration

	// Idle is the time between two requests.
	Idle time.Duration
}

// DefaultPatience suits redirects and other small answers.
var DefaultPatience = Patience{Head: 10 * time.Second, Request: 30 * time.Second, Idle: 75 * time.Second}

// MinRate is the number of bytes of a body, or of a large answer, that add a second to a request's
// time. It is Apache's MinRate (mod_reqtimeout), for both directions.
const MinRate = 16 << 10

// SweepInterval is the time between two sweeps, and so the precision of Patience.
const SweepInterval = time.Second

// RoomPoll is how often to look for a slot while a connection waits.
const RoomPoll = 25 * time.Millisecond
