package zone

import (
	"archive/zip"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shunt/engine/expect"
)

func mustLoad(t expect.T, name string) *Zone {
	z, err := Load(name)
	expect.OK(t, err, name)
	return z
}

func hourOf(year int, month time.Month, day, hour int, place *time.Location) uint32 {
	return uint32(time.Date(year, month, day, hour, 0, 0, 0, place).Unix() / 3600)
}

// TestDaysAreThoseOfTheCalendar compares each hour of 2009 to 2037 with package time, which is slow beyond.
func TestDaysAreThoseOfTheCalendar(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Pacific/Apia", "Pacific/Auckland", "America/Sao_Paulo", "America/Havana", "Asia/Beirut", "Africa/Casablanca", "Etc/GMT+12"} {
		z := mustLoad(t, name)
		for hour := hourOf(2009, 1, 1, 0, time.UTC); hour < hourOf(2037, 1, 1, 0, time.UTC); hour++ {
			year, month, day := time.Unix(int64(hour)*3600, 0).In(z.Place()).Date()
			want := uint32(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
			if got := z.Day(hour); got != want {
				t.Fatalf("%s: hour %d is in day %d, want %d", name, hour, got, want)
			}
		}
	}
}

func TestDaysHaveTheirHours(t *testing.T) {
	for name, c := range map[string]struct {
		zone       string
		year       int
		month      time.Month
		day, hours int
	}{
		"a plain day":                      {"Europe/Berlin", 2026, 11, 28, 24},
		"clocks go forward":                {"Europe/Berlin", 2026, 3, 29, 23},
		"clocks go back":                   {"Europe/Berlin", 2026, 10, 25, 25},
		"clocks go back in New York":       {"America/New_York", 2026, 11, 1, 25},
		"clocks go forward in the south":   {"Australia/Sydney", 2026, 10, 4, 23},
		"clocks go forward at midnight":    {"America/Havana", 2026, 3, 8, 23},
		"the day that Apia skipped":        {"Pacific/Apia", 2011, 12, 30, 0},
		"the day before it":                {"Pacific/Apia", 2011, 12, 29, 24},
		"UTC never changes":                {"UTC", 2026, 3, 29, 24},
		"far ahead, as the rules have it":  {"Europe/Berlin", 2095, 3, 27, 23},
		"beyond the table there are no 23": {"Europe/Berlin", 2150, 3, 29, 24},
	} {
		z := mustLoad(t, c.zone)
		day := uint32(time.Date(c.year, c.month, c.day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
		expect.Equal(t, z.Begin(day+1)-z.Begin(day), uint32(c.hours), "%s: hours", name)
	}
}

func TestZonesThatAreOffTheHourAreRefused(t *testing.T) {
	for _, name := range []string{"Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "Australia/Adelaide", "Pacific/Chatham"} {
		_, err := Load(name)
		expect.That(t, errors.Is(err, ErrOffTheHour), "%s: %v", name, err)
	}
	for _, name := range []string{"", "Local", "Mars/Olympus", "../../etc/passwd", "europe", strings.Repeat("x", 65)} {
		_, err := Load(name)
		expect.That(t, errors.Is(err, ErrUnknown), "%q: %v", name, err)
	}
	for _, name := range []string{"America/Caracas", "Asia/Pyongyang", "America/Goose_Bay"} { // were off the hour once
		mustLoad(t, name)
	}
}

// allZones returns the names of zones that Go has.
func allZones(t *testing.T) (names []string) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	expect.OK(t, err)
	zones, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	expect.OK(t, err)
	defer zones.Close()
	for _, f := range zones.File {
		if !strings.HasSuffix(f.Name, "/") { // of a folder
			names = append(names, f.Name)
		}
	}
	expect.MustThat(t, len(names) > 300, "there are only %d", len(names))
	return names
}

// TestDaysOfEveryZoneFollowEachOther holds whatever the history of a zone was.
func TestDaysOfEveryZoneFollowEachOther(t *testing.T) {
	for _, name := range allZones(t) {
		z, err := Load(name)
		if errors.Is(err, ErrOffTheHour) {
			continue
		}
		expect.OK(t, err, name)
		for i := 1; i < len(z.changes); i++ {
			hour := uint32(z.changes[i].hour)
			wantOrder(t, z, hour-49, hour+49)
		}
	}
}

func wantOrder(t expect.T, z *Zone, from, to uint32) {
	before := z.Day(from)
	for hour := from + 1; hour < to; hour++ {
		day := z.Day(hour)
		if day < before || (day > before) != (z.Begin(day) == hour) || z.Begin(day) > hour || z.Begin(day+1) <= hour {
			t.Fatalf("%s: hour %d is in day %d, after day %d; it begins with %d, the next with %d", z.Name(), hour, day, before, z.Begin(day), z.Begin(day+1))
		}
		before = day
	}
}

func TestBoundsHoldForAnyHour(t *testing.T) {
	names := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Pacific/Apia", "Pacific/Kiritimati"}
	rapid.Check(t, func(rt *rapid.T) {
		z := mustLoad(rt, rapid.SampledFrom(names).Draw(rt, "zone"))
		hour := rapid.Uint32Range(48, 1<<32-100).Draw(rt, "hour")
		day := z.Day(hour)
		expect.That(rt, z.Floor(hour) <= hour && hour < z.Begin(day+1), "hour %d, day %d from %d to %d", hour, day, z.Floor(hour), z.Begin(day+1))
		expect.That(rt, z.Begins(z.Ceil(hour)) && z.Ceil(hour) >= hour && z.Ceil(hour)-hour < 25, "the day after hour %d begins with %d", hour, z.Ceil(hour))
		expect.That(rt, z.Begin(day+1) > z.Begin(day) || z.Day(z.Begin(day)) > day, "day %d begins with %d, the next with %d", day, z.Begin(day), z.Begin(day+1))
	})
}
