package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// This file prints the results of a crash test as a table for RELIABILITY.md.

// The columns of requests.
const (
	answeredColumn = "answered"
	cutColumn      = "cut off"
	happenedColumn = "of those had happened"
)

// The ways in which an acknowledged write or hit can be wrong. Each is a fault.
const (
	lost        = "lost"
	altered     = "altered"
	resurrected = "resurrected"
)

// shownFaults is how many faults are printed in full.
const shownFaults = 20

// crashTally counts requests, kills and faults. Its mutex guards the maps; all else belongs to the
// test goroutine.
type crashTally struct {
	mu       sync.Mutex
	requests map[string]map[string]uint64
	kinds    []string // of requests, in the order of their first use
	faults   map[string]uint64

	kills       map[string]int // of the server, by phase
	tried       map[string]int // lives that were meant to end in a phase
	starts      int
	slowest     time.Duration
	replayed    uint64
	torn        uint64
	lostSlots   uint64
	checks      int
	begun       time.Time
	cutBackups  int
	cutRestores int
	wholeBackup int
}

func newCrashTally() *crashTally {
	return &crashTally{
		requests: map[string]map[string]uint64{}, faults: map[string]uint64{},
		kills: map[string]int{}, tried: map[string]int{}, begun: time.Now(),
	}
}

// count counts requests of a kind.
func (y *crashTally) count(kind, column string, n uint64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.requests[kind] == nil {
		y.requests[kind] = map[string]uint64{}
		y.kinds = append(y.kinds, kind)
	}
	y.requests[kind][column] += n
}

func (y *crashTally) counted(column string) (n uint64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, columns := range y.requests {
		n += columns[column]
	}
	return n
}

// fault counts a fault and reports whether it should be printed.
func (y *crashTally) fault(what string) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.faults[what]++
	return y.faults[what] <= shownFaults
}

func (y *crashTally) killed() (n int) {
	for _, of := range y.kills {
		n += of
	}
	return n
}

var (
	replayedSlots = regexp.MustCompile(`"msg":"hit journal replayed","records":(\d+)`)
	tornSlots     = regexp.MustCompile(`"slots":(\d+),"overwritten":(\d+)`)
)

// ended counts what a server has logged in its life.
func (y *crashTally) ended(log string) {
	add := func(sum *uint64, text string) {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			*sum += n
		}
	}
	if found := replayedSlots.FindStringSubmatch(log); found != nil {
		add(&y.replayed, found[1])
	}
	if found := tornSlots.FindStringSubmatch(log); found != nil {
		add(&y.torn, found[1])
		add(&y.lostSlots, found[2])
	}
}

// table returns the summary, in Markdown.
func (y *crashTally) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| kill -9 of the server | %d |\n|---|---:|\n", y.killed())
	for _, phase := range slices.Sorted(maps.Keys(y.kills)) {
		fmt.Fprintf(&b, "| %s | %d |\n", phase, y.kills[phase])
	}
	fmt.Fprintf(&b, "| kill -9 of `shunt restore` | %d |\n", y.cutRestores)
	fmt.Fprintf(&b, "| backups that a kill cut off, refused as unfinished; that were whole, and restored | %d; %d |\n\n", y.cutBackups, y.wholeBackup)

	fmt.Fprintf(&b, "| requests | %s | %s | %s |\n|---|---:|---:|---:|\n", answeredColumn, cutColumn, happenedColumn)
	for _, kind := range slices.Sorted(slices.Values(y.kinds)) {
		of := y.requests[kind]
		fmt.Fprintf(&b, "| %s | %d | %d | %s |\n", kind, of[answeredColumn], of[cutColumn], happened(of))
	}
	fmt.Fprintf(&b, "\n| outcome | |\n|---|---:|\n")
	for _, what := range []string{lost, altered, resurrected} {
		fmt.Fprintf(&b, "| %s | %d |\n", what, y.faults[what])
	}
	fmt.Fprintf(&b, "| starts; failed | %d; 0 |\n| slowest start | %v |\n", y.starts, rounded(y.slowest))
	fmt.Fprintf(&b, "| hits replayed from the journal | %d |\n", y.replayed)
	fmt.Fprintf(&b, "| slots of the journal without a record; overwritten | %d; %d |\n", y.torn, y.lostSlots)
	fmt.Fprintf(&b, "| runs of `shunt check`; faults | %d; 0 |\n| duration | %v |\n", y.checks, time.Since(y.begun).Round(time.Second))
	return b.String()
}

// happened returns the last cell of a kind of request: a request that changes nothing does not show
// whether it happened.
func happened(of map[string]uint64) string {
	if n, known := of[happenedColumn]; known {
		return fmt.Sprint(n)
	}
	return ""
}
