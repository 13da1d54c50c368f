package etcdlog

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"shunt/storage/clusterlog"
)

// Times of the protocol. doc.go has the reasons.
const (
	attemptTimeout = 700 * time.Millisecond // of one request at one server
	leaseTTL       = 3 * time.Second
	leaseMargin    = 500 * time.Millisecond // by which a leader stops before its lease ends
	renewInterval  = 500 * time.Millisecond
	renewTimeout   = 400 * time.Millisecond
	renewPause     = 50 * time.Millisecond // after a renewal that failed
	pollInterval   = 500 * time.Millisecond
	resignTimeout  = 2 * time.Second
	compactEvery   = 10 * time.Second
)

// DefaultPrefix is where a log is if Options name no other place.
const DefaultPrefix = "/shunt/"

// Options are how to reach a log. Endpoints and ID are required.
type Options struct {
	Endpoints          []string // host:port
	TLS                *tls.Config
	Username, Password string
	Prefix             string        // ends in /; "" is DefaultPrefix
	ID                 clusterlog.ID // of the log's cluster; Find ignores it
	// Key is the fingerprint of the visitor key, which all nodes of the cluster must have; Find ignores it.
	Key clusterlog.Fingerprint
	// OpenOnly is set at a node whose role at etcd may not read private parts: Follow returns entries without
	// them.
	OpenOnly bool
	Logger   *slog.Logger     // nil: no log
	Now      func() time.Time // the clock that announcements tell; nil: the system's
}

// Log is a log on etcd. It implements clusterlog.Log.
type Log struct {
	keys      keys
	id        clusterlog.ID
	key       clusterlog.Fingerprint
	openOnly  bool
	servers   []*server
	preferred atomic.Uint32 // the server to ask first, modulo their number
	logger    *slog.Logger
	now       func() time.Time // only what others are told; leases go by monotonic time
	counts    counts
	seen      sightings
	forbidden sync.Once // reports that the user may not compact
}

var _ clusterlog.Log = (*Log)(nil)

// New returns the log that o describes. It does no I/O. The log must be closed.
func New(o Options) (*Log, error) {
	if len(o.Endpoints) == 0 {
		return nil, errors.New("no endpoint of etcd is named")
	}
	if o.Prefix == "" {
		o.Prefix = DefaultPrefix
	}
	if !strings.HasSuffix(o.Prefix, "/") {
		return nil, errors.New("the prefix of the log in etcd must end in /")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{keys: keysBelow(o.Prefix), id: o.ID, key: o.Key, openOnly: o.OpenOnly, logger: o.Logger, now: o.Now}
	for _, endpoint := range o.Endpoints {
		l.servers = append(l.servers, newServer(endpoint, &o))
	}
	return l, nil
}

// Close closes the connections. The log must not be in use, and must not be used afterwards.
func (l *Log) Close() error {
	var errs []error
	for _, s := range l.servers {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// counts are of what a log has done about faults, so that tests see that a fault has happened.
type counts struct {
	retries       atomic.Uint64 // requests that were made again
	ambiguous     atomic.Uint64 // appends whose outcome one answer did not settle
	unknown       atomic.Uint64 // appends that returned ErrUnknownOutcome
	renewFailures atomic.Uint64
	corruptReads  atomic.Uint64 // answers with a wrong entry, or without one that must be there
	compactions   atomic.Uint64
}
