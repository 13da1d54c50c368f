package daily_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shunt/engine/daily"
	"shunt/engine/expect"
)

func TestDaysAreUnpackedAsTheyWerePacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) daily.Hits {
			return daily.Hits{Day: rapid.Uint32Min(1).Draw(t, "day"), Hits: rapid.Uint64Range(1, 1<<50).Draw(t, "hits")}
		}), 0, 100, func(d daily.Hits) uint32 { return d.Day }).Draw(t, "days")
		slices.SortFunc(days, func(a, b daily.Hits) int {
			if a.Day < b.Day {
				return -1
			}
			return 1
		})
		p := daily.Pack(days)
		var sum uint64
		for _, d := range days {
			sum += d.Hits
			expect.That(t, p.Has(d.Day), "day %d is not found", d.Day)
		}
		expect.OK(t, p.Check())
		expect.That(t, slices.Equal(slices.Collect(p.All()), days), "got %v, want %v", slices.Collect(p.All()), days)
		expect.That(t, p.Sum() == sum && p.Len() == len(days), "got a sum of %d and %d days, want %d and %d", p.Sum(), p.Len(), sum, len(days))
	})
}

func TestOnlyTheOnePackedFormIsAccepted(t *testing.T) {
	tooMany := make([]daily.Hits, daily.Max+1)
	for i := range tooMany {
		tooMany[i] = daily.Hits{Day: uint32(i + 1), Hits: 1}
	}
	for name, p := range map[string]daily.Packed{
		"a day without hits in the bytes": "\x01", "no gap": "\x01\x01\x00\x01", "the first day": "\x00\x01", "no hits": "\x01\x00",
		"a long form": "\x81\x00\x01", "a gap beyond all days": "\xff\xff\xff\xff\x1f\x01", "cut off": "\x01\x81",
		"more hits than fit": daily.Pack([]daily.Hits{{1, 1 << 63}, {2, 1 << 63}}), "too many days": daily.Pack(tooMany),
	} {
		expect.That(t, p.Check() != nil, "%s: no error", name)
	}
	expect.OK(t, daily.Pack(tooMany[:daily.Max]).Check())
}

func FuzzPacked(f *testing.F) {
	f.Add("\x01\x01\x02\x05")
	f.Fuzz(func(t *testing.T, text string) {
		p := daily.Packed(text)
		if err := p.Check(); err == nil {
			again := daily.Pack(slices.Collect(p.All()))
			expect.That(t, again == p, "%q is packed again as %q", p, again)
		}
		p.Sum() // must end, also unchecked
	})
}

func TestDaysAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]uint32{"1970-01-02": 1, "2024-02-29": 19782, "2100-12-31": 47846} {
		day, ok := daily.ParseDay(text)
		expect.That(t, ok && day == want && string(daily.AppendDay(nil, day)) == text, "%s: got %d, %v", text, day, ok)
	}
	for _, text := range []string{"", "1970-01-01", "1969-12-31", "2023-02-29", "2024-2-1", "2024-02-01T00:00:00Z", "yesterday"} {
		_, ok := daily.ParseDay(text)
		expect.That(t, !ok, "%q is taken for a day", text)
	}
}
