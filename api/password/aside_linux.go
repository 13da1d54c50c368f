package password

import "golang.org/x/sys/unix"

// lowerPriority gives the calling thread a priority, as everybody may. The main thread keeps its own: it does not end
// with a goroutine, and its priority is what tools show for the whole program.
func lowerPriority(nice int) {
	if thread := unix.Gettid(); thread != unix.Getpid() {
		_ = unix.Setpriority(unix.PRIO_PROCESS, thread, nice)
	}
}
