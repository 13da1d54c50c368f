package main

import (
	"fmt"
	"testing"

	"shunt/storage"
)

func TestSizesOfFreeSpaceAreReadInTheirUnits(t *testing.T) {
	for text, want := range map[string]storage.Floor{
		"auto": {}, "off": {Off: true}, "5%": {Percent: 5}, "0.5%": {Percent: 0.5}, "12": {Bytes: 12}, "12B": {Bytes: 12},
		"3KiB": {Bytes: 3 << 10}, "512MiB": {Bytes: 512 << 20}, "2GiB": {Bytes: 2 << 30}, "1TiB": {Bytes: 1 << 40},
	} {
		if got, err := parseFloor(text); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "0%", "100%", "-1%", "NaN%", "0", "-1", "1.5GiB", "5 MiB", "5MB", "5mib", "MiB", "99999999999TiB"} {
		if got, err := parseFloor(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

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
