package notify

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Notifier sends messages to the service manager. A nil Notifier, that of a process that no service
// manager waits for, sends nothing. Any number of goroutines may use it at once.
type Notifier struct {
	conn     *net.UnixConn
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
	sendTimeout = time.Second

	// maxStatusBytes keeps a message within the 4,096 bytes that systemd reads.
	maxStatusBytes = 512

	// interval is the time between two looks at the status.
	interval = time.Second

	// extension is how much longer the service manager must wait for the end of a start or a stop
	// from each look on. It covers a machine that is too busy to look for a while.
	extension = 30 * time.Second

	// signsPerWatchdog is how many signs of life are sent in the time of the watchdog. sd_notify(3)
	// recommends two; with four, a look that finds the process busy is not its end.
	signsPerWatchdog = 4
)

// Open returns the Notifier of the socket that the environment names, nil if it names none. It may be
// called once: it removes the variables NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, so that no
// child speaks for this process.
func Open() (*Notifier, error) {
	name, watchdog := os.Getenv("NOTIFY_SOCKET"), watchdogOf(os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID"))
	for _, variable := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(variable) // never fails
	}
	if name == "" {
		return nil, nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("the socket of the service manager (NOTIFY_SOCKET): %w", err)
	}
	return &Notifier{conn: conn, watchdog: watchdog}, nil
}

// watchdogOf returns the time of a watchdog; 0: there is none, or it is another process's.
func watchdogOf(usec, pid string) time.Duration {
	n, err := strconv.ParseInt(usec, 10, 64)
	if err != nil || n <= 0 || n > int64(24*time.Hour/time.Microsecond) || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

// Ready says that the process does what it was started for, or has finished reloading.
func (n *Notifier) Ready(status string) { n.enter(running, status, "READY=1") }

// Reloading says that the process reads its settings again. Ready must follow.
func (n *Notifier) Reloading() {
	n.enter(running, "reloading", "RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(monotonic().Microseconds(), 10))
}

// Stopping says that the process ends itself.
func (n *Notifier) Stopping(status string) { n.enter(stopping, status, "STOPPING=1", extend()) }

// Run sends the status once a second if it has changed, and asks for more time while the process
// starts and stops. It returns when ctx ends.
func (n *Notifier) Run(ctx context.Context, status func() string) error {
	if n == nil {
		<-ctx.Done()
		return nil
	}
	every(ctx, interval, func() { n.look(status()) })
	return nil
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
	every(ctx, max(n.watchdog/signsPerWatchdog, time.Millisecond), func() {
		if alive() {
			n.send("WATCHDOG=1")
		}
	})
	return nil
}

// every calls do at that interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
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

// send sends a message. That it is lost, because the service manager has gone or hangs, is no reason
// to serve worse.
func (n *Notifier) send(lines ...string) {
	if len(lines) == 0 {
		return
	}
	_ = n.conn.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, _ = n.conn.Write([]byte(strings.Join(lines, "\n")))
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
