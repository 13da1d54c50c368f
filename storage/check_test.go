package storage

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine"
	"shunt/engine/daily"
	"shunt/engine/expect"
	"shunt/engine/extras"
	"shunt/storage/kv"
	"shunt/storage/row"
	"shunt/storage/row/rowtest"
	"shunt/storage/storetest"
)

// The tests of Check use a store that has links with and without tags, an edited link, a tombstone,
// a reused code, hours that are rolled up, half rolled up and open, days, lives, dense sketches and
// breakdowns.
const (
	checkedHour  = 480_000
	checkedOwner = 7
)

func fillForCheck(t testing.TB, s *Store) {
	t.Helper()
	stop := start(t, s)
	defer stop()
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	expect.OK(t, s.NoteBaseURL("https://sho.rt"))
	expect.OK(t, s.NoteBackup(checkedHour*3_600_000))
	for id := uint64(1); id <= 20; id++ {
		r := rowtest.Link(fmt.Sprintf("code%02d", id), id, checkedOwner, "spring")
		if id%2 == 0 {
			r.Cold.Tags = nil
		}
		r.Cold.ImportedHits = id % 3
		if id == 8 { // the last day is later than any hour that is rolled up
			r.Cold.ImportedHits, r.Cold.DailyOwner = 100, checkedOwner
			r.Cold.Daily = daily.Pack([]daily.Hits{{Day: checkedHour/24 - 2, Hits: 30}, {Day: checkedHour / 24, Hits: 20}, {Day: checkedHour/24 + 3, Hits: 10}})
		}
		apply(t, s, rowtest.Creation(r))
	}
	for id, code := range map[uint64]string{70: "folder1", 71: "folder2", 72: "folder3"} {
		apply(t, s, rowtest.Creation(inFolder(code, id)))
	}
	apply(t, s, rowtest.Deletion(inFolder("folder3", 72)))
	for id, code := range map[uint64]string{60: "reuse1", 61: "reuse2"} {
		apply(t, s, rowtest.Creation(toReuse(code, id)))
	}
	edited := rowtest.Link("code01", 1, checkedOwner, "autumn", "spring")
	edited.Cold.Version = 2
	apply(t, s, rowtest.Edit(rowtest.Link("code01", 1, checkedOwner, "spring"), edited))
	apply(t, s, rowtest.Deletion(rowtest.Link("code03", 3, checkedOwner, "spring")))
	apply(t, s, rowtest.Deletion(rowtest.Link("code05", 5, checkedOwner, "spring")))
	again := rowtest.Again(rowtest.Link("code05", 50, checkedOwner), rowtest.Link("code05", 5, checkedOwner, "spring"))
	again.Receipt = &engine.Receipt{CreatedAtMs: 1}
	apply(t, s, again)

	hour := uint32(checkedHour)
	for seq := range uint64(4) {
		f := rowtest.NewFlush()
		for id := uint64(1); id <= 10; id++ {
			f.Add(hour, id, checkedOwner, rowtest.HitFrom(rowtest.Visitor(seq*100+id), "a.example", 5, 2, 1))
			f.Add(hour, id, checkedOwner, &rowtest.Model{Bots: 1, Heads: 2})
		}
		f.AddTarget(hour, 1, 2, rowtest.HitFrom(rowtest.Visitor(seq*100+1), "a.example", 5, 2, 1))
		dense := &rowtest.Model{Hits: 3000, Visitors: map[uint64]bool{}}
		for i := range uint64(3000) {
			dense.Visitors[rowtest.Visitor(i)] = true
		}
		f.Add(hour, 20, checkedOwner, dense)
		p := engine.Positions{Epoch: 1, FlushSeq: seq + 1, OpenHour: hour, Rings: []uint64{10 * (seq + 1)}}
		expect.OK(t, s.Flush(f.Batch(p)))
		hour++
	}
	for more := true; more; {
		var err error
		more, err = s.RollUp(engine.RollUpLimits{OpenHour: checkedHour + 2})
		expect.OK(t, err)
	}
}

// toReuse returns a link that was made to be reused.
func toReuse(code string, id uint64) engine.Record {
	r := rowtest.Link(code, id, checkedOwner)
	r.Cold.Reuse = true
	return r
}

// inFolder returns a link in folder 5.
func inFolder(code string, id uint64) engine.Record {
	r := rowtest.Link(code, id, checkedOwner)
	r.Cold.Folder = 5
	return r
}

// trashKey returns the key of a link of Deletion in the trash.
func trashKey(id uint64) []byte {
	return row.AppendTrashKey(nil, checkedOwner, engine.TrashPlace{DeletedAtMs: 2000, ID: id})
}

func hotOf(code string, id uint64) *engine.Hot {
	r := rowtest.Link(code, id, checkedOwner)
	return &r.Hot
}

// locked returns a cold record with a password.
func locked(c engine.Cold) *engine.Cold {
	c.Password = "$argon2id$v=19$x"
	return &c
}

// hotWithTarget returns the hot record of the link of id 4 with a split, the greatest number of whose targets is last.
func hotWithTarget(last uint8) []byte {
	h := rowtest.Link("code04", 4, checkedOwner).Hot
	f := extras.Fields{Target: 1, Split: []extras.Share{{URL: "https://a.b/", Weight: 1, Target: 2}, {URL: "https://a.b/", Weight: 1, Target: last}}}
	h.Extras = string(f.Append(nil))
	return row.AppendHot(nil, &h)
}

// reuseKey returns the key of the row by which a create finds r.
func reuseKey(r engine.Record) []byte {
	return row.AppendReuseKey(nil, r.Hot.Owner, engine.HashTarget(r.Hot.Target), r.Hot.ID)
}

// checkAll returns the report of Check, its faults and their number.
func checkAll(t testing.TB, v *Inspection) (CheckReport, []engine.Fault, uint64) {
	t.Helper()
	faults := new(engine.Faults)
	report, err := v.Check(t.Context(), CheckOptions{
		Faults: faults, KnowsOwner: func(owner uint32) (bool, error) { return owner == checkedOwner, nil },
	})
	expect.OK(t, err)
	first, total := faults.Found()
	return report, first, total
}

func inspect(t testing.TB, dir string, fs vfs.FS) *Inspection {
	t.Helper()
	v, err := Inspect(dir, Options{Logger: quiet, FS: fs})
	expect.OK(t, err)
	return v
}

func closeInspection(t testing.TB, v *Inspection) {
	t.Helper()
	expect.Error(t, v.Close(), nil, "closing the inspection")
}

func TestAHealthyStoreOfEverythingHasNoFaults(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	fillForCheck(t, s)
	live := s.Inspect()
	report, faults, total := checkAll(t, live)
	expect.Equal(t, total, 0, "while the store is open faults: %+v", faults)
	want := CheckReport{
		Links: 23, Tombstones: 2, DeletedRecords: 3, ByOwner: 23, ByTag: 9, ByFolder: 2, Reuse: 2, Trash: 2, Leaving: 3, LinkHours: 48, OwnerHours: 4,
		LinkDays: 14, OwnerDays: 3, LinkLives: 18, Imports: 1, Summaries: 11, Receipts: 1, Meta: 10,
	}
	report.Files, report.FileBytes, report.Skipped = 0, 0, ""
	expect.Equal(t, report, want)
	closeInspection(t, live)
	if err := s.db.Flush(); err != nil { // so that there are table files, not only a log
		t.Fatal(err)
	}
	closeStore(t, s)

	before := contents(t, dir)
	v := inspect(t, dir, nil)
	report, faults, total = checkAll(t, v)
	closeInspection(t, v)
	if want.Files, want.FileBytes = report.Files, report.FileBytes; total != 0 || report != want || report.Files == 0 {
		t.Errorf("alone: got %+v and %d faults: %+v\nwant %+v", report, total, faults, want)
	}
	expect.That(t, maps.Equal(contents(t, dir), before), "the check has changed the folder")
}

func TestEachFaultOfARowIsFound(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	s := openMem(t, mem)
	fillForCheck(t, s)
	closeStore(t, s)
	owner2, code04 := uint32(8), rowtest.Link("code04", 4, checkedOwner)
	withCard := code04
	withCard.SetCard(engine.Card{Title: "a card"})
	plants := map[string]func(*pebble.Batch){
		"a hot record without a cold one":              delRow(row.AppendColdKey(nil, 4)),
		"a cold record of another code":                putRow(row.AppendColdKey(nil, 4), row.AppendCold(nil, &engine.Cold{Key: keyOf("code02")})),
		"a cold record of a code that is unknown":      putRow(row.AppendColdKey(nil, 60), row.AppendCold(nil, &engine.Cold{Key: keyOf("nobody")})),
		"a cold record with bytes after it":            putRow(row.AppendColdKey(nil, 4), append(row.AppendCold(nil, &code04.Cold), 0)),
		"a hot record of a card that is not there":     putRow(row.AppendHotKey(nil, keyOf("code04")), row.AppendHot(nil, &withCard.Hot)),
		"a card of which the hot record does not know": putRow(row.AppendColdKey(nil, 4), row.AppendCold(nil, &withCard.Cold)),
		"two live codes of one id":                     putRow(row.AppendHotKey(nil, keyOf("twice")), row.AppendHot(nil, &engine.Hot{ID: 4, Owner: 7, Target: "https://a.b/"})),
		"a hot record of unknown extras":               putRow(row.AppendHotKey(nil, keyOf("code04")), []byte{1, 0x80, 4, 7, 4, 99, 1, 0, 7, 'h'}),
		"a hot record of an id that was not given":     putRow(row.AppendHotKey(nil, keyOf("code04")), row.AppendHot(nil, &engine.Hot{ID: 4000, Owner: 7, Target: "https://a.b/"})),
		"a hot record of a target's id":                putRow(row.AppendHotKey(nil, keyOf("code04")), row.AppendHot(nil, &engine.Hot{ID: 1<<48 | 4, Owner: 7, Target: "https://a.b/"})),
		"a hot record without a target":                putRow(row.AppendHotKey(nil, keyOf("code04")), row.AppendHot(nil, &engine.Hot{ID: 4, Owner: 7})),
		"a hot record of an empty segment":             putRow(row.AppendHotKey(nil, keyOf("a//b")), row.AppendHot(nil, &engine.Hot{ID: 4, Owner: 7, Target: "https://a.b/"})),
		"a hot record under a key that is not a code":  putRow(row.AppendHotKey(nil, keyOf("a b")), row.AppendHot(nil, &engine.Hot{ID: 4, Owner: 7, Target: "https://a.b/"})),
		"a tombstone without owner":                    putRow(row.AppendHotKey(nil, keyOf("code03")), row.AppendHot(nil, &engine.Hot{ID: 3, Owner: owner2, Flags: engine.FlagTombstone})),
		"a missing row by owner":                       delRow(row.AppendByOwnerKey(nil, 7, 4)),
		"a missing row by tag":                         delRow(row.AppendByTagKey(nil, 7, "spring", 1)),
		"a superfluous row by owner":                   putRow(row.AppendByOwnerKey(nil, 7, 3), indexValue(keyOf("code03"), "")),
		"a row by owner of another owner":              putRow(row.AppendByOwnerKey(nil, owner2, 4), indexValue(keyOf("code04"), "")),
		"a superfluous row by tag":                     putRow(row.AppendByTagKey(nil, 7, "winter", 1), indexValue(keyOf("code01"), "")),
		"a row by tag with a wrong length":             putRow(append([]byte{row.TableByTag, 0, 0, 0, 7, 9, 'a'}, make([]byte, 8)...), indexValue(keyOf("code01"), "")),
		"a row by owner of another text":               putRow(row.AppendByOwnerKey(nil, 7, 1), indexValue(keyOf("code01"), "code01\x00old title")),
		"a row by tag with an old text":                putRow(row.AppendByTagKey(nil, 7, "autumn", 1), indexValue(keyOf("code01"), "code01\x00https://old.example")),
		"an index value that is cut off":               putRow(row.AppendByOwnerKey(nil, 7, 4), []byte{1, 6, 'c'}),
		"a redirect that asks for no password":         putRow(row.AppendColdKey(nil, 4), row.AppendCold(nil, locked(code04.Cold))),
		"a missing row to reuse":                       delRow(reuseKey(toReuse("reuse1", 60))),
		"a row to reuse a link that was not made so":   putRow(reuseKey(code04), nil),
		"a row to reuse a link that is not there":      putRow(row.AppendReuseKey(nil, 7, 1, 99), nil),
		"a row to reuse a link of another owner":       putRow(row.AppendReuseKey(nil, 8, engine.HashTarget("https://example.com/reuse1"), 60), nil),
		"a row to reuse a link of another target":      putRow(row.AppendReuseKey(nil, 7, 1, 60), nil),
		"a row to reuse a link, with a value":          putRow(reuseKey(toReuse("reuse1", 60)), []byte{1}),
		"a row to reuse a link with a wrong length":    putRow([]byte{row.TableReuse, 1}, nil),
		"a missing row by folder":                      delRow(row.AppendByFolderKey(nil, 5, 70)),
		"a row by folder of another text":              putRow(row.AppendByFolderKey(nil, 5, 70), indexValue(keyOf("folder1"), "old")),
		"a row of a link in no folder":                 putRow(row.AppendByFolderKey(nil, 5, 4), indexValue(keyOf("code04"), "")),
		"a row of a link in another folder":            putRow(row.AppendByFolderKey(nil, 6, 70), indexValue(keyOf("folder1"), "")),
		"a row of a deleted link in its folder":        putRow(row.AppendByFolderKey(nil, 5, 72), indexValue(keyOf("folder3"), "")),
		"a row by folder with a wrong length":          putRow([]byte{row.TableByFolder, 0, 0, 0, 5, 9, 1, 2, 3, 4, 5, 6, 7, 8}, indexValue(keyOf("folder1"), "")),
		"a tally without a link":                       putRow(row.AppendLinkLifeKey(nil, 77), rowOf(rowtest.Hit(1))),
		"a tally of an id that was not given":          putRow(row.AppendLinkDayKey(nil, 5000, checkedHour/24), rowOf(rowtest.Hit(1))),
		"a link without a summary":                     delRow(row.AppendSummaryKey(nil, 4)),
		"a summary of other visitors":                  putRow(row.AppendSummaryKey(nil, 4), row.AppendSummary(nil, row.Summary{Visitors: 9, LastHour: checkedHour})),
		"a summary that is cut off":                    putRow(row.AppendSummaryKey(nil, 4), []byte{1, 2}),
		"a summary without a life":                     putRow(row.AppendSummaryKey(nil, 77), row.AppendSummary(nil, row.Summary{})),
		"a summary under a key of a wrong length":      putRow([]byte{row.TableSummaries, 1}, row.AppendSummary(nil, row.Summary{})),
		"a summary that is due and has a value":        putRow(row.AppendSummaryDueKey(nil, checkedHour, 4), []byte{1}),
		"a target of a link that is not there":         putRow(row.AppendLinkLifeKey(nil, engine.TargetID(77, 3)), rowOf(rowtest.Hit(1))),
		"a target of an id that was not given":         putRow(row.AppendLinkHourKey(nil, checkedHour, engine.TargetID(5000, 3)), rowOf(rowtest.Hit(1))),
		"a tally of an id with bits of nothing":        putRow(row.AppendLinkLifeKey(nil, 1<<56|4), rowOf(rowtest.Hit(1))),
		"a target with more hits than its link":        putRow(row.AppendLinkLifeKey(nil, engine.TargetID(4, 3)), rowOf(&rowtest.Model{Hits: 5})),
		"an hour of a target alone":                    putRow(row.AppendLinkHourKey(nil, checkedHour+3, engine.TargetID(12, 3)), rowOf(rowtest.Hit(1))),
		"a day of a target alone":                      putRow(row.AppendLinkDayKey(nil, engine.TargetID(4, 3), checkedHour/24-1), rowOf(rowtest.Hit(1))),
		"a target of a number that was never given":    putRow(row.AppendLinkLifeKey(nil, engine.TargetID(4, 4)), rowOf(rowtest.Hit(1))),
		"an hour of a target of such a number":         putRow(row.AppendLinkHourKey(nil, checkedHour+3, engine.TargetID(2, 255)), rowOf(rowtest.Hit(1))),
		"a day of a target of such a number":           putRow(row.AppendLinkDayKey(nil, engine.TargetID(1, 4), checkedHour/24), rowOf(rowtest.Hit(1))),
		"a link with a target of such a number":        putRow(row.AppendHotKey(nil, keyOf("code04")), hotWithTarget(4)),
		"bots of a target":                             putRow(row.AppendLinkLifeKey(nil, engine.TargetID(4, 3)), rowOf(&rowtest.Model{Hits: 1, Bots: 1})),
		"a target's life with fewer hits than its day": delRow(row.AppendLinkLifeKey(nil, engine.TargetID(1, 2))),
		"a tally without a user":                       putRow(row.AppendOwnerDayKey(nil, owner2, checkedHour/24), rowOf(rowtest.Hit(1))),
		"a tally that is cut off":                      putRow(row.AppendLinkLifeKey(nil, 4), rowOf(rowtest.Hit(1))[:5]),
		"a merge operand that is cut off":              func(b *pebble.Batch) { kv.Merge(b, row.AppendLinkLifeKey(nil, 2), rowOf(rowtest.Hit(1))[:5]) },
		"more visitors than hits":                      putRow(row.AppendLinkLifeKey(nil, 4), row.AppendTally(nil, moreVisitors(2, 3))),
		"more visitors than hits in registers":         putRow(row.AppendLinkLifeKey(nil, 20), row.AppendTally(nil, moreVisitors(1000, 3000))),
		"a life with fewer hits than its days":         putRow(row.AppendLinkLifeKey(nil, 4), rowOf(rowtest.Hit(1))),
		"a link without a life":                        delRow(row.AppendLinkLifeKey(nil, 4)),
		"an hour missing in its day":                   putRow(row.AppendLinkDayKey(nil, 4, checkedHour/24), rowOf(rowtest.Hit(1))[:0:0]),
		"an hour that is rolled up without a day":      delRow(row.AppendLinkDayKey(nil, 4, checkedHour/24)),
		"an owner's hour without a day":                delRow(row.AppendOwnerDayKey(nil, 7, checkedHour/24)),
		"links and owners that differ in an hour":      putRow(row.AppendLinkHourKey(nil, checkedHour+3, 12), rowOf(rowtest.Hit(1))),
		"a day of links only":                          putRow(row.AppendLinkDayKey(nil, 4, checkedHour/24-1), rowOf(rowtest.Hit(1))),
		"a tombstone that no purge will find":          delRow(row.AppendLeavingKey(nil, 0, 3)),
		"a deletion without its figures in the trash":  putRow(row.AppendByDeletionKey(nil, 0, 3), row.AppendDeletion(nil, keyOf("code03"), 1)),
		"a live link among those that leave the trash": putRow(row.AppendLeavingKey(nil, 7, 4), row.AppendDeletion(nil, keyOf("code04"), 0)),
		"a live link in the trash":                     putRow(trashKey(4), row.AppendTrashed(nil, &code04.Hot)),
		"a link in the trash whose code is another's":  putRow(trashKey(5), row.AppendTrashed(nil, hotOf("code05", 5))),
		"a link in the trash of another owner":         putRow(row.AppendTrashKey(nil, 8, engine.TrashPlace{DeletedAtMs: 2000, ID: 3}), row.AppendTrashed(nil, hotOf("code03", 3))),
		"a link in the trash of another time":          putRow(row.AppendTrashKey(nil, 7, engine.TrashPlace{DeletedAtMs: 2001, ID: 3}), row.AppendTrashed(nil, hotOf("code03", 3))),
		"a link in the trash without its cold record":  delRow(row.AppendColdKey(nil, 3)),
		"a link in the trash with another's record":    putRow(row.AppendColdKey(nil, 3), row.AppendCold(nil, &code04.Cold)),
		"a link in the trash with another password":    putRow(row.AppendColdKey(nil, 3), row.AppendCold(nil, locked(rowtest.Link("code03", 3, checkedOwner).Cold))),
		"a link in the trash that is a tombstone":      putRow(trashKey(3), row.AppendTrashed(nil, &engine.Hot{Key: keyOf("code03"), ID: 3, Owner: 7, Flags: engine.FlagTombstone})),
		"a link in the trash that is cut off":          putRow(trashKey(3), row.AppendTrashed(nil, hotOf("code03", 3))[:9]),
		"a link in the trash under a key too short":    putRow([]byte{row.TableTrash, 1}, nil),
		"a live link among the deleted ones":           putRow(row.AppendByDeletionKey(nil, 7, 4), row.AppendDeletion(nil, keyOf("code04"), 0)),
		"a deletion of a code that is unknown":         putRow(row.AppendByDeletionKey(nil, 7, 9), row.AppendDeletion(nil, keyOf("nobody"), 0)),
		"a deletion without a code":                    putRow(row.AppendByDeletionKey(nil, 0, 3), row.AppendDeletion(nil, keyOf(""), 0)),
		"imports that are cut off":                     putRow(row.AppendImportKey(nil, 7, 3), []byte{1, 2}),
		"imports under a key of a wrong length":        putRow([]byte{row.TableImports, 1}, rowOf(rowtest.Hit(1))),
		"a receipt that is cut off":                    putRow(row.AppendReceiptKey(nil, &engine.RequestKey{}), []byte{1, 2}),
		"a receipt under a key of a wrong length":      putRow([]byte{row.TableReceipts, 1}, []byte{1, 2}),
		"lost writes in the middle":                    putRow(row.MetaKey(row.MetaSequence), row.AppendSequence(nil, row.Sequence{Count: 5, Last: 6})),
		"lost writes at the end":                       putRow(row.MetaKey(row.MetaSequence), row.AppendSequence(nil, row.Sequence{Count: 5, Last: 5})),
		"an imported day that is missing":              delRow(row.AppendLinkDayKey(nil, 8, checkedHour/24)),
		"an imported day with fewer hits":              putRow(row.AppendLinkDayKey(nil, 8, checkedHour/24+3), row.AppendTally(nil, &engine.Tally{Hits: 9})),
		"imported days of links only":                  delRow(row.AppendOwnerDayKey(nil, 7, checkedHour/24-2)),
		"a cold record with more hits by day than all": putRow(row.AppendColdKey(nil, 8), []byte{1, 6, 'c', 'o', 'd', 'e', '0', '8', 1, 0, 0, 1, 1, 5, 11, 3, 7, 1, 6}),
		"a day of the future":                          putRow(row.AppendLinkDayKey(nil, 4, checkedHour/24+1), rowOf(rowtest.Hit(1))),
		"an hour that should be deleted":               putRow(row.MetaKey(row.MetaFirstHour), binary.BigEndian.AppendUint32(nil, checkedHour+1)),
		"a mark with hours ahead that do not ascend":   putRow(row.MetaKey(row.MetaMark), []byte{1, 5, 0, 0, 2, 1, 0}),
		"a clock that is cut off":                      putRow(row.MetaKey(row.MetaClock), []byte{1, 2}),
		"a key of hours with a wrong length":           putRow([]byte{row.TableLinkHours, 1, 2}, nil),
		"no store id":                                  delRow(row.MetaKey(row.MetaStoreID)),
		"a visitor key of 15 bytes":                    putRow(row.MetaKey(row.MetaVisitorKey), make([]byte, 15)),
		"positions that are cut off":                   putRow(row.MetaKey(row.MetaPositions), []byte{1, 1}),
		"a last backup of no time":                     putRow(row.MetaKey(row.MetaLastBackup), make([]byte, 8)),
		"a last backup of 7 bytes":                     putRow(row.MetaKey(row.MetaLastBackup), make([]byte, 7)),
		"a base URL that is empty":                     putRow(row.MetaKey(row.MetaBaseURL), []byte{1}),
		"a meta row of an unknown name":                putRow(row.MetaKey('?'), nil),
		"an id bound of 0":                             putRow(row.MetaKey(row.MetaIDBound), make([]byte, 8)),
		"a layout that differs from the format file":   putRow(row.MetaKey(row.MetaLayout), []byte{0, 0, 0, 9}),
		"a newer layout":                               putRow(row.MetaKey(row.MetaLayout), []byte{0, 0, 0, 9}),
		"a row of an unknown table":                    putRow([]byte{0x66, 1}, nil),
		"a row before all tables":                      putRow([]byte{0x01}, nil),
		"a row after all tables":                       putRow([]byte{0xfe}, nil),
	}
	storetest.FindsFaults(t, "testdata/faults.txt", plants, func(t testing.TB, fault func(*pebble.Batch)) []engine.Fault {
		damaged := cloneStore(t, mem)
		plant(t, damaged, fault)
		v := inspect(t, "/data/store", damaged)
		defer closeInspection(t, v)
		_, faults, _ := checkAll(t, v)
		return faults
	})
}

// A purge takes the days of an imported link and leaves those of its owner, also later ones than any that is rolled up.
func TestAPurgedImportWithDaysLeavesNoFault(t *testing.T) {
	s := openTemp(t)
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	r := imported()
	apply(t, s, rowtest.Creation(r))
	apply(t, s, rowtest.Deletion(r))
	purgeAll(t, s)
	expect.Equal(t, len(rows(t, s, row.TableLinkDays)), 0, "days of links")
	expect.Equal(t, len(rows(t, s, row.TableOwnerDays)), 2, "days of owners")
	v := s.Inspect()
	defer closeInspection(t, v)
	_, faults, total := checkAll(t, v)
	expect.That(t, total == 0, "faults: %v", faults)
}

func TestALostLastDayOfTheLastImportIsFound(t *testing.T) {
	mem := vfs.NewMem()
	s := openMem(t, mem)
	stop := start(t, s)
	_, err := s.AllocateIDs(100)
	expect.OK(t, err)
	apply(t, s, rowtest.Creation(imported()))
	stop()
	closeStore(t, s)
	plant(t, mem, delRow(row.AppendLinkDayKey(nil, 8, checkedHour/24)))
	v := inspect(t, "/data/store", mem)
	defer closeInspection(t, v)
	_, faults, total := checkAll(t, v)
	expect.That(t, total == 1 && strings.Contains(tell(faults), "link 8 brought along 20 hits of that day, and it has none"), "faults: %s", tell(faults))
}

// imported returns a link with hits of two days.
func imported() engine.Record {
	r := rowtest.Link("code08", 8, checkedOwner)
	r.Cold.ImportedHits, r.Cold.DailyOwner = 50, checkedOwner
	r.Cold.Daily = daily.Pack([]daily.Hits{{Day: checkedHour/24 - 2, Hits: 30}, {Day: checkedHour / 24, Hits: 20}})
	return r
}

func putRow(key, value []byte) func(*pebble.Batch) {
	return func(b *pebble.Batch) { kv.Set(b, key, value) }
}

func delRow(key []byte) func(*pebble.Batch) { return func(b *pebble.Batch) { kv.Remove(b, key) } }

func moreVisitors(hits, visitors uint64) *engine.Tally {
	t := &engine.Tally{Hits: hits}
	for i := range visitors {
		t.Visitors.Add(rowtest.Visitor(i))
	}
	return t
}

// plant writes rows that a store would not write.
func plant(t testing.TB, fs vfs.FS, write func(*pebble.Batch)) {
	t.Helper()
	db, err := pebble.Open("/data/store/db", pebbleOptions(fs, &Options{Logger: quiet}, nil, false))
	expect.OK(t, err)
	b := db.NewBatch()
	write(b)
	expect.OK(t, db.Apply(b, pebble.Sync))
	expect.OK(t, db.Close())
}

func TestAFlippedBitAnywhereInATableFileIsFound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, Options{})
	fillForCheck(t, s)
	expect.OK(t, s.db.Flush())
	closeStore(t, s)
	files, err := filepath.Glob(filepath.Join(dir, "db", "*.sst"))
	expect.MustThat(t, err == nil && len(files) != 0, "got files %q, %v", files, err)
	for _, file := range files {
		whole, err := os.ReadFile(file)
		expect.OK(t, err)
		for i := 0; i < 16; i += stride {
			flipped := bytes.Clone(whole)
			flipped[i*(len(whole)-1)/15] ^= 1 << (i % 8)
			expect.OK(t, os.WriteFile(file, flipped, 0o600))
			v := inspect(t, dir, nil)
			_, faults, total := checkAll(t, v)
			closeInspection(t, v)
			if total == 0 || !strings.Contains(tell(faults), filepath.Base(file)) {
				t.Errorf("bit %d of %d bytes: got %d faults\n%s", i, len(whole), total, tell(faults))
			}
		}
		expect.OK(t, os.WriteFile(file, whole, 0o600))
	}
}

func TestManyFaultsAreCountedAndTheFirstAreListed(t *testing.T) {
	mem := vfs.NewMem()
	closeStore(t, openMem(t, mem))
	plant(t, mem, func(b *pebble.Batch) {
		for i := range 100 {
			kv.Set(b, []byte{0x66, byte(i)}, nil)
		}
	})
	v := inspect(t, "/data/store", mem)
	defer closeInspection(t, v)
	_, faults, total := checkAll(t, v)
	expect.That(t, len(faults) == engine.MaxFaults && total == 100, "got %d of %d faults", len(faults), total)
}

func TestACheckEndsWithItsContext(t *testing.T) {
	s := openTemp(t)
	v := s.Inspect()
	defer closeInspection(t, v)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.That(t, expect.Err(v.Check(ctx, CheckOptions{Faults: new(engine.Faults)})) != nil, "got no error")
}
