package memory

import "golang.org/x/sys/unix"

// Folder returns a folder whose files are in memory, and outlive a process but not the machine; ""
// if there is none.
func Folder() string {
	const dir = "/dev/shm"
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil || s.Type != unix.TMPFS_MAGIC {
		return ""
	}
	return dir
}
