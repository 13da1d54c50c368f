package row

import (
	"encoding/binary"

	"shunt/engine"
)

const (
	capVersion    = 1
	capUseVersion = 1

	capBorn  = 1 << 0
	capOpen  = 1 << 1
	capSpent = 1 << 2
)

// AppendCapKey appends the key of the cap of a link.
func AppendCapKey(dst []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableCaps), id)
}

// SplitCapKey returns the id of the link of a cap.
func SplitCapKey(key []byte) (id uint64, err error) { return splitID(key, TableCaps) }

// AppendCap appends the value of a cap:
//
//	┌───────────┬─────────┬────────────┬───────┬──────┬───────────────┬─────────┐
//	│ version 1 │ flags 1 │ generation │ limit │ base │ length · code │ blocks… │
//	└───────────┴─────────┴────────────┴───────┴──────┴───────────────┴─────────┘
//
//	block: │ outbox id of the node 16 │ session │ serial │ granted │ used │
//
// flags: 1 it began with the link, 2 it is open, 4 it is used up.
func AppendCap(dst []byte, c *engine.Cap) []byte {
	flags := byte(0)
	for i, on := range []bool{c.Born, c.Open, c.Spent} {
		if on {
			flags |= 1 << i
		}
	}
	dst = append(dst, capVersion, flags)
	for _, n := range []uint64{c.Generation, c.Limit, c.Base} {
		dst = binary.AppendUvarint(dst, n)
	}
	dst = appendString(dst, c.Code)
	for i := range c.Blocks {
		b := &c.Blocks[i]
		dst = append(dst, b.Node[:]...)
		for _, n := range []uint64{b.Session, b.Serial, b.Granted, b.Used} {
			dst = binary.AppendUvarint(dst, n)
		}
	}
	return dst
}

// DecodeCap decodes a cap. It does not alias v.
func DecodeCap(v []byte) (c engine.Cap, err error) {
	r := readValue("cap", v, capVersion)
	flags := r.byte()
	if flags&^(capBorn|capOpen|capSpent) != 0 {
		r.fail("unknown flags")
	}
	c.Born, c.Open, c.Spent = flags&capBorn != 0, flags&capOpen != 0, flags&capSpent != 0
	c.Generation, c.Limit, c.Base = r.uvarint(), r.uvarint(), r.uvarint()
	c.Code = string(r.bytes(engine.MaxCodeBytes))
	for len(r.rest) > 0 && r.err == nil {
		if len(c.Blocks) == engine.MaxCapBlocks {
			r.fail("too many blocks")
			break
		}
		var b engine.CapBlock
		copy(b.Node[:], r.fixed(len(b.Node)))
		b.Session, b.Serial, b.Granted, b.Used = r.uvarint(), r.uvarint(), r.uvarint(), r.uvarint()
		if b.Used > b.Granted {
			r.fail("a block of which more is used than was granted")
		}
		c.Blocks = append(c.Blocks, b)
	}
	if c.Generation == 0 || c.Code == "" {
		r.fail("no generation, or no code")
	}
	if err := r.end(); err != nil {
		return engine.Cap{}, err
	}
	return c, nil
}

// AppendCapUseKey appends the key of what this node has used of the cap of a link.
func AppendCapUseKey(dst []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, TableCapUses), id)
}

// SplitCapUseKey returns the id of the link of a cap use.
func SplitCapUseKey(key []byte) (id uint64, err error) { return splitID(key, TableCapUses) }

// AppendCapUse appends the value of a cap use: version 1, generation, hits.
func AppendCapUse(dst []byte, u engine.CapUse) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(append(dst, capUseVersion), u.Generation), u.Hits)
}

// DecodeCapUse decodes a cap use.
func DecodeCapUse(v []byte) (u engine.CapUse, err error) {
	r := readValue("cap use", v, capUseVersion)
	u.Generation, u.Hits = r.uvarint(), r.uvarint()
	return u, r.end()
}
