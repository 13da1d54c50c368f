//go:build 386 || arm

package api

import (
	"testing"

	"shunt/api/visitor"
)

// readCountries skips the test: mmdbwriter, which makes such files, is not for 32-bit machines.
func readCountries(t testing.TB, _ bool, _ map[string]string) *visitor.Countries {
	t.Skip("files of countries cannot be made on a 32-bit machine")
	return nil
}
