package core

import (
	"testing"

	"shunt/engine/expect"
	"shunt/storage"
)

func TestSizesOfFreeSpaceAreReadInTheirUnits(t *testing.T) {
	for text, want := range map[string]storage.Floor{
		"auto": {}, "off": {Off: true}, "5%": {Percent: 5}, "0.5%": {Percent: 0.5}, "12": {Bytes: 12}, "12B": {Bytes: 12},
		"3KiB": {Bytes: 3 << 10}, "512MiB": {Bytes: 512 << 20}, "2GiB": {Bytes: 2 << 30}, "1TiB": {Bytes: 1 << 40},
	} {
		got, err := parseFloor(text)
		expect.That(t, got == want && err == nil, "%s: got %+v, %v, want %+v", text, got, err, want)
	}
	for _, text := range []string{"", "%", "0%", "100%", "-1%", "NaN%", "0", "-1", "1.5GiB", "5 MiB", "5MB", "5mib", "MiB", "99999999999TiB"} {
		got, err := parseFloor(text)
		expect.That(t, err != nil, "%q: got %+v, want an error", text, got)
	}
}
