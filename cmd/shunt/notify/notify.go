package notify

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// A Notifier sends messages to the service manager. A nil Notifier, that of a process that no service
// manager waits for, sends nothing. Any number of goroutines may use it at once.
type Notifier struct {
	watchdog time.Duration // the process is killed after this time without a sign of life; 0: never

	mu struct {
		sync.Mutex
		phase  phase
		status string // the last one that was sent
	}
}

// A phase is what the service manager believes of the process.
type phase uint8

const (
	starting phase = iota
	running
	stopping
)

const (
	// maxStatusBytes keeps a message within the 4,096 bytes that systemd reads.
	maxStatusBytes = 512

	// interval is the time between two looks at the status while the process starts or stops, and calmInterval while
	// it runs: each look wakes an idle process.
	interval     = time.Second
	calmInterval = 30 * time.Second

	// extension is how much longer the service manager must wait for the end of a start or a stop
	// from each look on. It covers a machine that is too busy to look for a while.
	extension = 30 * time.Second

	// signsPerWatchdog is how many signs of life are sent in the time of the watchdog. sd_notify(3) recommends two;
	// with three, a look that finds the process busy is not its end. Each wakes the threads of an idle process some
	// 65 times.
	signsPerWatchdog = 3
)

// Open says hello to the service manager whose socket NOTIFY_SOCKET names, and returns its Notifier, nil if
// the variable names none or nobody listens there. With an unreadable WATCHDOG_USEC it returns both.
func Open() (*Notifier, error) {
	if there, err := daemon.SdNotify(false, "STATUS="+firstStatus); !there {
		return nil, err
	}
	n := new(Notifier)
	n.mu.status = firstStatus
	var err error
	n.watchdog, err = daemon.SdWatchdogEnabled(false)
	return n, err
}

const firstStatus = "starting"

// Ready says that the process does what it was started for, or has finished reloading.
func (n *Notifier) Ready(status string) { n.enter(running, status, daemon.SdNotifyReady) }

// Reloading says that the process reads its settings again. Ready must follow.
func (n *Notifier) Reloading() {
	n.enter(running, "reloading", daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
}

// Stopping says that the process ends itself.
func (n *Notifier) Stopping(status string) {
	n.enter(stopping, status, daemon.SdNotifyStopping, extend())
}

// Run sends the status if it has changed, once a second while the process starts and stops, and twice a minute while it
// runs. It asks for more time while the process starts and stops. It returns when ctx ends.
func (n *Notifier) Run(ctx context.Context, status func() string) error {
	if n == nil {
		<-ctx.Done()
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(n.pause()):
			n.look(status())
		}
	}
}

// pause returns how long to wait before the next look. A stop that begins meanwhile has asked for more time itself.
func (n *Notifier) pause() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.phase == running {
		return calmInterval
	}
	return interval
}

// Watch sends signs of life while alive returns true. It calls alive at even intervals, and from no
// other place. It returns when ctx ends.
//
// alive must not wait for a disk, nor for what may wait for one: a disk that hangs would get the
// process killed, which mends no disk. Hence Watch is not part of Run.
func (n *Notifier) Watch(ctx context.Context, alive func() bool) error {
	if n == nil || n.watchdog == 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(max(n.watchdog/signsPerWatchdog, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if alive() {
				n.send(daemon.SdNotifyWatchdog)
			}
		}
	}
}

// look sends status if it is new, and asks for more time if the process starts or stops.
func (n *Notifier) look(status string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []string
	if n.mu.phase != running {
		lines = append(lines, extend())
	}
	n.sendLocked(status, lines...)
}

// enter sends the lines and status, and remembers the phase. A process that stops stays stopping.
func (n *Notifier) enter(p phase, status string, lines ...string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.phase == stopping {
		return
	}
	n.mu.phase = p
	n.sendLocked(status, lines...)
}

// sendLocked sends the lines, and status if it is new.
func (n *Notifier) sendLocked(status string, lines ...string) {
	if status = oneLine(status); status != n.mu.status {
		n.mu.status = status
		lines = append(lines, "STATUS="+status)
	}
	n.send(lines...)
}

// send sends a message. That it is lost, because the service manager has gone, is no reason to serve
// worse.
func (n *Notifier) send(lines ...string) {
	if len(lines) > 0 {
		_, _ = daemon.SdNotify(false, strings.Join(lines, "\n"))
	}
}

func extend() string {
	return "EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(extension.Microseconds(), 10)
}

// oneLine returns status as the value of one line.
func oneLine(status string) string {
	if len(status) > maxStatusBytes {
		status = status[:maxStatusBytes]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(status, ""))
}
