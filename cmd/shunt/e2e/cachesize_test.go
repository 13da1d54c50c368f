package e2e

import (
	"path/filepath"
	"strconv"
	"testing"
)

func TestTheMetricsShowTheSizeOfTheCache(t *testing.T) {
	t.Parallel()
	p := startServer(t, filepath.Join(t.TempDir(), "data"), "--cache-size", "32MiB")
	text := metricIn(ask(t, p.admin+"/metrics", ""), "shunt_storage_cache_room_bytes")
	room, err := strconv.ParseFloat(text, 64)
	if err != nil || room < 32<<20 || room >= 64<<20 {
		t.Errorf("room for %q bytes of blocks (%v), want 32 MiB", text, err)
	}
}
