package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/internal/mmap"
	"shunt/engine/tally"
)

// Numbers of referrers, as the journal has them: the high bit is the half of the dictionary, the rest the place in it,
// from 1.
const (
	halfBit          = 1 << 15
	referrersAHalf   = halfBit - 2 // 1 … 0x7ffe: so that no number is OtherReferrer
	referrerPlaces   = 1 << 16     // slots of a half's index: at most half used
	referrerFormat   = 1
	halfHeaderBytes  = 64
	halfBytes        = 1 << 20 // of text: 32 bytes a referrer in the mean
	dictionaryBytes  = ringHeaderBytes + 2*halfBytes
	referrerOverhead = 1 + 4 // length, checksum

	// restOfHalf is how long a half that is full and replaced is left alone at least: a redirect that looked a number up
	// must have written it to the journal by then.
	restOfHalf = 10 * time.Second
)

// A dictionary file holds the names of the referrers whose numbers stand in the journal of one epoch, little-endian:
//
//	 0        8        16         32      40       44           4096          4096 + 1 MiB
//	┌────────┬────────┬──────────┬───────┬────────┬────────────┬─────────────┬─────────────┐
//	│"shuntrf│ format │ store id │ epoch │ CRC-32C│ zeros      │ half 0      │ half 1      │
//	│ + NUL  │ = 1    │          │       │ of 0…40│            │             │             │
//	└────────┴────────┴──────────┴───────┴────────┴────────────┴─────────────┴─────────────┘
//
// A half is a turn (8 bytes: how often it was emptied), zeros up to 64, and then the names in the order of their numbers:
//
//	┌──────────┬──────┬──────────────────────────────────────────┐
//	│ length 1 │ name │ CRC-32C 4 of turn 8, place 2, length, name │
//	└──────────┴──────┴──────────────────────────────────────────┘
//
// The first that does not prove itself ends a half. A name is written before its number is given out.
var dictionaryMagic = [8]byte{'s', 'h', 'u', 'n', 't', 'r', 'f', 0}

// referrers is the dictionary of referrer hosts. Number takes no lock and allocates nothing for a name that is known.
//
// It has two halves. New names go into the current one. When that is full the other is emptied and becomes the current
// one, as soon as no journal record that is not committed names it: so a number names one host as long as it stands
// anywhere outside the store. Until then new names are OtherReferrer.
type referrers struct {
	key     hashKey
	current atomic.Pointer[half]
	halves  [2]atomic.Pointer[half] // of names: by the high bit of a number
	retryAt atomic.Int64            // ns since start: before it a full dictionary does not look whether the other half is free
	start   time.Time
	refused atomic.Uint64 // names that got no number for want of room

	journal *journal
	rest    time.Duration
	now     func() time.Time

	mu   sync.Mutex // held by whoever adds or empties
	left []uint64   // heads of the journal when the half that is not current had rested; guarded by mu
	at   time.Time  // when the current half became that; guarded by mu

	file    *os.File
	mapping []byte
}

// half is one half in one turn. It is replaced, not emptied.
type half struct {
	bit   uint16 // 0 or halfBit
	turn  uint64
	text  []byte // of the mapping
	used  int    // of text; guarded by referrers.mu
	count int    // guarded by referrers.mu
	full  atomic.Bool
	index [referrerPlaces]atomic.Uint64   // high 48 bits of the hash, then the number; 0: free
	names [halfBit]atomic.Pointer[string] // by place
}

// Referrer returns the number of a referrer host, as Visit takes it. Host is in lower case, of at most MaxReferrerBytes;
// none is no referrer. It takes no lock and allocates nothing for a host that was seen before. When there are too many
// different ones, new ones share a number, and show as "other".
func (e *Engine) Referrer(host []byte) uint16 { return e.referrers.number(host) }

func (r *referrers) number(host []byte) uint16 {
	switch {
	case len(host) == 0:
		return tally.NoReferrer
	case len(host) > tally.MaxReferrerBytes:
		return tally.OtherReferrer
	}
	hash := r.key.sum(host)
	if n := r.current.Load().find(hash, host); n != 0 {
		return n
	}
	return r.numberSlow(hash, host)
}

func (h *half) find(hash uint64, host []byte) uint16 {
	for i := hash % referrerPlaces; ; i = (i + 1) % referrerPlaces {
		slot := h.index[i].Load()
		if slot == 0 {
			return 0
		}
		if slot>>16 == hash>>16 && *h.names[uint16(slot)&^halfBit].Load() == string(host) {
			return uint16(slot)
		}
	}
}

func (r *referrers) numberSlow(hash uint64, host []byte) uint16 {
	tooEarly := r.current.Load().full.Load() && int64(r.now().Sub(r.start)) < r.retryAt.Load()
	if tooEarly || r.journal.onStandby() { // a new name is stored into the file
		r.refused.Add(1)
		return tally.OtherReferrer
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.current.Load()
	if n := h.find(hash, host); n != 0 {
		return n
	}
	if !h.fits(host) {
		h.full.Store(true)
		if h = r.emptyLocked(h); h == nil {
			r.refused.Add(1)
			return tally.OtherReferrer
		}
	}
	return h.add(hash, host)
}

func (h *half) fits(host []byte) bool {
	return h.count < referrersAHalf && h.used+referrerOverhead+len(host) < len(h.text)
}

// add writes the name, then lets its number be found.
func (h *half) add(hash uint64, host []byte) uint16 {
	place := h.count + 1
	h.used += copy(h.text[h.used:], appendName(nil, h.turn, place, host))
	h.count = place
	name := string(host)
	h.names[place].Store(&name)
	i := hash % referrerPlaces
	for h.index[i].Load() != 0 {
		i = (i + 1) % referrerPlaces
	}
	number := h.bit | uint16(place)
	h.index[i].Store(hash>>16<<16 | uint64(number))
	return number
}

func appendName[S string | []byte](dst []byte, turn uint64, place int, host S) []byte {
	start := len(dst)
	dst = append(append(dst, byte(len(host))), host...)
	return binary.LittleEndian.AppendUint32(dst, nameChecksum(turn, place, dst[start:]))
}

func nameChecksum(turn uint64, place int, lengthAndName []byte) uint32 {
	var head [10]byte
	binary.LittleEndian.PutUint64(head[:], turn)
	binary.LittleEndian.PutUint16(head[8:], uint16(place))
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, lengthAndName)
}

// emptyLocked makes the half that is not full the current one and returns it, or nil as long as that may still be named.
func (r *referrers) emptyLocked(full *half) *half {
	now, other := r.now(), 1-int(full.bit>>15)
	switch {
	case now.Sub(r.at) < r.rest:
	case r.left == nil:
		r.left = r.journal.heads()
	case r.journal.committedTo(r.left):
		next := r.newHalf(other, r.halves[other].Load().turn+1)
		r.left, r.at = nil, now
		r.current.Store(next)
		return next
	}
	r.retryAt.Store(int64(now.Sub(r.start) + r.rest/100))
	return nil
}

// newHalf begins a turn of half number i. What it held before no longer proves itself, not even after a power cut: the
// turn is on disk before a name is.
func (r *referrers) newHalf(i int, turn uint64) *half {
	text := r.mapping[ringHeaderBytes+i*halfBytes:][:halfBytes]
	binary.LittleEndian.PutUint64(text, turn)
	mmap.Sync(text[:pageBytes])
	h := &half{bit: uint16(i) * halfBit, turn: turn, text: text, used: halfHeaderBytes}
	r.halves[i].Store(h)
	return h
}

// Name returns the host that has a number.
func (r *referrers) Name(number uint16) (name string, ok bool) {
	if number == tally.NoReferrer {
		return "", true
	}
	h := r.halves[number>>15].Load()
	if h == nil || number == tally.OtherReferrer {
		return "", false
	}
	if p := h.names[number&^halfBit].Load(); p != nil {
		return *p, true
	}
	return "", false
}

func referrersName(storeID [16]byte, epoch uint64) string {
	return fmt.Sprintf("%s%d-%s", ringPrefix(storeID), epoch, dictionarySuffix)
}

const dictionarySuffix = "referrers"

// newReferrers makes the dictionary file of an epoch.
func newReferrers(dir string, id Identity, epoch uint64, j *journal, now func() time.Time) (*referrers, error) {
	f, err := createJournalFile(filepath.Join(dir, referrersName(id.StoreID, epoch)))
	if err != nil {
		return nil, err
	}
	r := &referrers{key: newHashKey(), journal: j, rest: restOfHalf, now: now, start: now()}
	if err := r.init(f, id.StoreID, epoch); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// init writes the file full: a sparse page would be SIGBUS on a full disk.
func (r *referrers) init(f *os.File, storeID [16]byte, epoch uint64) error {
	b := make([]byte, dictionaryBytes)
	appendDictionaryHeader(b[:0], storeID, epoch)
	if err := writeJournal(f, b); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	mapping, err := mapJournal(f, dictionaryBytes)
	if err != nil {
		return err
	}
	r.file, r.mapping, r.at = f, mapping, r.now().Add(-r.rest)
	r.left = make([]uint64, len(r.journal.rings)) // the second half has never been named
	runtime.AddCleanup(r, mmap.Unmap, mapping)
	r.newHalf(1, 0)
	r.current.Store(r.newHalf(0, 0))
	return nil
}

func appendDictionaryHeader(dst []byte, storeID [16]byte, epoch uint64) []byte {
	dst = append(dst, dictionaryMagic[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, referrerFormat)
	dst = append(dst, storeID[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, epoch)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst, castagnoli))
}

const dictionaryHeaderBytes = 44

// close closes the file. Names of what is committed are in the store.
func (r *referrers) close() error { return closeJournalFile(r.file, r.mapping) }

// readReferrers reads the dictionary file of an earlier run: only name may be called then.
func readReferrers(dir string, id Identity, epoch uint64) (*referrers, error) {
	f, err := openOld(filepath.Join(dir, referrersName(id.StoreID, epoch)))
	if err != nil {
		return nil, err
	}
	b := make([]byte, dictionaryBytes)
	_, err = io.ReadFull(f, b)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return decodeReferrers(b, id, epoch)
}

var errForeignDictionary = errors.New("not the dictionary of this store and epoch")

func decodeReferrers(b []byte, id Identity, epoch uint64) (*referrers, error) {
	if len(b) != dictionaryBytes || string(b[:dictionaryHeaderBytes]) != string(appendDictionaryHeader(nil, id.StoreID, epoch)) {
		return nil, errForeignDictionary
	}
	r := new(referrers)
	for i := range r.halves {
		r.halves[i].Store(decodeHalf(b[ringHeaderBytes+i*halfBytes:][:halfBytes]))
	}
	return r, nil
}

func decodeHalf(text []byte) *half {
	h := &half{turn: binary.LittleEndian.Uint64(text)}
	rest := text[halfHeaderBytes:]
	for place := 1; place <= referrersAHalf && len(rest) > referrerOverhead; place++ {
		n := 1 + int(rest[0])
		if n == 1 || n > 1+tally.MaxReferrerBytes || len(rest) < n+4 || binary.LittleEndian.Uint32(rest[n:]) != nameChecksum(h.turn, place, rest[:n]) {
			break
		}
		name := string(rest[1:n])
		h.names[place].Store(&name)
		h.count = place
		rest = rest[n+4:]
	}
	return h
}
