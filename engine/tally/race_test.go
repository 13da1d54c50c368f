//go:build race

package tally

import (
	"flag"
	"os"
)

// The race detector makes a check ten times as slow, so by default a race build runs a quarter of
// them.
func init() {
	if os.Getenv("RAPID_CHECKS") != "" {
		return
	}
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}
