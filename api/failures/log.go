package failures

import (
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"shunt/api/rate"
)

// A Kind is what has failed. Its text is the message of its lines, which filters look for.
type Kind string

const (
	Login Kind = "login failed"       // an e-mail address or a password was wrong
	Setup Kind = "setup code refused" // a setup code was malformed, unknown, used or expired
	Token Kind = "token refused"      // a token was malformed, unknown, revoked or expired
)

const (
	maxPerSecond    = 50          // lines for all clients
	summaryInterval = time.Minute // between two lines about failures without one
)

// perClient is how many lines a client can cause.
var perClient = rate.Limit{Events: 10, Period: time.Minute, Burst: 10}

// A Log writes the lines. Any number of goroutines may use it at once.
type Log struct {
	out     *slog.Logger
	clients bool // lines name clients
	counted *rate.Table

	mu struct {
		sync.Mutex
		second   int64 // Unix time
		lines    int   // in that second
		unlogged uint64
		since    time.Time // of the first of unlogged
	}
}

// New returns a log that writes to out. clients: lines have the addresses of clients. A time before
// epoch counts as epoch.
func New(out *slog.Logger, clients bool, epoch time.Time) *Log {
	return &Log{out: out, clients: clients, counted: rate.NewTable(perClient, epoch)}
}

// Note logs that what failed at now for client, in the request with that id, unless there are too
// many such lines. The zero client is one that is not known.
func (l *Log) Note(what Kind, client netip.Addr, requestID string, now time.Time) {
	due, unlogged := l.count(client, now)
	if unlogged > 0 {
		l.out.Warn("failures not logged", slog.Uint64("failures", unlogged))
	}
	if !due {
		return
	}
	id := slog.String("request_id", requestID)
	if l.clients && client.IsValid() {
		l.out.Warn(string(what), slog.String("client", client.String()), id)
	} else {
		l.out.Warn(string(what), id)
	}
}

// count counts a failure. due: it has a line; unlogged: as many earlier ones had none, and that is
// to be said now.
func (l *Log) count(client netip.Addr, now time.Time) (due bool, unlogged uint64) {
	key := networkOf(client).As16()
	due = l.counted.Take(key[:], now, 1).Allowed
	m := &l.mu
	m.Lock()
	defer m.Unlock()
	if second := now.Unix(); second != m.second {
		m.second, m.lines = second, 0
	}
	if due = due && m.lines < maxPerSecond; due {
		m.lines++
	}
	if m.unlogged > 0 && now.Sub(m.since) >= summaryInterval {
		unlogged, m.unlogged = m.unlogged, 0
	}
	if !due {
		if m.unlogged == 0 {
			m.since = now
		}
		m.unlogged++
	}
	return due, unlogged
}

// networkOf returns the network that shares its lines with addr: its /64 for IPv6.
func networkOf(addr netip.Addr) netip.Addr {
	if !addr.Is6() {
		return addr
	}
	prefix, _ := addr.Prefix(64) // fails only above 128 bits
	return prefix.Addr()
}
