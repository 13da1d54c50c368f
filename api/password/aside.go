package password

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// hashNice is the priority (nice) of the thread that begins a hash. argon2 computes a hash in eight parts of some 2 ms,
// each in a goroutine that this thread starts, so between two parts a hash waits while others want the core. Redirects
// beside wrong passwords had a p99 of 1.4 times that beside a loop of as much CPU, and have 1.1; with a thread of usual
// priority 1.5. With a core to itself a hash takes as long as before.
const hashNice = 10

// aside calls fn on a thread of its own, with the priority hashNice where threads have one. The thread ends with it,
// since only root may raise a priority again.
func aside(fn func() error) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil { // in a goroutine it would end the program
				err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		runtime.LockOSThread() // for ever: the runtime then ends the thread
		lowerPriority(hashNice)
		err = fn()
	}()
	<-done
	return err
}
