package wire

import (
	"sync"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	_ "github.com/valyala/fasthttp" // has the names below
)

// fasthttp keeps the text of Date in a goroutine that wakes once a second from its first answer on, for
// ever. Nothing but these names of its own can keep it from that: its option NoDefaultDate moves Date to
// another place in the answer. Here the text is made again by the first request of each second.

//go:linkname serverDateOnce github.com/valyala/fasthttp.serverDateOnce
var serverDateOnce sync.Once

//go:linkname refreshServerDate github.com/valyala/fasthttp.refreshServerDate
func refreshServerDate()

func init() { serverDateOnce.Do(refreshServerDate) }

// dated is the Unix second of the text.
var dated atomic.Int64

// RefreshDate makes fasthttp's answers have the Date of now. Whoever answers with fasthttp's Response calls it before.
func RefreshDate(now time.Time) {
	if second := now.Unix(); dated.Load() != second {
		dated.Store(second)
		refreshServerDate()
	}
}
