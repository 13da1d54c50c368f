package crashtest

import (
	"os"
	"shunt/storage/row/rowtest"
	"shunt/storage/storetest"
	"testing"
	"time"

	"go.uber.org/goleak"
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

// seed returns SHUNTTEST_SEED, or a different seed each time.
func seed(t testing.TB) uint64 {
	t.Helper()
	s := number(t, "SHUNTTEST_SEED", uint64(time.Now().UnixNano())%1_000_000)
	t.Logf("SHUNTTEST_SEED=%d", s)
	return s
}

var number, keyOf = storetest.Number, rowtest.Key
