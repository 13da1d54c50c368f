package ops

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"shunt/api/problem"
	"shunt/engine"
	"shunt/engine/expect"
)

// TestALinkThatTheStoreRefusedComesAgain has one link of many that fails for a reason that others would meet, too.
func TestALinkThatTheStoreRefusedComesAgain(t *testing.T) {
	codes := make([]engine.Key, 500)
	for i := range codes {
		codes[i] = keyOf(strconv.Itoa(i))
	}
	for _, fails := range []int{0, 1, 77, 499} {
		var mu sync.Mutex
		changed := map[engine.Key]bool{}
		refuse := true
		one := func(code engine.Key) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if refuse && code == codes[fails] {
				return false, problem.New(problem.Overloaded, "")
			}
			changed[code] = true
			return true, nil
		}
		var done SeveralDone
		n, err := new(Calls).changeEach(context.Background(), codes, one, &done)
		expect.That(t, err != nil && n <= fails && done.Refused == 0, "%d fails: %d are done, %d refused, %v", fails, n, done.Refused, err)
		refuse = false
		rest, err := new(Calls).changeEach(context.Background(), codes[n:], one, &done)
		expect.OK(t, err)
		expect.That(t, n+rest == len(codes) && len(changed) == len(codes), "%d fails: %d and %d, %d links changed", fails, n, rest, len(changed))
		expect.Equal(t, done.Done(), uint64(len(codes)), "%d fails: links counted", fails)
	}
}
