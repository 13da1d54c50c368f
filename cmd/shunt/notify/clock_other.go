//go:build !linux

package notify

import "time"

// monotonic returns 0: systemd runs on Linux only.
func monotonic() time.Duration { return 0 }
