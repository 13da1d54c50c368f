package serve

import (
	"fmt"
	"testing"
)

func TestACacheSizeIsAutoOrASize(t *testing.T) {
	for text, want := range map[string]int64{"auto": 0, "8MiB": 8 << 20, "256MiB": 256 << 20, "1073741824": 1 << 30, fmt.Sprintf("%dMiB", maxCacheBytes>>20): maxCacheBytes} {
		if got, err := parseCacheSize(text); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "1MiB", "off", "-1MiB", "5%", "2TiB", "4294967295TiB", "256 MiB", "MiB"} {
		if got, err := parseCacheSize(text); err == nil {
			t.Errorf("%q: %d, want an error", text, got)
		}
	}
}
