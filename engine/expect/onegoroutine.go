package expect

import "testing"

// OneGoroutine skips a test of what runs in one goroutine in the short form under the race detector, which has nothing
// to find there. make test and make race-all run it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if raceDetector && testing.Short() {
		t.Skip("the race detector finds nothing in one goroutine; make race-all runs it")
	}
}
