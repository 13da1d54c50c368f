package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// number is set by the Makefile: -ldflags "-X shunt/cmd/shunt/version.number=…".
var number = ""

// Text returns the version that the Makefile set, otherwise the one that the Go tool knows
// (go install, go build in a checkout), else "devel".
func Text() string {
	if number != "" {
		return number
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}

// Line is what shunt version prints.
func Line() string {
	return fmt.Sprintf("shunt %s %s %s/%s\n", Text(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
