package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"shunt/engine/expect"
)

// busyName is the name under which the test program is a busy loop: NAME SHARE. It keeps one core
// busy for that share of the time, from 0 to 1, until it is killed.
const busyName = "shunt-test-busy"

// busyTurn is how long the loop is busy before it rests: the time to hash a password.
const busyTurn = 40 * time.Millisecond

func standInForBusyLoop(args []string) (code int) {
	share, err := strconv.ParseFloat(args[0], 64)
	if err != nil || share <= 0 {
		return exitUsage
	}
	for {
		for start := time.Now(); time.Since(start) < busyTurn; {
		}
		if share < 1 {
			time.Sleep(time.Duration(float64(busyTurn) * (1/share - 1)))
		}
	}
}

// beBusy starts a busy loop. stop ends it.
func beBusy(t *testing.T, share float64) (stop func()) {
	t.Helper()
	self, err := os.Executable()
	expect.OK(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, self, strconv.FormatFloat(share, 'f', 3, 64))
	cmd.Args[0] = busyName
	expect.OK(t, cmd.Start())
	return func() {
		cancel()
		var killed *exec.ExitError
		err := cmd.Wait()
		expect.That(t, err == nil || errors.As(err, &killed) || errors.Is(err, context.Canceled), "%v", err)
	}
}
