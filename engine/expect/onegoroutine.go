package expect

import "testing"

// OneGoroutine skips a test that calls the code from one goroutine in the short form under the race detector, which has
// little to find there that tests with several callers do not show. make test and make race-all run it.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if raceDetector && testing.Short() {
		t.Skip("it has one caller; make race-all runs it under the race detector")
	}
}
