package plural

import "testing"

func TestOneIsSingularAndEverythingElsePlural(t *testing.T) {
	for n, want := range map[int]string{-1: "-1 lives", 0: "0 lives", 1: "1 life", 2: "2 lives", 21: "21 lives"} {
		if got := Of(n, "life", "lives"); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
	if got, want := Of(uint64(1<<64-1), "hit", "hits"), "18446744073709551615 hits"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
