package exchange

import (
	"math/rand/v2"
	"testing"

	"shunt/engine/expect"
)

func TestIDsThatAreMadeHaveEveryCharacterAtEachPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var seen [madeRequestID]map[byte]int
	const ids = 62 * 100
	for range ids {
		id := newRequestID(random.Uint64(), random.Uint64())
		expect.MustThat(t, isRequestID(id[:]), "%q is not an id", id)
		for i, c := range id {
			if seen[i] == nil {
				seen[i] = make(map[byte]int)
			}
			seen[i][c]++
		}
	}
	for i, at := range seen {
		for c, n := range at {
			if n < 50 || n > 160 { // 100 expected, with a standard deviation of 10
				t.Errorf("place %d: %q occurs %d times in %d ids", i, c, n, ids)
			}
		}
		expect.Equal(t, len(at), len(idCharacters), "place %d characters", i)
	}
}
