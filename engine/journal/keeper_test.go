package journal

import (
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"shunt/engine/expect"
)

// TestALateAnswerIsAskedForAgain has a file system that answers late at first, as one does that hung, or as one looks
// to a goroutine that the scheduler made wait. Pages are made writable only after an answer that came at once, or else
// the kernel could hang in that, unless no answer ever comes at once.
func TestALateAnswerIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, _, _ := growing(t)
		k := NewKeeper(j, slog.New(slog.DiscardHandler), func() {})
		for _, c := range []struct{ late, want int }{{0, 1}, {1, 2}, {3, 4}, {maxAsks, maxAsks}} {
			asks := 0
			k.Ask = func(*os.File) error {
				if asks++; asks <= c.late {
					time.Sleep(atOnce)
				}
				return nil
			}
			r := j.Rings[0]
			expect.OK(t, k.makeWritable(r.file, r.mapping[:ringHeaderBytes]))
			expect.Equal(t, asks, c.want, "asked, of which late: %d", c.late)
		}
	})
}
