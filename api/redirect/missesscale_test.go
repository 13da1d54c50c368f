//go:build !race

package redirect

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func TestMissesKeepTheirGuaranteeOnAnySequence(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, 1<<24)
	for name, next := range map[string]func(i int) string{
		"zipf":             func(int) string { return fmt.Sprintf("z%d", zipf.Uint64()) },
		"a scan":           func(i int) string { return fmt.Sprintf("s%d", i) },
		"random codes":     func(int) string { return fmt.Sprintf("%x", random.Uint64()) },
		"one code again":   func(int) string { return "favicon" },
		"turn and turn":    func(i int) string { return fmt.Sprint(i % (2 * missCounters)) },
		"a scan and a few": func(i int) string { return fmt.Sprintf("m%d", (i%2)*i+(i/2%100)*(1-i%2)) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMisses(time.Now())
			truth := make(map[string]uint64)
			misses := 200_000
			if name == "random codes" { // a scan of the code space
				misses = 1_000_000
			}
			for i := range misses {
				code := next(i)
				truth[code]++
				m.add(keyOf(code).View())
			}
			checkGuarantee(t, m, truth, uint64(misses))
		})
	}
}
