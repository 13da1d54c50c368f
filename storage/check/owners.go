package check

const maxKnownOwners = 1 << 16

// WantOwner reports a fault in a row of a table if its owner does not exist.
func (c *Run) WantOwner(owner uint32, table string, key []byte) error {
	k := &c.owners
	k.mu.Lock()
	known := k.known[owner]
	k.mu.Unlock()
	if known {
		return nil
	}
	known, err := c.o.KnowsOwner(owner)
	if err != nil {
		return err
	}
	if !known {
		c.Fault(Where(table, key), "there is no user %d", owner)
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKnownOwners {
		k.known = map[uint32]bool{}
	}
	k.known[owner] = true
	return nil
}
