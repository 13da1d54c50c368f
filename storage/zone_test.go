package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/engine/zone"
	"shunt/storage/row/rowtest"
)

func zoneNamed(t *testing.T, name string) *zone.Zone {
	t.Helper()
	if name == "" {
		return nil
	}
	z, err := zone.Load(name)
	expect.OK(t, err)
	return z
}

// TestDaysOfAStoreAreOfOneZoneForGood starts servers one after the other on a store, each with a zone or with none.
func TestDaysOfAStoreAreOfOneZoneForGood(t *testing.T) {
	const rollUp = "an hour is rolled up" // in place of a start
	type start struct {
		zone, want string // "": none is set; it is refused
	}
	for name, starts := range map[string][]start{
		"the first one says":           {{"Europe/Berlin", "Europe/Berlin"}, {"Asia/Tokyo", ""}, {"UTC", ""}, {"", "Europe/Berlin"}, {"Europe/Berlin", "Europe/Berlin"}, {"Asia/Tokyo", ""}},
		"none is UTC":                  {{"", "UTC"}, {"Europe/Berlin", ""}, {"UTC", "UTC"}, {"", "UTC"}},
		"hits of a program without":    {{rollUp, ""}, {"Europe/Berlin", ""}, {"UTC", "UTC"}, {"Europe/Berlin", ""}},
		"hits of a program before it":  {{rollUp, ""}, {"", "UTC"}, {"Asia/Tokyo", ""}},
		"hits in the days of the zone": {{"Asia/Tokyo", "Asia/Tokyo"}, {rollUp, ""}, {"UTC", ""}, {"", "Asia/Tokyo"}, {"Asia/Tokyo", "Asia/Tokyo"}},
	} {
		mem := vfs.NewMem()
		for i, st := range starts {
			s := openMem(t, mem)
			before := s.Zone().Name()
			if st.zone == rollUp {
				f := rowtest.NewFlush()
				f.Add(23, 1, 7, rowtest.Hit(1))
				flush(t, s, 1, f)
				rollUpAll(t, s, upTo(30), nil)
				closeStore(t, s)
				continue
			}
			err := s.FixZone(zoneNamed(t, st.zone))
			if st.want == "" {
				expect.Error(t, err, ErrOtherZone, "%s, start %d", name, i)
				expect.Contains(t, err.Error(), before, "%s, start %d", name, i)
				st.want = before
			} else {
				expect.OK(t, err, "%s, start %d", name, i)
			}
			expect.Equal(t, s.Zone().Name(), st.want, "%s, start %d", name, i)
			closeStore(t, s)
			s = openMem(t, mem)
			expect.Equal(t, s.Zone().Name(), st.want, "%s, after start %d", name, i)
			closeStore(t, s)
		}
	}
}
