package plural

import (
	"testing"

	"shunt/engine/expect"
)

func TestOneIsSingularAndEverythingElsePlural(t *testing.T) {
	for n, want := range map[int]string{-1: "-1 lives", 0: "0 lives", 1: "1 life", 2: "2 lives", 21: "21 lives"} {
		expect.Equal(t, Of(n, "life", "lives"), want, "%d", n)
	}
	expect.Equal(t, Of(uint64(1<<64-1), "hit", "hits"), "18446744073709551615 hits")
}
