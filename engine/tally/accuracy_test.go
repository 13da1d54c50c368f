package tally

import (
	"encoding/binary"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/dchest/siphash"

	"shunt/engine/internal/hash"
)

// accuracy is the result of several trials of counting n visitors.
type accuracy struct {
	squares, squaresClamped float64 // sums of squared relative errors; clamped: estimates above n count as n, as they do when each hit is a new visitor
	bias, worst             float64
}

// measureAccuracy counts n visitors in each of trials trials. Trial i has its own key and its own
// visitors, always the same ones. It puts the hashes that a redirect computes (SipHash-2-4 of an
// address of 16 bytes and of the hash of a User-Agent) into the sketch of a link.
func measureAccuracy(n, trials int) (a accuracy) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wg.Go(func() {
			for trial := w; trial < trials; trial += workers {
				got := countVisitors(n, uint64(trial))
				e := float64(got)/float64(n) - 1
				ec := min(e, 0)
				mu.Lock()
				a.squares, a.squaresClamped, a.bias = a.squares+e*e, a.squaresClamped+ec*ec, a.bias+e
				a.worst = max(a.worst, math.Abs(e))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return a
}

func countVisitors(n int, trial uint64) uint64 {
	var s Sketch
	var visitor [24]byte
	k0, k1 := hash.Mix(trial+1, 0x9e3779b97f4a7c15), hash.Mix(trial+1, 0xd1b54a32d192ed03)
	hashes := make([]uint64, 0, 4096)
	for i := range uint64(n) {
		binary.LittleEndian.PutUint64(visitor[:], i/7) // seven agents per address
		binary.LittleEndian.PutUint64(visitor[16:], hash.Mix(i%7+1, 0x8cb92ba72f3d8dd7))
		if hashes = append(hashes, siphash.Hash(k0, k1, visitor[:])); len(hashes) == cap(hashes) {
			s.AddAll(hashes)
			hashes = hashes[:0]
		}
	}
	s.AddAll(hashes)
	return s.Count()
}

// TestUniqueIsAsAccurateAsItsTheory prints the table of accuracy. `make accuracy` runs 1,000 trials
// up to a million visitors, `make test` 50 up to 100,000. The bound of 0.82 % is for 1,000 trials;
// with fewer trials the root mean square scatters by one part in √(2·trials), and three times that
// is allowed.
func TestUniqueIsAsAccurateAsItsTheory(t *testing.T) {
	trials, sizes := 50, []int{100, 1_000, 10_000, 100_000}
	if s := os.Getenv("SHUNTTEST_ACCURACY_TRIALS"); s != "" {
		var err error
		if trials, err = strconv.Atoi(s); err != nil || trials < 50 {
			t.Fatalf("SHUNTTEST_ACCURACY_TRIALS=%q must be a number of at least 50", s)
		}
		sizes = append(sizes, 1_000_000)
	}
	bound := 0.0082
	if trials < 1000 {
		bound *= 1 + 3/math.Sqrt(2*float64(trials))
	}
	t.Logf("%d trials; theory: 1.04/√16384 = %.4f %% beyond 1,024 visitors, exact up to there", trials, 100*DenseError)
	t.Log(" visitors      RMSE  RMSE, hits = visitors      bias     worst")
	for _, n := range sizes {
		a := measureAccuracy(n, trials)
		rmse, clamped := math.Sqrt(a.squares/float64(trials)), math.Sqrt(a.squaresClamped/float64(trials))
		t.Logf("%9d  %6.4f %%  %19.4f %%  %+6.4f %%  %6.4f %%", n, 100*rmse, 100*clamped, 100*a.bias/float64(trials), 100*a.worst)
		switch {
		case n <= MaxExactVisitors && a.worst != 0:
			t.Errorf("%d visitors are not counted exactly", n)
		case rmse > bound:
			t.Errorf("%d visitors: RMSE %.4f %%, want at most %.4f %%", n, 100*rmse, 100*bound)
		}
	}
}
