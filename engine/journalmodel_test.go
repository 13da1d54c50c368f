package engine_test

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// TestTheJournalLosesOnlyDamagedHits runs random operations on a journal of real files against
// plain counters: after a crash, the store has exactly the hits that it had and those whose slots
// in the files were intact, whatever the number and size of the next rings. The oracle finds intact
// hits in the bytes of the files by their visitor, which is different for each hit. Time is faked,
// because a full ring waits.
func TestTheJournalLosesOnlyDamagedHits(t *testing.T) {
	fewerChecks(t, 10)
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(undated{t}, func(rt *rapid.T) {
			m := &journalModel{life: newLife(t, 5), pending: make([][]uint64, 5), durable: make([]uint64, 5)}
			m.reopen(rt)
			defer m.stop()
			rt.Repeat(map[string]func(*rapid.T){
				"":              m.check,
				"hit":           m.hits,
				"fold":          func(*rapid.T) { m.Fold() },
				"flush":         m.flushSome,
				"flush all":     m.flushAll,
				"fail a flush":  m.failFlush,
				"restart":       m.restart,
				"disk":          m.turnDisk,
				"crash":         m.kill,
				"crash, damage": m.killAndDamage,
			})
			m.end(rt)
		})
	})
}

// fewerChecks sets the number of checks to n unless the caller of go test has set another one: a
// check takes half a second, because it starts a dozen engines.
func fewerChecks(t *testing.T, n int) {
	f := flag.Lookup("rapid.checks")
	if before := f.Value.String(); before == f.DefValue {
		_ = f.Value.Set(strconv.Itoa(n))
		t.Cleanup(func() { _ = f.Value.Set(before) })
	}
}

// undated hides the deadline of a test, because nobody may ask for it in faked time.
type undated struct{ rapid.TB }

type journalModel struct {
	*life
	visitor  uint64     // of the last hit
	durable  []uint64   // by link
	pending  [][]uint64 // by link: visitors of acknowledged hits that are not durable, in order
	appended uint64     // hits in all
	rings    int
	records  int
	standby  bool            // hits go to the standby rings
	inMemory map[uint64]bool // visitors of the hits that went there in this run
	stalled  bool            // in this run a flush failed, or the wait of a full ring timed out: slots may have been freed early
}

const slotsAt, slotBytes, headAt = 4096, 32, 64 // of a journal file, as journal/ringfile.go has it

func (m *journalModel) reopen(rt *rapid.T) {
	m.rings = rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "rings")
	m.records = rapid.SampledFrom([]int{256, 512, 1024}).Draw(rt, "records")
	m.open(engine.Options{Rings: m.rings, RingRecords: m.records})
	m.stalled, m.standby, m.inMemory = false, false, map[uint64]bool{}
}

// turnDisk makes the journal's disk stall, or answer again.
func (m *journalModel) turnDisk(*rapid.T) {
	m.standby = !m.standby
	m.UseStandby(m.standby)
}

func (m *journalModel) hits(rt *rapid.T) {
	i := rapid.IntRange(0, 4).Draw(rt, "link")
	for range rapid.SampledFrom([]int{1, 5, 100, 700}).Draw(rt, "hits") {
		m.visitor++
		m.hit(i, 1, m.visitor<<20|0xabcde) // no other bytes of a file look like it
		m.pending[i] = append(m.pending[i], m.visitor<<20|0xabcde)
		m.inMemory[m.visitor<<20|0xabcde] = m.standby
		m.appended++
	}
}

// settle removes from pending the hits that became durable. The hits of one link become durable in
// order, because they share a ring.
func (m *journalModel) settle(rt *rapid.T) {
	for i := range m.pending {
		now := m.life.durable(i)
		if fresh := now - m.durable[i]; now < m.durable[i] || fresh > uint64(len(m.pending[i])) {
			rt.Fatalf("link %d: %d hits in the store, %d before, %d were to come", i, now, m.durable[i], len(m.pending[i]))
		} else {
			m.pending[i] = m.pending[i][fresh:]
		}
		m.durable[i] = now
	}
}

func (m *journalModel) flushSome(rt *rapid.T) {
	expect.OK(rt, m.Flush())
	m.settle(rt)
}

func (m *journalModel) flushAll(rt *rapid.T) {
	expect.OK(rt, m.flush())
	m.settle(rt)
	m.wantNothingPending(rt)
}

func (m *journalModel) wantNothingPending(rt *rapid.T) {
	for i, p := range m.pending {
		expect.MustThat(rt, len(p) == 0, "link %d: %d hits are not in the store", i, len(p))
	}
}

// failFlush leaves a flush in flight; after a second that is a stall, in which the fold frees
// slots.
func (m *journalModel) failFlush(rt *rapid.T) {
	boom := errors.New("boom")
	m.gate.failFlush.Store(&boom)
	m.Fold()
	waits := m.appended > 0 && slices.ContainsFunc(m.pending, func(p []uint64) bool { return len(p) > 0 })
	err := m.Flush()
	expect.MustThat(rt, !waits || errors.Is(err, boom), "a flush that fails: %v", err)
	m.gate.failFlush.Store(nil)
	m.stalled = true
	time.Sleep(2 * time.Second)
}

func (m *journalModel) restart(rt *rapid.T) {
	m.close()
	m.settle(rt)
	m.wantNothingPending(rt)
	m.reopen(rt)
}

func (m *journalModel) kill(rt *rapid.T) {
	m.die(rt)
	m.recover(rt)
}

// die loses the hits in memory that are not durable, and no others unless the store stalled.
func (m *journalModel) die(rt *rapid.T) {
	metrics, acknowledged := m.Metrics(), m.waiting()
	m.stalled = m.stalled || metrics.JournalWaits > 0
	for i, p := range m.pending {
		m.pending[i] = slices.DeleteFunc(p, func(v uint64) bool { return m.inMemory[v] })
	}
	lost := uint64(acknowledged - m.waiting())
	expect.MustThat(rt, metrics.JournalUnprotected == lost || m.stalled, "a kill was to lose %d hits, and there are %d in memory", metrics.JournalUnprotected, lost)
	m.crash()
}

func (m *journalModel) killAndDamage(rt *rapid.T) {
	m.die(rt)
	path := m.ringPath(rapid.IntRange(0, m.rings-1).Draw(rt, "ring"))
	b, err := os.ReadFile(path)
	expect.OK(rt, err)
	records := (len(b) - slotsAt) / slotBytes
	switch rapid.SampledFrom([]string{"slot", "slot", "header", "head", "truncate", "remove"}).Draw(rt, "damage") {
	case "slot":
		for range rapid.IntRange(1, 20).Draw(rt, "slots") {
			at := slotsAt + slotBytes*rapid.IntRange(0, records-1).Draw(rt, "slot")
			m.lose(binary.LittleEndian.Uint64(b[at+8:]))
			b[at+rapid.IntRange(0, slotBytes-1).Draw(rt, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
			copy(b[at+8:], "damaged.") // also for the oracle
		}
	case "header":
		b[rapid.IntRange(0, 55).Draw(rt, "byte")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
		m.loseSlots(b[slotsAt:])
	case "head":
		if m.waiting() <= records { // else the first range does not have all
			copy(b[headAt:], rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(rt, "head"))
		}
	case "truncate":
		size := rapid.IntRange(0, len(b)).Draw(rt, "size")
		if size < slotsAt {
			m.loseSlots(b[slotsAt:])
		} else {
			m.loseSlots(b[slotsAt+(size-slotsAt)/slotBytes*slotBytes:])
		}
		b = b[:size]
	case "remove":
		m.loseSlots(b[slotsAt:])
		b = nil
	}
	expect.OK(rt, writeOrRemove(path, b))
	m.recover(rt)
}

func writeOrRemove(path string, b []byte) error {
	if b == nil {
		return os.Remove(path)
	}
	return os.WriteFile(path, b, 0o600)
}

func (m *journalModel) waiting() (n int) {
	for _, p := range m.pending {
		n += len(p)
	}
	return n
}

// lose removes a hit from pending, if it is there.
func (m *journalModel) lose(visitor uint64) {
	for i, p := range m.pending {
		m.pending[i] = slices.DeleteFunc(p, func(v uint64) bool { return v == visitor })
	}
}

func (m *journalModel) loseSlots(b []byte) {
	for ; len(b) >= slotBytes; b = b[slotBytes:] {
		m.lose(binary.LittleEndian.Uint64(b[8:]))
	}
}

// recover opens the next engine on the files that the crash left, and compares.
func (m *journalModel) recover(rt *rapid.T) {
	acknowledged := m.waiting()
	m.loseOverwritten()
	expect.MustThat(rt, m.waiting() >= acknowledged || m.stalled, "%d hits were overwritten without a stall", acknowledged-m.waiting())
	m.reopen(rt)
	m.settle(rt)
	m.wantNothingPending(rt)
}

// loseOverwritten removes from pending the hits that no slot of the files has any more, in a stall.
func (m *journalModel) loseOverwritten() {
	kept := make(map[uint64]bool)
	for i := range m.rings {
		b, err := os.ReadFile(m.ringPath(i))
		if err != nil || len(b) < slotsAt {
			continue // it was damaged
		}
		for b = b[slotsAt:]; len(b) >= slotBytes; b = b[slotBytes:] {
			kept[binary.LittleEndian.Uint64(b[8:])] = true
		}
	}
	for i, p := range m.pending {
		m.pending[i] = slices.DeleteFunc(p, func(v uint64) bool { return !kept[v] })
	}
}

// check compares the live counters with the hits that were acknowledged and not lost.
func (m *journalModel) check(rt *rapid.T) {
	m.Fold()
	var sum uint64
	for i, p := range m.pending {
		want := m.durable[i] + uint64(len(p))
		s, err := m.Stats(context.Background(), keyOf(fmt.Sprintf("link%d", i)))
		if err != nil || s.Hits != want {
			rt.Fatalf("link %d shows %d hits (%v), want %d", i, s.Hits, err, want)
		}
		sum += s.Hits
	}
	if sum > m.appended {
		rt.Fatalf("%d hits of %d", sum, m.appended)
	}
}

func (m *journalModel) end(rt *rapid.T) {
	m.close()
	m.settle(rt)
	m.wantNothingPending(rt)
}
