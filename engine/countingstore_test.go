package engine_test

import (
	"context"
	"reflect"
	"sync/atomic"
	"testing"

	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/index"
)

// counting is a store that counts the calls that read it, and refuses purges of some codes.
type counting struct {
	engine.Store
	reads   atomic.Int64
	refused map[string]bool // codes whose purge fails
}

// uncounted are the methods of a Store that a counting does not count: they write, or read no more
// than memory.
var uncounted = map[string]bool{
	"AllocateIDs": true, "Apply": true, "ApplyAll": true, "Flush": true,
	"Clock": true, "OldestAudit": true, "RollUp": true, "SweepAudit": true, "SweepReceipts": true,
	"Identity": true, "Kept": true, "LowerKept": true, "ReadOnly": true, "Scanned": true, "Zone": true,
}

// read counts a read of the store, which it returns.
func (c *counting) read() engine.Store {
	c.reads.Add(1)
	return c.Store
}

func (c *counting) ReadHot(k engine.Key) (engine.Hot, error) { return c.read().ReadHot(k) }

func (c *counting) ReadRecord(k engine.Key) (engine.Record, error) {
	return c.read().ReadRecord(k)
}

func (c *counting) ReadReceipt(k engine.RequestKey) (engine.Receipt, error) {
	return c.read().ReadReceipt(k)
}

func (c *counting) LoadLinks(ctx context.Context, fn func([]index.HotView) error) error {
	return c.read().LoadLinks(ctx, fn)
}

func (c *counting) LoadReceipts(ctx context.Context, fn func(engine.RequestKey)) error {
	return c.read().LoadReceipts(ctx, fn)
}

func (c *counting) LoadCaps(ctx context.Context, fn func(id uint64, c engine.Cap)) error {
	return c.read().LoadCaps(ctx, fn)
}

func (c *counting) View() (engine.View, error) { return c.read().View() }

func (c *counting) Positions() (engine.Positions, error) { return c.read().Positions() }

func (c *counting) Listing(ctx context.Context) (engine.Listing, error) { return c.read().Listing(ctx) }

func (c *counting) Owners(r engine.OwnerRange, user uint32) ([]uint32, error) {
	return c.read().Owners(r, user)
}

func (c *counting) TalliedOwners(first, last, user uint32) ([]uint32, error) {
	return c.read().TalliedOwners(first, last, user)
}

func (c *counting) ListLinks(owner uint32, tag string, fn func(id uint64, k engine.KeyView) bool) error {
	return c.read().ListLinks(owner, tag, fn)
}

func (c *counting) ListFolder(folder uint32, fn func(id uint64, k engine.KeyView) bool) error {
	return c.read().ListFolder(folder, fn)
}

func (c *counting) ListAudit(from, before uint64, fn func(*engine.AuditEntry) bool) error {
	return c.read().ListAudit(from, before, fn)
}

func (c *counting) ReadImported(owner, fromHour uint32) (uint64, error) {
	return c.read().ReadImported(owner, fromHour)
}

func (c *counting) HasImports(fromHour uint32) (bool, error) { return c.read().HasImports(fromHour) }

func (c *counting) ReadImports(ids []uint64, fn func(hits uint64, atMs int64)) error {
	return c.read().ReadImports(ids, fn)
}

func (c *counting) Deletions(figures bool, fromHour uint32, fromID uint64, beforeHour uint32, limit int) ([]engine.Deletion, error) {
	return c.read().Deletions(figures, fromHour, fromID, beforeHour, limit)
}

func (c *counting) ReadTrashed(owner uint32, at engine.TrashPlace) (engine.Record, error) {
	return c.read().ReadTrashed(owner, at)
}

func (c *counting) Apply(m engine.Mutation, done func(error)) {
	if m.Purge != nil && c.refused[m.Purge.Code] {
		done(engine.ErrOverloaded)
		return
	}
	c.Store.Apply(m, done)
}

func TestEveryMethodOfAStoreIsCountedOrListedAsUncounted(t *testing.T) {
	for m := range reflect.TypeFor[engine.Store]().Methods() {
		c := new(counting)
		func() {
			defer func() { _ = recover() }() // c has no store to pass the call on to
			method := reflect.ValueOf(c).MethodByName(m.Name)
			args := make([]reflect.Value, method.Type().NumIn())
			for i := range args {
				args[i] = reflect.Zero(method.Type().In(i))
			}
			method.Call(args)
		}()
		counted := c.reads.Load() == 1
		expect.That(t, counted != uncounted[m.Name], "%s: counted %v, listed as uncounted %v", m.Name, counted, uncounted[m.Name])
	}
}
