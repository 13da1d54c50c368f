package serve

import (
	"fmt"
	"testing"

	"shunt/engine/expect"
)

func TestACacheSizeIsAutoOrASize(t *testing.T) {
	for text, want := range map[string]int64{"auto": 0, "8MiB": 8 << 20, "256MiB": 256 << 20, "1073741824": 1 << 30, fmt.Sprintf("%dMiB", maxCacheBytes>>20): maxCacheBytes} {
		got, err := parseCacheSize(text)
		expect.That(t, got == want && err == nil, "%q: %d, %v, want %d", text, got, err, want)
	}
	for _, text := range []string{"", "0", "1MiB", "off", "-1MiB", "5%", "2TiB", "4294967295TiB", "256 MiB", "MiB"} {
		got, err := parseCacheSize(text)
		expect.That(t, err != nil, "%q: %d, want an error", text, got)
	}
}
