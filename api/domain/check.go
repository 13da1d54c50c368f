package domain

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"shunt/api/table"
	"shunt/engine"
)

// Known reports whether there is or was a domain with that number: the figures of a removed domain stay.
func Known(rows table.Table, n engine.Domain) (bool, error) {
	if n == engine.DefaultDomain {
		return true, nil
	}
	last, err := rows.Get(lastKey)
	if err != nil {
		return false, fmt.Errorf("read the last domain's number: %w", err)
	}
	return len(last) == 2 && n <= engine.Domain(binary.BigEndian.Uint16(last)), nil
}

// Check reads every row and verifies it: its key, that its value is what this package writes, and that no host is there
// twice. It adds every fault to faults; an error means that it could not read the table.
func Check(rows table.Table, faults *engine.Faults) error {
	hosts, highest, last := make(map[string]engine.Domain), engine.DefaultDomain, engine.DefaultDomain
	err := rows.Scan(nil, func(key, value []byte) (bool, error) {
		fault := func(format string, args ...any) { faults.Add(fmt.Sprintf("domains, key %x", key), format, args...) }
		if bytes.Equal(key, lastKey) {
			if len(value) != 2 {
				fault("a number of %d bytes", len(value))
				return true, nil
			}
			last = engine.Domain(binary.BigEndian.Uint16(value))
			return true, nil
		}
		d, err := decodeDomain(key, value)
		if err != nil || !bytes.Equal(encodeDomain(&d), value) {
			fault("no row of a domain: %v", err)
			return true, nil
		}
		highest = max(highest, d.Number)
		for _, host := range d.Hosts() {
			if of, taken := hosts[host]; taken {
				fault("the host %s is that of domain %d, too", host, of)
			}
			hosts[host] = d.Number
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("check domains: %w", err)
	}
	if highest > last {
		faults.Add("domains", "domain %d is there, and the last number is %d", highest, last)
	}
	return nil
}
