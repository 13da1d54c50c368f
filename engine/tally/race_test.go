//go:build race

package tally

import (
	"flag"
	"os"
)

// The race detector makes a check ten times as slow, so by default a race build runs half of
// them.
func init() {
	if os.Getenv("RAPID_CHECKS") != "" {
		return
	}
	if err := flag.Set("rapid.checks", "50"); err != nil {
		panic(err)
	}
}
