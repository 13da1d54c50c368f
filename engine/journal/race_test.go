//go:build race

package journal

import "flag"

// The race detector makes a check ten times as slow, so by default a quarter of the checks run.
func init() {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}
