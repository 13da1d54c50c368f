//go:build race

package crashtest

const mapped = false
