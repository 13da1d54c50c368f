package e2e

import (
	"path/filepath"
	"strconv"
	"testing"

	"shunt/engine/expect"
)

func TestTheMetricsShowTheSizeOfTheCache(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"), "--cache-size", "32MiB")
	text := metricIn(ask(t, p.admin+"/metrics", ""), "shunt_storage_cache_room_bytes")
	room, err := strconv.ParseFloat(text, 64)
	expect.That(t, err == nil && room >= 32<<20 && room < 64<<20, "room for %q bytes of blocks (%v), want 32 MiB", text, err)
}
