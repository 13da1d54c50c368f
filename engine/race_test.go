//go:build race

package engine_test

import "flag"

// The race detector makes a check ten times slower, so by default a quarter of the checks run.
func init() {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}
