package journal

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"shunt/engine/plural"
	"shunt/engine/tally"
)

// Report counts what Check found. None of it is a fault.
type Report struct {
	Files      int    `json:"files"`      // rings and dictionary of the store's epoch
	Waiting    uint64 `json:"waiting"`    // records that the next start adds to the store; while a server runs, its next flush
	Torn       uint64 `json:"torn"`       // slots that a crash left without a record
	Lost       uint64 `json:"lost"`       // records overwritten under a stall before they were in the store
	Unfinished int    `json:"unfinished"` // files whose creation was cut off, before there was a hit
	Unnamed    uint64 `json:"unnamed"`    // waiting records whose referrer has no name any more; it is shown as "other"
	Referrers  int    `json:"referrers"`  // names in the dictionary
	Old        int    `json:"old"`        // files of other epochs: their records are in the store, or belong to another history
}

// maxCutWriters is how many writers of one ring a crash may have stopped between the first and the
// last word of a record. That takes some nanoseconds, so there are never more such writers than
// processors, except those that the system had suspended.
const maxCutWriters = 64

// FaultSink takes the faults that Check finds, each in the file at path. Check calls it from the
// goroutine of its caller.
type FaultSink interface {
	AddFile(path, format string, args ...any)
}

// Check verifies the files that the store has in the folder, and changes nothing. p are the
// store's positions. With live, a process has the files mapped: their heads and slots change then,
// so only the constant parts are checked. An error means that the folder could not be read.
//
// A slot of [position, head) without its record is torn, not a fault, if a crash explains it. A
// writer reserves the slot, stores three words, and then the word with the checksum; after a power
// cut a page may have earlier content. So a torn slot
//
//   - has never been written: it is all zeros; or
//   - holds the record of an earlier lap of the ring; or
//   - was cut off in between: its last word is that of the earlier lap. On the first lap that is
//     zero; later it proves nothing, so at most maxCutWriters slots of a ring are accepted as cut
//     off.
//
// Any other slot that fails its checksum was once whole and has changed since: a fault. Heads prove
// nothing either way: a head below its position was not written back before the power cut.
func (d *Folder) Check(p Positions, live bool, faults FaultSink) (Report, error) {
	c := journalCheck{in: *d, p: p, live: live, faults: faults, paths: map[string]string{}}
	err := c.list()
	if err != nil || len(p.Rings) == 0 { // no start yet, or none since it was restored
		return c.report, err
	}
	c.untouched = !slices.ContainsFunc(p.Rings, func(position uint64) bool { return position > 0 })
	c.names = c.readNames()
	for i := range p.OnDisk() {
		c.checkRing(i)
	}
	return c.report, nil
}

type journalCheck struct {
	in        Folder
	paths     map[string]string // of the files of the store's epoch, by name
	p         Positions
	live      bool
	untouched bool       // no hit of the epoch is in the store
	names     *Referrers // nil: there is no dictionary
	faults    FaultSink
	report    Report
}

// list notes the files of the store's epoch, and counts those of other epochs.
func (c *journalCheck) list() error {
	entries, err := os.ReadDir(c.in.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the journal folder: %w", err)
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), ringPrefix(c.in.storeID))
		if !ours {
			continue
		}
		path := filepath.Join(c.in.path, e.Name())
		number, what, _ := strings.Cut(rest, "-")
		epoch, err := strconv.ParseUint(number, 10, 64)
		index, indexErr := strconv.ParseUint(what, 10, 8)
		switch {
		case err != nil || indexErr != nil && what != dictionarySuffix:
			c.faults.AddFile(path, "this is not the name of a journal file")
		case epoch != c.p.Epoch:
			c.noteOther(path, epoch)
		case indexErr == nil && index >= uint64(c.p.OnDisk()):
			c.faults.AddFile(path, "the store knows %d rings only", c.p.OnDisk())
		default:
			c.paths[e.Name()] = path
		}
	}
	return nil
}

// noteOther counts a file of another epoch. If its epoch is later than the store's, and of the same
// history, its hits will never be in the store.
func (c *journalCheck) noteOther(path string, epoch uint64) {
	c.report.Old++
	if sameHistory(epoch, c.p.Epoch) && epoch > c.p.Epoch {
		c.faults.AddFile(path, "it is of epoch %d, and the store has only come to %d: was an older copy of the store put here by hand?",
			epoch, c.p.Epoch)
	}
}

// readNames checks the dictionary of referrers.
func (c *journalCheck) readNames() *Referrers {
	path, present := c.paths[referrersName(c.in.storeID, c.p.Epoch)]
	if !present {
		c.absent(c.in.dictionary(c.p.Epoch))
		return nil
	}
	names, err := readReferrers(path, c.in.storeID, c.p.Epoch)
	switch {
	case err != nil && c.untouched && !c.live && short(path, dictionaryBytes):
		c.report.Unfinished++
		return nil
	case err != nil:
		c.faults.AddFile(path, "%v", err)
		return nil
	}
	c.report.Files++
	for i := range names.halves {
		c.report.Referrers += names.halves[i].Load().count
	}
	return names
}

// absent reports a missing file. It is not a fault in an epoch without hits: a start that is
// interrupted before it has made all files leaves one.
func (c *journalCheck) absent(path string) {
	switch {
	case c.live:
		c.faults.AddFile(path, "it is missing, although the server that runs writes to it")
	case !c.untouched:
		c.faults.AddFile(path, "it is missing; the hits since the last flush are in it")
	default:
		c.report.Unfinished++
	}
}

func short(path string, sizeBytes int64) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() < sizeBytes
}

// checkRing checks one file.
func (c *journalCheck) checkRing(index int) {
	path, present := c.paths[ringName(c.in.storeID, c.p.Epoch, index)]
	if !present {
		c.absent(c.in.ring(c.p.Epoch, index))
		return
	}
	f, err := os.Open(path)
	if err == nil {
		err = errors.Join(c.readRing(f, index), f.Close())
	}
	if err != nil {
		c.faults.AddFile(path, "%v", err)
	}
}

// readRing checks header, size and slots. Its error is a fault.
func (c *journalCheck) readRing(f *os.File, index int) error {
	header := make([]byte, ringHeaderBytes)
	n, err := io.ReadFull(f, header)
	if err != nil && c.untouched && !c.live && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		c.report.Unfinished++
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: header of %d bytes", errForeignRing, n)
	}
	want := ringHeader{storeID: c.in.storeID, epoch: c.p.Epoch, index: uint32(index), rings: uint32(len(c.p.Rings))}
	var h ringHeader
	if err := h.decode(header); err != nil {
		return err
	}
	if want.records = h.records; h != want {
		return fmt.Errorf("%w: ring %d of %d of epoch %d", errForeignRing, h.index, h.rings, h.epoch)
	}
	head := binary.LittleEndian.Uint64(header[ringHeadOffset:])
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size := h.fileBytes(); info.Size() < size {
		if c.untouched && !c.live && head == 0 {
			c.report.Unfinished++
			return nil
		}
		return fmt.Errorf("%w: truncated: %d bytes instead of %d", errForeignRing, info.Size(), size)
	}
	c.report.Files++
	if c.live {
		c.report.Waiting += max(head, c.p.Rings[index]) - c.p.Rings[index]
		return nil
	}
	s := slotCheck{epoch: h.epoch, size: uint64(h.records), position: c.p.Rings[index], head: head}
	return cmp.Or(s.read(f, c.names), c.add(&s))
}

// add adds the counts of a ring's slots to the report, and returns their fault, if any.
func (c *journalCheck) add(s *slotCheck) error {
	c.report.Waiting += s.waiting
	c.report.Torn += s.torn + s.cut
	c.report.Unnamed += s.unnamed
	c.report.Lost += max(s.head, s.position+s.size) - (s.position + s.size)
	switch {
	case s.damaged > 0:
		return fmt.Errorf("%s, the first with sequence number %d",
			plural.Of(s.damaged, "record was whole and is damaged", "records were whole and are damaged"), s.firstDamaged)
	case s.cut > maxCutWriters:
		return fmt.Errorf("%d slots fail their checksum, more than a crash leaves", s.cut)
	}
	return nil
}

// slotCheck reads the slots of a ring in the order of the file, so that a ring of any size takes
// little memory.
type slotCheck struct {
	epoch, size, position, head uint64

	waiting, torn, cut, damaged, unnamed uint64
	firstDamaged                         uint64
}

func (s *slotCheck) read(f io.Reader, names *Referrers) error {
	b := bufio.NewReaderSize(f, 1<<20)
	var raw [slotBytes]byte
	for slot := range s.size {
		if _, err := io.ReadFull(b, raw[:]); err != nil {
			return fmt.Errorf("reading slot %d: %w", slot, err)
		}
		var w Words
		for i := range w {
			w[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
		s.slot(slot, &w, names)
	}
	return nil
}

// slot checks one slot. Of the sequence numbers that map to it, the slot has the one in [position,
// position + size) or, if the store stalled, the one in [head − size, head).
func (s *slotCheck) slot(slot uint64, w *Words, names *Referrers) {
	seq := s.position + (slot-s.position)&(s.size-1)
	if s.head > s.position+s.size {
		seq = s.head - s.size + (slot-s.head)&(s.size-1)
	}
	earlier := func(seq uint64) bool { return proves(w, s.epoch, seq) }
	switch {
	case proves(w, s.epoch, seq):
		s.waiting++
		var rec Record
		rec.unpack(w)
		if names != nil && rec.Referrer != tally.OtherReferrer {
			if _, named := names.Name(rec.Referrer); !named {
				s.unnamed++
			}
		}
	case seq >= s.head:
	case *w == (Words{}), s.onEarlierLap(seq, earlier):
		s.torn++
	case w[recordWords-1] == 0 || seq >= s.size:
		s.cut++
	default:
		if s.damaged++; s.damaged == 1 || seq < s.firstDamaged {
			s.firstDamaged = seq
		}
	}
}

// maxEarlierLaps bounds how many laps back a record is searched for: a page that was not written
// back is seconds old.
const maxEarlierLaps = 16

func (s *slotCheck) onEarlierLap(seq uint64, holds func(seq uint64) bool) bool {
	for lap := 0; lap < maxEarlierLaps && seq >= s.size; lap++ {
		if seq -= s.size; holds(seq) {
			return true
		}
	}
	return false
}

// proves reports whether the words are the record with sequence number seq.
func proves(w *Words, epoch, seq uint64) bool {
	return uint32(w[recordWords-1]>>checksumShift) == checksum(w, epoch, seq)
}
