//go:build amd64 || arm64

package wire

import "sync/atomic"

// overruns counts the budgets that have ended with a signal.
var overruns atomic.Uint64

// onBudget returns the address of the handler of budgetSignal: budgetsignal_linux_*.s. It counts in
// overruns, and gives the thread that it runs on preferredAttr.
func onBudget() uintptr
