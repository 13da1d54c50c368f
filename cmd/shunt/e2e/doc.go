// Package e2e has the tests of the built binary: they run it as a user does, kill it, fill its
// disk, starve it, and compare it with a model. They know flags, output, exit codes, the API and
// the data folder, but not the inside of cmd/shunt. The package has only tests, and nothing may
// import it.
//
// The files in testdata/cases have commands and their whole output, as a person types and sees them. cases_test.go
// runs the commands and compares; `go test ./cmd/shunt/e2e -run NAME -rewrite` writes the present output instead.
//
// TestMain builds the binary once. Tests that take minutes, or need root or other programs, are
// skipped unless a variable SHUNTTEST_… requests them; the Makefile has a target for each.
package e2e
