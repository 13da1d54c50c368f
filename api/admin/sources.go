package admin

import (
	"time"

	"shunt/engine"
)

// Sources are the functions that return figures which are made elsewhere. Each is called at every
// scrape, from any goroutine and from several at once, so it must not block, read a disk or scan a
// table: it reads atomics. A function that is nil has no figures: its metrics are absent.
//
// Engine, Front and Latency are required; NewServer fills them in. cmd fills in the others through
// api.Options.Metrics, except where a part of package api makes the figure.
type Sources struct {
	Engine  *engine.Engine
	Front   func() Front
	Latency func() Exponential // how long answers to requests for codes took, in seconds

	Store         func() Storage             // the store's own figures, as shunt_storage_*
	Certificate   func() Certificate         // of the public address; nil: it does not speak TLS
	Domains       func() []DomainCertificate // of the domains that have certificates; nil: it does not speak TLS
	Blocks        func() Blocks              // the block list; nil: there is none
	Countries     func() CountryFile         // the file of countries; nil: there is none
	Sessions      func() uint64              // sessions of logins in the table, ended ones too until they are swept
	Memory        func() Memory              // the memory limit; nil: --memory-limit off
	AccessDropped func() uint64              // lines that the access log dropped since the start; nil: there is no access log
	Shed          func() []Count             // requests refused because of overload since the start, by kind; every kind, also with 0
	Backup        func() Backup              // the last backup; nil: this program makes none
	Offsite       func() Offsite             // the backups that this server sends to a bucket; nil: it sends none
	Ready         func() bool                // /readyz is 200; nil: the engine is ready
	Refused       func() bool                // the writer of this edge refuses it, so nothing redirects; nil: this is no edge
	Loaded        func() float64             // the share of links that are in memory, 0 to 1; nil: 0 until the engine is ready, then 1
	Cluster       func() Cluster             // this node of a cluster; nil: there is none
	Edges         func() []Edge              // of this server; nil: it can have none
	Reloads       func() Reloads             // reloads of the settings; nil: they cannot be reloaded
}

// Storage is what the store reports. A name lacks the prefix shunt_storage_, and must have a row in
// storeMetrics: a name without one is not shown, and fails TestTheStoreReportsExactlyTheFiguresOfTheTable.
type Storage struct {
	Values     map[string]float64 // gauges, or counters if the name ends in _total
	Histograms map[string]Buckets

	// RollUpWaits is the end of the oldest hour whose figures are not in days yet; zero if none
	// waits, in the future for an hour that is not over; nil: unknown.
	RollUpWaits *time.Time
}

// rollUpLag returns how long the oldest hour that is over has waited.
func (s *Storage) rollUpLag(now time.Time) float64 {
	if s.RollUpWaits.IsZero() {
		return 0
	}
	return max(0, now.Sub(*s.RollUpWaits).Seconds())
}

// Cluster is the state of this process as a node of a cluster.
type Cluster struct {
	Role          string  // leader, follower or edge: one of ClusterRoles
	OfWriter      bool    // it is an edge of a writer: there is no cluster that could have a leader
	Stale         bool    // it has lacked what others wrote for too long, or does not know
	CatchingUp    bool    // since its start it has not had everything, and more comes
	Epoch         uint64  // of the present leadership, as far as this node knows
	Applied, Head uint64  // sequences of the log's entries
	Lag           float64 // seconds; negative: the log has not been read since the start
	Append        Buckets // seconds

	OutboxBytes   uint64         // of counted hits that some full node has not pulled
	OutboxAge     float64        // seconds since the oldest of them were written; 0: there are none
	LacksHits     bool           // the folder of this full node was rolled back: it lacks hits that others have until it is restarted
	Pulls         []ClusterPull  // of a full node: each node whose hits it pulls
	Etcd          *ClusterServer // the fullest server of etcd; nil: this node does not lead, or has not asked yet
	WritesRefused bool           // it leads, and refuses writes because etcd fills up

	CertificateEnds time.Time // when this node's certificate for the others expires; zero: it has none
}

// ClusterPull is how far a node is behind another in pulling its hits.
type ClusterPull struct {
	Node           string  // its name: one of the nodes that the cluster's log has, of which there are 256 at most
	Records, Bytes uint64  // that it had beyond those applied here, when it last answered
	Seconds        float64 // since everything that it had was applied here
}

// ClusterServer is how full a server of etcd is, in bytes.
type ClusterServer struct{ Used, Size, Quota int64 }

// ClusterRoles are the roles of a node.
var ClusterRoles = []string{"leader", "follower", "edge"}

// An Edge is what this server knows of one of its edges, of which there are 256 at most. A number that is not known yet
// is negative.
type Edge struct {
	Name         string
	Silent       float64   // seconds since it was heard, or since this server started
	Lag          float64   // seconds for which it may lack changes
	WaitingHits  float64   // that it had counted and not given when it last asked
	WaitingBytes float64   // of their records
	ServesTill   time.Time // when its certificate for visitors expires; zero: it has none, or has not said so
}

// Buckets is a snapshot of a histogram. Counts has one more element than Bounds: values above the
// last bound. Neither is changed after it was handed over.
type Buckets struct {
	Bounds []float64 // upper ones, inclusive, ascending, in the unit of the metric
	Counts []uint64  // of each bucket alone, not cumulative
	Sum    float64   // of all values
}

// A Certificate is the state of the certificate of the public address.
type Certificate struct {
	NotAfter time.Time // of the certificate in use; zero: there is none yet
	ACME     bool      // it comes from an ACME authority; if not, State and Failures mean nothing
	State    ACMEState
	Failures uint64 // attempts to get or renew it that failed since the start
}

// A DomainCertificate is the state of the certificate of a domain.
type DomainCertificate struct {
	Host     string
	NotAfter time.Time // zero: there is none yet
	Failures int       // attempts that failed since the last one that did not
}

// An ACMEState is how far an ACME source has come.
type ACMEState uint8

const (
	ACMEWaiting ACMEState = iota // for the first certificate, and no attempt has failed yet
	ACMEValid                    // a certificate is in use, and is renewed in time
	ACMEFailing                  // the last attempt failed, or a renewal is overdue
)

// Blocks is the state of the block list.
type Blocks struct {
	Entries  int           // hosts and targets in force
	LoadedAt time.Time     // when the list in force was read
	Took     time.Duration // to read it
	Failing  bool          // the file cannot be read; the list in force is an older one
}

// CountryFile is the state of the file of countries (--geoip).
type CountryFile struct {
	LoadedAt time.Time // when what is in force was read; zero: no country is known
	Failing  bool      // the file cannot be read
}

// Memory is what the memory limit is and what counts towards it, in bytes.
type Memory struct {
	Limit uint64
	Used  []Count // by part: heap, mapped …; every part, also with 0
	Full  bool    // new links are refused because of the limit
}

// A Backup is the last one that was made whole.
type Backup struct {
	At    time.Time     // of its end; zero: never. It outlives a restart of the server
	Took  time.Duration // 0: not since the start
	Bytes uint64        // on the disk, files shared with the data included; 0: not since the start
}

// Offsite is about the backups that a server sends to a bucket.
type Offsite struct {
	LastAt    time.Time     // of the state that the last good one has; zero: none is known
	Took      time.Duration // of the last good one; 0: none since the start
	Every     time.Duration // how often one is to be made
	SentBytes uint64        // since the start
	Failures  uint64        // since the start
}

// Reloads are the reloads of the settings (SIGHUP).
type Reloads struct {
	LastAt   time.Time // of the last one that took effect; zero: none since the start
	Failures uint64    // since the start
}
