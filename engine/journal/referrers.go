package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"shunt/engine/internal/hash"
	"shunt/engine/internal/mmap"
	"shunt/engine/tally"
)

// Numbers of referrers in the journal: the high bit is the half of the dictionary, the rest the
// place in it, from 1.
const (
	halfBit          = 1 << 15
	referrersAHalf   = halfBit - 2 // places 1 … 0x7ffe, so that ScanReferrer and OtherReferrer are never given out
	referrerPlaces   = 1 << 16     // slots of a half's index: at most half are used
	referrerFormat   = 1
	halfHeaderBytes  = 64
	halfBytes        = 1 << 20 // of text: 32 bytes a referrer on average
	dictionaryBytes  = ringHeaderBytes + 2*halfBytes
	referrerOverhead = 1 + 4 // length, checksum

	// restOfHalf is the least time between two changes of the current half: a redirect that looked up
	// a number in the replaced half must have written it to the journal by then.
	restOfHalf = 10 * time.Second
)

// A dictionary file has the names of the referrers whose numbers are in the journal of one epoch,
// little-endian:
//
//	 0        8        16         32      40       44           4096          4096 + 1 MiB
//	┌────────┬────────┬──────────┬───────┬────────┬────────────┬─────────────┬─────────────┐
//	│"shuntrf│ format │ store id │ epoch │ CRC-32C│ zeros      │ half 0      │ half 1      │
//	│ + NUL  │ = 1    │          │       │ of 0…40│            │             │             │
//	└────────┴────────┴──────────┴───────┴────────┴────────────┴─────────────┴─────────────┘
//
// A half is its generation (8 bytes: how often it was emptied), zeros up to 64, and then the names
// in the order of their numbers:
//
//	┌──────────┬──────┬────────────────────────────────────────────────┐
//	│ length 1 │ name │ CRC-32C 4 of generation 8, place 2, length, name │
//	└──────────┴──────┴────────────────────────────────────────────────┘
//
// The first name with a wrong checksum ends a half. A name is written before its number is given
// out.
var dictionaryMagic = [8]byte{'s', 'h', 'u', 'n', 't', 'r', 'f', 0}

// Referrers is the dictionary of referrer hosts. Number takes no lock and allocates nothing for a
// known name. Name of the zero value finds nothing.
//
// It has two halves. New names go into the current one. When that is full, the other is emptied and
// becomes the current one, as soon as no uncommitted record of the journal has one of its numbers.
// So a number means one host as long as it is anywhere outside the store. Until then new names are
// OtherReferrer.
type Referrers struct {
	key     hash.Key
	current atomic.Pointer[half]
	halves  [2]atomic.Pointer[half] // of names: by the high bit of a number
	retryAt atomic.Int64            // ns since start: until then a full dictionary does not check again whether the other half is free
	start   time.Time
	refused atomic.Uint64 // names without a number because there was no room

	journal *Journal
	rest    time.Duration
	now     func() time.Time

	mu   sync.Mutex // held while a name is added or a half emptied
	left []uint64   // heads of the journal once the half that is not current had rested; guarded by mu
	at   time.Time  // when the current half became current; guarded by mu

	file    *os.File
	mapping []byte
}

// half is one half in one generation. It is never emptied: a half of the next generation replaces
// it.
type half struct {
	bit        uint16 // 0 or halfBit
	generation uint64
	text       []byte // of the mapping
	used       int    // of text; guarded by referrers.mu
	count      int    // guarded by referrers.mu
	full       atomic.Bool
	index      [referrerPlaces]atomic.Uint64   // high 48 bits of the hash, then the number; 0: free
	names      [halfBit]atomic.Pointer[string] // by place
}

// Number returns the number of a referrer host, as Visit takes it. The host is in lower case, of at
// most MaxReferrerBytes; an empty one means that there is no referrer. Number takes no lock and
// allocates nothing for a host that was seen before. When the dictionary is full, new hosts share a
// number, and are shown as "other". Any number of goroutines may call it at once.
func (r *Referrers) Number(host []byte) uint16 {
	switch {
	case len(host) == 0:
		return tally.NoReferrer
	case len(host) > tally.MaxReferrerBytes:
		return tally.OtherReferrer
	}
	hash := r.key.Sum(host)
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

func (r *Referrers) numberSlow(hash uint64, host []byte) uint16 {
	if string(host) == tally.ScanName {
		return tally.ScanReferrer
	}
	tooEarly := r.current.Load().full.Load() && int64(r.now().Sub(r.start)) < r.retryAt.Load()
	if tooEarly || !r.journal.awaitRoom() { // a new name would be stored into the file
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

// add writes the name, then publishes its number in the index.
func (h *half) add(hash uint64, host []byte) uint16 {
	place := h.count + 1
	h.used += copy(h.text[h.used:], appendName(nil, h.generation, place, host))
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

func appendName[S string | []byte](dst []byte, generation uint64, place int, host S) []byte {
	start := len(dst)
	dst = append(append(dst, byte(len(host))), host...)
	return binary.LittleEndian.AppendUint32(dst, nameChecksum(generation, place, dst[start:]))
}

func nameChecksum(generation uint64, place int, lengthAndName []byte) uint32 {
	var prefix [10]byte
	binary.LittleEndian.PutUint64(prefix[:], generation)
	binary.LittleEndian.PutUint16(prefix[8:], uint16(place))
	return crc32.Update(crc32.Checksum(prefix[:], castagnoli), castagnoli, lengthAndName)
}

// emptyLocked empties the half that is not full, makes it the current one and returns it. It
// returns nil as long as a record may still have a number of that half.
func (r *Referrers) emptyLocked(full *half) *half {
	now, other := r.now(), 1-int(full.bit>>15)
	switch {
	case now.Sub(r.at) < r.rest:
	case r.left == nil:
		r.left = r.journal.Heads()
	case r.journal.CommittedTo(r.left):
		next := r.newHalf(other, r.halves[other].Load().generation+1)
		r.left, r.at = nil, now
		r.current.Store(next)
		return next
	}
	r.retryAt.Store(int64(now.Sub(r.start) + r.rest/100))
	return nil
}

// newHalf begins a generation of half number i. The names that it had before become invalid, even
// after a power cut, because the generation is on disk before a name is.
func (r *Referrers) newHalf(i int, generation uint64) *half {
	text := r.mapping[ringHeaderBytes+i*halfBytes:][:halfBytes]
	binary.LittleEndian.PutUint64(text, generation)
	mmap.Sync(text[:pageBytes])
	h := &half{bit: uint16(i) * halfBit, generation: generation, text: text, used: halfHeaderBytes}
	r.halves[i].Store(h)
	return h
}

// Refused returns how many names got no number because there was no room.
func (r *Referrers) Refused() uint64 { return r.refused.Load() }

// Name returns the host that has a number.
func (r *Referrers) Name(number uint16) (name string, ok bool) {
	switch number {
	case tally.NoReferrer:
		return "", true
	case tally.ScanReferrer:
		return tally.ScanName, true
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

// createReferrers makes the dictionary of j's epoch and its file.
func createReferrers(j *Journal, n Spec) (*Referrers, error) {
	f, err := createJournalFile(j.in.dictionary(n.Epoch))
	if err != nil {
		return nil, err
	}
	r := &Referrers{key: hash.NewKey(), journal: j, rest: restOfHalf, now: n.Now, start: n.Now()}
	if err := r.init(&n.Disk, f, j.in.storeID, n.Epoch); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// init fills the file, because a store into a sparse page is SIGBUS on a full disk.
func (r *Referrers) init(d *Disk, f *os.File, storeID [16]byte, epoch uint64) error {
	b := make([]byte, dictionaryBytes)
	appendDictionaryHeader(b[:0], storeID, epoch)
	if err := d.write(f, b); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	mapping, err := d.mapFile(f, dictionaryBytes)
	if err != nil {
		return err
	}
	r.file, r.mapping, r.at = f, mapping, r.now().Add(-r.rest)
	r.left = make([]uint64, len(r.journal.Rings)) // no record has a number of the second half yet
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

// close closes the file. The names in committed records are in the store.
func (r *Referrers) close() error {
	if r.file == nil { // of an earlier run
		return nil
	}
	return closeJournalFile(r.file, r.mapping)
}

// ReadReferrers reads the dictionary file of an earlier run. Only Name may be called on the result.
func (d *Folder) ReadReferrers(epoch uint64) (*Referrers, error) {
	return readReferrers(d.dictionary(epoch), d.storeID, epoch)
}

func readReferrers(path string, storeID [16]byte, epoch uint64) (*Referrers, error) {
	f, err := openOld(path)
	if err != nil {
		return nil, err
	}
	b := make([]byte, dictionaryBytes)
	_, err = io.ReadFull(f, b)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return decodeReferrers(b, storeID, epoch)
}

var errForeignDictionary = errors.New("not the dictionary of this store and epoch")

func decodeReferrers(b []byte, storeID [16]byte, epoch uint64) (*Referrers, error) {
	if len(b) != dictionaryBytes || string(b[:dictionaryHeaderBytes]) != string(appendDictionaryHeader(nil, storeID, epoch)) {
		return nil, errForeignDictionary
	}
	r := new(Referrers)
	for i := range r.halves {
		r.halves[i].Store(decodeHalf(b[ringHeaderBytes+i*halfBytes:][:halfBytes]))
	}
	return r, nil
}

func decodeHalf(text []byte) *half {
	h := &half{generation: binary.LittleEndian.Uint64(text)}
	rest := text[halfHeaderBytes:]
	for place := 1; place <= referrersAHalf && len(rest) > referrerOverhead; place++ {
		n := 1 + int(rest[0])
		if n == 1 || n > 1+tally.MaxReferrerBytes || len(rest) < n+4 || binary.LittleEndian.Uint32(rest[n:]) != nameChecksum(h.generation, place, rest[:n]) {
			break
		}
		name := string(rest[1:n])
		h.names[place].Store(&name)
		h.count = place
		rest = rest[n+4:]
	}
	return h
}
