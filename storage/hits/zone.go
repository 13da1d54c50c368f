package hits

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"shunt/engine/zone"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// Day rows are sums of the hours of a day, so they are of the days of one zone, and the store has its name. The first
// server that runs on the store writes it. A store that has rolled up hours without one has days of UTC.

// ErrOtherZone: the days of the store are of another zone, for good.
var ErrOtherZone = errors.New("its days are of another time zone")

// Zone implements engine.Store.
func (h *Hits) Zone() *zone.Zone { return h.zone }

// FixZone makes the days of the store those of a zone, nil: of the zone that it has, or at first of UTC. It is durable
// when FixZone returns, and must be called before the first flush. Errors: ErrOtherZone.
func (h *Hits) FixZone(z *zone.Zone) error {
	fixed, known, err := readZone(h.db)
	switch {
	case err != nil:
		return err
	case z == nil && known:
		return nil
	case z == nil:
		z = fixed
	case z.Name() != fixed.Name() && (known || h.flusher.mark.Hour > 0):
		return fmt.Errorf("storage: %w: %s", ErrOtherZone, fixed.Name())
	case known:
		return nil
	}
	b := h.db.NewBatch()
	defer b.Close()
	kv.Set(b, row.MetaKey(row.MetaZone), row.AppendZone(nil, z.Name()))
	if err := h.writer.Sync(b, "storage: noting the time zone"); err != nil {
		return err
	}
	h.zone = z
	return nil
}

// readZone returns the zone of the days, UTC if no server has run yet.
func readZone(r pebble.Reader) (z *zone.Zone, known bool, err error) {
	v, err := kv.Read(r, row.MetaKey(row.MetaZone))
	if err != nil || v == nil {
		return nil, false, err
	}
	z, err = decodeZone(v)
	return z, true, err
}

func decodeZone(v []byte) (*zone.Zone, error) {
	name, err := row.DecodeZone(v)
	if err != nil {
		return nil, err
	}
	z, err := zone.Load(name)
	if err != nil {
		return nil, fmt.Errorf("days of the time zone %q, which this machine does not know: %w", name, err)
	}
	return z, nil
}
