package storage

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/storage/row"
	"shunt/storage/storetest"
)

// A rollUpCase is the store of one file of testdata/rollup. Its commands are:
//
//	flush      commits the hits of its lines: see storetest.ReadFlush
//	roll-up    rolls up the hours before one, and drops those before another; what is left to do then
//	restart    closes the store and opens it again
//	rows       all rows of tallies
//	figures    what a view has of a link: of its life, and of spans of hours
//	loaded     the hits of each link that a start has
type rollUpCase struct {
	mem vfs.FS
	*Store
	seq uint64
}

func TestHoursAreRolledUpAsTheFilesSay(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/rollup", func(t *testing.T, path string) {
		c := rollUpCase{mem: vfs.NewMem()}
		c.Store = openMem(t, c.mem)
		defer func() { closeStore(t, c.Store) }()
		commands := map[string]func(testing.TB, *datadriven.TestData) string{
			"flush": c.flush, "roll-up": c.rollUp, "restart": c.restart, "rows": c.rows, "figures": c.figures, "loaded": c.loaded,
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if commands[d.Cmd] == nil {
				d.Fatalf(t, "the command is not known")
			}
			return commands[d.Cmd](t, d)
		})
	})
}

func (c *rollUpCase) flush(t testing.TB, d *datadriven.TestData) string {
	c.seq++
	flush(t, c.Store, c.seq, storetest.ReadFlush(t, d.Input))
	return c.waits()
}

func (c *rollUpCase) rollUp(t testing.TB, d *datadriven.TestData) string {
	var l engine.RollUpLimits
	d.ScanArgs(t, "to", &l.OpenHour)
	d.MaybeScanArgs(t, "keep-from", &l.FirstHour)
	rollUpAll(t, c.Store, l, nil)
	return c.waits()
}

func (c *rollUpCase) restart(t testing.TB, _ *datadriven.TestData) string {
	closeStore(t, c.Store)
	c.Store = openMem(t, c.mem)
	return c.waits()
}

// waits says what a roll-up still has to do.
func (c *rollUpCase) waits() string {
	m := c.Mark()
	text := fmt.Sprintf("the mark is at hour %d", m.Hour)
	if len(m.Ahead) > 0 {
		text += fmt.Sprintf(", with the hours %d ahead", m.Ahead)
	}
	text += fmt.Sprintf("; there are rows of the hours %d", c.Hours(0))
	if at := c.Metrics().RollUpWaits; !at.IsZero() {
		text += fmt.Sprintf(", and the one that ended at %d h waits", at.Unix()/3600)
	}
	return text + "\n"
}

func (c *rollUpCase) rows(t testing.TB, _ *datadriven.TestData) string {
	var b strings.Builder
	for _, table := range []struct {
		of       byte
		what     string
		of4Bytes bool // its ids are those of owners
	}{
		{row.TableLinkHours, "hour", false},
		{row.TableOwnerHours, "hour", true},
		{row.TableLinkDays, "day", false},
		{row.TableOwnerDays, "day", true},
		{row.TableLinkLives, "life", false},
	} {
		all := rows(t, c.Store, table.of)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			subject := "link"
			if table.of4Bytes {
				subject = "owner"
			}
			fmt.Fprintf(&b, "%s of %s %s: %s\n", table.what, subject, placeOf(t, table.what, []byte(key)), storetest.TellTally(t, []byte(all[key])))
		}
	}
	return b.String()
}

// placeOf says of which link or owner, and of which hour or day, a row is.
func placeOf(t testing.TB, what string, key []byte) string {
	switch what {
	case "hour":
		return fmt.Sprintf("%d, %d", number64(key[5:]), row.HourOf(key))
	case "day":
		id, day, err := row.SplitDayKey(key)
		expect.OK(t, err)
		return fmt.Sprintf("%d, %d", id, day)
	}
	id, err := row.SplitLinkLifeKey(key)
	expect.OK(t, err)
	return fmt.Sprint(id)
}

// number64 reads a big-endian number of any size.
func number64(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

func (c *rollUpCase) figures(t testing.TB, d *datadriven.TestData) string {
	var b strings.Builder
	var link uint64
	d.ScanArgs(t, "link", &link)
	life, _, err := readLife(t, c.Store, link)
	expect.OK(t, err)
	fmt.Fprintf(&b, "life: %s\n", storetest.TellTally(t, row.AppendTally(nil, &life)))
	v := openView(t, c.Store)
	defer closeView(t, v)
	for line := range strings.Lines(d.Input) {
		var s engine.Span
		_, err := fmt.Sscanf(line, "hours %d to %d", &s.FromHour, &s.ToHour)
		expect.OK(t, err)
		sum := engine.Tally{}
		err = v.ReadSpans([]uint64{link}, []engine.Span{s}, row.AllParts, func(_, _ int, t *engine.Tally) error { sum = *t; return nil })
		expect.OK(t, err)
		fmt.Fprintf(&b, "hours %d to %d: %s\n", s.FromHour, s.ToHour, storetest.TellTally(t, row.AppendTally(nil, &sum)))
	}
	return b.String()
}

func (c *rollUpCase) loaded(t testing.TB, _ *datadriven.TestData) string {
	var b strings.Builder
	all := hitsOf(t, c.Store)
	for _, link := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "link %d: %d\n", link, all[link])
	}
	return b.String()
}
