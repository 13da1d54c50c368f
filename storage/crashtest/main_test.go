package crashtest

import (
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"shunt/engine"
)

// childEnv is the variable that makes the test binary a process with one task.
const childEnv = "SHUNTTEST_CHILD"

// tasks are the tasks of a child, by the value of childEnv. Their arguments are in os.Args.
var tasks = map[string]func(){}

func TestMain(m *testing.M) {
	if task := tasks[os.Getenv(childEnv)]; task != nil {
		task()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// number returns a number from the environment, or otherwise if it is not set.
func number(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// seed returns SHUNTTEST_SEED, or a different seed each time.
func seed(t testing.TB) uint64 {
	t.Helper()
	s := number(t, "SHUNTTEST_SEED", uint64(time.Now().UnixNano())%1_000_000)
	t.Logf("SHUNTTEST_SEED=%d", s)
	return s
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }
