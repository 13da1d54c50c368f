package load

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processTime returns the CPU time that a process has used, with all threads that it ever had.
func processTime(pid int) (time.Duration, error) {
	// A clock of a process is its complemented id, and 2 for the time that the scheduler has counted.
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// userHz is the unit of /proc/stat, which is the same on all systems.
const userHz = 100

// coreTimes returns how long the cores have been busy, by /proc/stat.
func coreTimes(stat []byte, cores []int) (busy time.Duration, err error) {
	found := 0
	for lines := bufio.NewScanner(bytes.NewReader(stat)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		core, err := strconv.Atoi(fields[0][3:])
		if err != nil || !slices.Contains(cores, core) {
			continue
		}
		found++
		for n, field := range fields[1:8] { // user, nice, system, idle, iowait, irq, softirq
			ticks, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/stat: %w", err)
			}
			if n != 3 && n != 4 {
				busy += time.Duration(ticks) * time.Second / userHz
			}
		}
	}
	if found != len(cores) {
		return 0, fmt.Errorf("/proc/stat has %d of the cores %v", found, cores)
	}
	return busy, nil
}

// Clocks are what processes and cores have used.
type Clocks struct {
	Server time.Duration // CPU time of some processes
	Busy   time.Duration // of some cores
}

// ReadClocks reads the clocks of processes and cores.
func ReadClocks(processes, cores []int) (c Clocks, err error) {
	for _, pid := range processes {
		took, err := processTime(pid)
		if err != nil {
			return c, err
		}
		c.Server += took
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return c, err
	}
	c.Busy, err = coreTimes(stat, cores)
	return c, err
}

// A mark is the state of a run at a moment.
type mark struct {
	Clocks
	at, own                time.Duration
	answers, reconnections uint64
}

func (g *generator) mark(now time.Duration) (m mark, err error) {
	m.at, m.answers, m.reconnections = now, g.answers, g.reconnected
	if m.Clocks, err = ReadClocks(g.Processes, nil); err != nil {
		return m, err
	}
	m.own, err = processTime(os.Getpid())
	return m, err
}
