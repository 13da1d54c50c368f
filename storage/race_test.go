//go:build race

package storage

import "flag"

// Under the race detector everything takes four to ten times as long, so there are fewer of what
// takes minutes.

// stride is every how many-th is tried of the moments at which something may crash, and of the
// faults that may be found.
const stride = 5

func init() {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
}
