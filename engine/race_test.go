//go:build race

package engine_test

import (
	"flag"
	"os"
)

// The race detector makes a check ten times slower, so by default a quarter of the checks run.
func init() {
	if os.Getenv("RAPID_CHECKS") != "" {
		return
	}
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}
