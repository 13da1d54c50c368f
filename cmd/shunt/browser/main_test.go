package browser

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shunt/engine/expect"
)

const (
	browserVariable     = "SHUNTTEST_BROWSER"     // long or short
	axeVariable         = "SHUNTTEST_AXE"         // the file axe.min.js
	screenshotsVariable = "SHUNTTEST_SCREENSHOTS" // the folder to write pictures into
	binaryVariable      = "SHUNTTEST_BINARY"      // the program, if it was built before
)

// short reports whether only the short form is wanted, as in make check.
func short() bool { return os.Getenv(browserVariable) == "short" }

// beside has the tests that run beside each other.
var beside sync.Map

// needBrowser skips t unless tests with the browser are wanted. A test runs beside others then; its parts do not.
func needBrowser(t *testing.T) {
	t.Helper()
	switch os.Getenv(browserVariable) {
	case "long", "short":
		if _, again := beside.LoadOrStore(t, nil); !again && !strings.Contains(t.Name(), "/") {
			t.Parallel()
		}
	case "":
		t.Skip("make browser runs this test: it needs chromium; " + browserVariable + " is short or long")
	default:
		t.Fatalf("%s is %q, want short or long", browserVariable, os.Getenv(browserVariable))
	}
}

// work is a folder for the binary, the certificate and the browser's profile.
var work string

func TestMain(m *testing.M) { os.Exit(runIn(m)) }

func runIn(m *testing.M) int {
	var err error
	if work, err = os.MkdirTemp("", "shunt-browser-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	defer closeBrowsers()
	for _, variable := range os.Environ() { // only the tests set variables
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "SHUNT_") {
			os.Unsetenv(name)
		}
	}
	return m.Run()
}

// built builds the binary at its first call, unless there is one.
var built = sync.OnceValues(func() (binary string, err error) {
	if binary = os.Getenv(binaryVariable); binary != "" {
		return binary, nil
	}
	binary = filepath.Join(work, "shunt")
	build := exec.Command("go", "build", "-o", binary, "shunt/cmd/shunt")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", build, err, out)
	}
	return binary, nil
})

// shuntBinary returns the path of the program under test.
func shuntBinary(t *testing.T) string {
	t.Helper()
	readSources()
	binary, err := built()
	expect.OK(t, err)
	return binary
}

// readSources opens every file that the binary is built from, so that go test does not show a
// cached result of another binary.
var readSources = sync.OnceFunc(func() {
	for _, dir := range []string{"..", "../../../api", "../../../engine", "../../../storage"} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, "_test.go") {
				_, _ = os.ReadFile(path)
			}
			return nil
		})
	}
	_, _ = os.ReadFile("../../../go.mod")
})
