// Package e2e is the tests of the built binary: it is run as a user runs it, killed, filled up,
// starved and compared with a model. It knows flags, output, exit codes, the API and the data
// folder, and nothing of the inside of cmd/shunt. It has no code but tests, and nothing may import
// it.
//
// TestMain builds the binary once. Tests that take minutes, need root or a program of others are
// skipped unless a variable SHUNTTEST_… asks for them; the Makefile has a target for each.
package e2e
