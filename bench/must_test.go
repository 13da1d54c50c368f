package bench

import "testing"

// must ends a benchmark or a test if a step that it does not measure has failed.
func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
