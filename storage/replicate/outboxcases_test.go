package replicate

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
	"shunt/storage/row"
	"shunt/storage/storetest"
)

// An outboxCase is the two nodes, a and b, of one file of testdata/outbox. Its commands name one of them:
//
//	flush    commits the hits of its lines: see storetest.ReadFlush
//	records  what is in the outbox after a position
//	pull     has a node apply what the other's outbox has
//	drop     drops the records through a position
//	restart  closes a node and opens it again
//
// All say what is left in the outbox of their node.
type outboxCase struct {
	disks map[string]*vfs.MemFS
	nodes map[string]*Store
	seq   uint64
}

func TestOutboxesAreWhatTheFilesSay(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/outbox", func(t *testing.T, path string) {
		disks := newCluster(t, newLog(), 2)
		c := outboxCase{disks: map[string]*vfs.MemFS{"a": disks[0], "b": disks[1]}, nodes: map[string]*Store{}}
		for name, disk := range c.disks {
			c.nodes[name] = openMem(t, disk)
		}
		defer func() {
			for _, s := range c.nodes {
				wantSound(t, s)
				closeStore(t, s)
			}
		}()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			d.ScanArgs(t, "node", &name)
			return c.run(t, d, name) + c.left(t, name)
		})
	})
}

func (c *outboxCase) run(t testing.TB, d *datadriven.TestData, name string) string {
	s := c.nodes[name]
	var position uint64
	d.MaybeScanArgs(t, "after", &position)
	d.MaybeScanArgs(t, "through", &position)
	switch d.Cmd {
	case "flush":
		c.seq++
		flush(t, s, c.seq, storetest.ReadFlush(t, d.Input))
	case "records":
		return tellRecords(t, s, position)
	case "pull":
		other := c.nodes[map[string]string{"a": "b", "b": "a"}[name]]
		text := fmt.Sprintf("pulled hits of links: %d\n", pull(t, s, other))
		if maps.Equal(rows(t, s, row.TableLinkHours), rows(t, other, row.TableLinkHours)) {
			text += "both have the same hours of links\n"
		}
		return text
	case "drop":
		more, err := s.DropOutbox(position)
		expect.That(t, err == nil && !more, "DropOutbox(%d): %v, %v", position, more, err)
	case "restart":
		closeStore(t, s)
		c.nodes[name] = openMem(t, c.disks[name])
	default:
		d.Fatalf(t, "the command is not known")
	}
	return ""
}

// left says what the outbox of a node has.
func (c *outboxCase) left(t testing.TB, name string) string {
	s := c.nodes[name]
	m := s.Rows.Metrics()
	all, err := s.Outbox(m.OutboxFirst-1, 1<<30)
	expect.OK(t, err)
	bytes := uint64(0)
	for _, r := range all.Records {
		bytes += uint64(len(r))
	}
	expect.That(t, bytes == m.OutboxBytes && m.OutboxOldest.IsZero() == (len(all.Records) == 0), "%d bytes, metrics %+v", bytes, m)
	waiting, err := s.WaitingHits(m.OutboxFirst - 1)
	expect.OK(t, err)
	return fmt.Sprintf("%s: records %d, positions from %d to before %d, hits %d\n", name, len(all.Records), m.OutboxFirst, m.OutboxNext, waiting)
}

func tellRecords(t testing.TB, s *Store, after uint64) string {
	p, err := s.Outbox(after, 1<<30)
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for i, record := range p.Records {
		o, h, err := row.ReadOutbox(record)
		expect.That(t, err == nil && h.Position == p.First+uint64(i) && h.MadeMs != 0, "record %d: got %+v, %v", i, h, err)
		fmt.Fprintf(&b, "record %d\n", h.Position)
		for o.Next() {
			r, subject := o.Row(), "link"
			if r.Table == row.TableOwnerHours {
				subject = "owner"
			}
			fmt.Fprintf(&b, "  hour of %s %d, %d: %s\n", subject, r.ID, r.Hour, storetest.TellTally(t, r.Tally))
		}
		expect.OK(t, o.Err())
	}
	return b.String()
}
