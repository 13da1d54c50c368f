//go:build race

package storage

import (
	"flag"
	"os"
)

// Under the race detector everything takes four to ten times as long, so tests that take minutes
// try fewer cases.

// stride n means that every n-th crash or fault is tried.
const stride = 5

func init() {
	if os.Getenv("RAPID_CHECKS") != "" {
		return
	}
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}
