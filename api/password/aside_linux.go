package password

import "golang.org/x/sys/unix"

// lowerPriority gives the calling thread a priority. Everybody may lower it.
func lowerPriority(nice int) { _ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice) }
