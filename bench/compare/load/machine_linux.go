package load

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the CPU time that processes have used, with all threads that they ever had.
func CPUTime(processes ...int) (sum time.Duration, err error) {
	for _, pid := range processes {
		// A clock of a process is its complemented id, and 2 for the time that the scheduler has counted.
		var t unix.Timespec
		if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
			return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// A mark is the state of a run at a moment.
type mark struct {
	at, server, own        time.Duration
	answers, reconnections uint64
}

func (g *generator) mark(now time.Duration) (m mark, err error) {
	m.at, m.answers, m.reconnections = now, g.answers, g.reconnected
	if m.server, err = CPUTime(g.Processes...); err != nil {
		return m, err
	}
	m.own, err = CPUTime(os.Getpid())
	return m, err
}
