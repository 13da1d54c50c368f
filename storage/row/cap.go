package row

import (
	"encoding/binary"

	"shunt/engine"
)

const (
	capVersion = 1
	capOpen    = 1
)

// AppendCapKey appends the key of the cap of a link.
func AppendCapKey(dst []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableCaps), id)
}

// SplitCapKey returns the id of the link of a cap.
func SplitCapKey(key []byte) (id uint64, err error) { return splitID(key, TableCaps) }

// AppendCap appends the value of a cap: version 1, flags (1: it is open), generation and hits that are used as
// uvarints.
func AppendCap(dst []byte, c *engine.Cap) []byte {
	flags := byte(0)
	if c.Open {
		flags = capOpen
	}
	return binary.AppendUvarint(binary.AppendUvarint(append(dst, capVersion, flags), c.Generation), c.Used)
}

// ReadCap returns the cap of a link, and the id of that.
func ReadCap(key, v []byte) (id uint64, c engine.Cap, err error) {
	if id, err = SplitCapKey(key); err != nil {
		return 0, c, err
	}
	r := readValue("cap", v, capVersion)
	flags := r.byte()
	if c.Open = flags&capOpen != 0; flags&^capOpen != 0 {
		r.fail("unknown flags")
	}
	if c.Generation, c.Used = r.uvarint(), r.uvarint(); c.Generation == 0 || !c.Open && c.Used > 0 {
		r.fail("no generation, or hits of a cap that is not open")
	}
	if err := r.end(); err != nil {
		return 0, engine.Cap{}, err
	}
	return id, c, nil
}
