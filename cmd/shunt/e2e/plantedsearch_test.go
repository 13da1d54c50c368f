package e2e

import (
	"bytes"
	"context"
	endian "encoding/binary" // binary is the program under test
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"shunt/engine/expect"
)

// This file searches for planted values.

// needles are byte strings that are searched for in a haystack, all in one pass.
//
// A needle of 8 bytes or more is never found by chance: for 10⁴ needles in 10⁸ bytes the
// probability is 10⁻⁷. The 4 bytes of an IPv4 address are sometimes found by chance, so they are
// counted separately (see short).
type needles struct {
	long  map[uint64][]needle // by their first 8 bytes, little-endian
	short map[uint32]string   // 4 bytes, and the client that they belong to

	longFilter, shortFilter bloom
	found                   map[string][]string // the value, and the haystacks with it
	foundShort              map[string]bool
	searched                uint64 // bytes
}

// A needle is one spelling of a value.
type needle struct {
	what  string
	bytes []byte
}

// bloom is a Bloom filter with one hash: a byte string that is not in it is not a needle.
type bloom [1 << 14]uint64

func (b *bloom) place(x uint64) (word, bit uint64) {
	x = x * 0x9e3779b97f4a7c15 >> 44
	return x >> 6, 1 << (x & 63)
}

func (b *bloom) add(x uint64) {
	word, bit := b.place(x)
	b[word] |= bit
}

func (b *bloom) has(x uint64) bool {
	word, bit := b.place(x)
	return b[word]&bit != 0
}

func newNeedles() *needles {
	return &needles{
		long: map[uint64][]needle{}, short: map[uint32]string{}, found: map[string][]string{}, foundShort: map[string]bool{},
	}
}

// add adds one spelling, of 8 bytes or more.
func (n *needles) add(what string, spelling []byte) {
	head := endian.LittleEndian.Uint64(spelling)
	for _, known := range n.long[head] {
		if bytes.Equal(known.bytes, spelling) {
			return
		}
	}
	n.long[head] = append(n.long[head], needle{what, spelling})
	n.longFilter.add(head)
}

// addText adds a text as it is, in both cases, and in hexadecimal.
func (n *needles) addText(what, text string) {
	for _, spelling := range []string{text, strings.ToLower(text), strings.ToUpper(text)} {
		n.add(what, []byte(spelling))
		n.add(what, []byte(hex.EncodeToString([]byte(spelling))))
	}
}

// addAddress adds all spellings of an address. Of an IPv6 address it adds each half, so that its
// /64 is found, too. Each group must have four digits, so that the case is the only difference
// between its texts.
func (n *needles) addAddress(what string, a netip.Addr) {
	if a.Is4() {
		n.addIPv4(what, a)
		return
	}
	b, text := a.As16(), a.String()
	for _, half := range [][]byte{b[:8], b[8:]} {
		n.addBinary(what, half)
	}
	middle := len(text) / 2 // a colon
	for _, half := range []string{text[:middle], text[middle+1:]} {
		n.addText(what, half)
	}
}

// addIPv4 adds the text, the hexadecimal forms, the IPv6-mapped forms, and the 4 bytes in both
// orders.
func (n *needles) addIPv4(what string, a netip.Addr) {
	b := a.As4()
	n.addText(what, a.String())
	digits := hex.EncodeToString(b[:])
	for _, text := range []string{digits, digits[:4] + ":" + digits[4:]} {
		n.add(what, []byte(text))
		n.add(what, []byte(strings.ToUpper(text)))
	}
	mapped := a.As16()
	n.addBinary(what, mapped[8:])
	for range 2 {
		n.short[endian.LittleEndian.Uint32(b[:])] = what
		n.shortFilter.add(uint64(endian.LittleEndian.Uint32(b[:])))
		slices.Reverse(b[:])
	}
}

// addBinary adds bytes in both orders, and in hexadecimal.
func (n *needles) addBinary(what string, b []byte) {
	backwards := slices.Clone(b)
	slices.Reverse(backwards)
	for _, order := range [][]byte{slices.Clone(b), backwards} {
		n.add(what, order)
		n.add(what, []byte(hex.EncodeToString(order)))
		n.add(what, []byte(strings.ToUpper(hex.EncodeToString(order))))
	}
}

var emptyPage [4096]byte

// search searches a haystack. It skips zeros, because they are most of a journal.
func (n *needles) search(place string, haystack []byte) {
	n.searched += uint64(len(haystack))
	padded := append(slices.Clone(haystack), make([]byte, 8)...)
	window := endian.LittleEndian.Uint64(padded) << 8
	for i := 0; i < len(haystack); i++ {
		window = window>>8 | uint64(padded[i+7])<<56
		if window == 0 {
			if bytes.HasPrefix(padded[i:], emptyPage[:]) {
				i += len(emptyPage) - 8
			}
			continue
		}
		if n.longFilter.has(window) {
			for _, x := range n.long[window] {
				if bytes.HasPrefix(padded[i:], x.bytes) && !slices.Contains(n.found[x.what], place) {
					n.found[x.what] = append(n.found[x.what], place)
				}
			}
		}
		if n.shortFilter.has(uint64(uint32(window))) {
			if what, known := n.short[uint32(window)]; known {
				n.foundShort[what] = true
			}
		}
	}
}

// searchFolder searches every file of a folder, and every record of a Pebble store in it, because
// tables are compressed, and a log splits records at the ends of its blocks.
func (n *needles) searchFolder(t *testing.T, place, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(path, dir+"/")
		name := place + "/" + below
		n.search(name, content)
		n.search(name+", name", []byte(below))
		switch filepath.Ext(path) {
		case ".sst":
			return n.searchTable(name+", rows", path)
		case ".log":
			return searchLog(record.NewReader, n, name+", records", path, content)
		}
		return nil
	})
	expect.OK(t, err)
}

// plantedMerger is the name that storage gives its merger. The merger is never called.
const plantedMerger = "shunt.tally.v1"

// searchTable searches every row of a table, also those that newer rows hide and those that wait to
// be merged.
func (n *needles) searchTable(place, path string) (err error) {
	file, err := vfs.Default.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return err
	}
	r, err := sstable.NewReader(context.Background(), readable, sstable.ReaderOptions{Merger: &pebble.Merger{Name: plantedMerger}})
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	rows, err := r.NewPointIter(context.Background(), sstable.IterOptions{
		ReaderProvider: sstable.MakeTrivialReaderProvider(r), BlobContext: sstable.AssertNoBlobHandles,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for row := rows.First(); row != nil; row = rows.Next() {
		value, _, err := row.Value(nil)
		if err != nil {
			return err
		}
		n.search(place, append(append(slices.Clone(row.K.UserKey), 0), value...))
	}
	return rows.Error()
}

// searchLog searches every record of a write-ahead log. The type N of its number is one that only
// Pebble can name. It ends, as replay does, at the first bytes that are not a record.
func searchLog[N ~uint64](open func(io.Reader, N) *record.Reader, n *needles, place, path string, content []byte) error {
	number, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), ".log"), 10, 64)
	if err != nil {
		return err
	}
	records := open(bytes.NewReader(content), N(number))
	for {
		r, err := records.Next()
		if err != nil {
			return nil
		}
		text, err := io.ReadAll(r)
		n.search(place, text)
		if err != nil {
			return nil
		}
	}
}

// Each spelling must be found anywhere, and nothing in random bytes.
func TestAPlantedValueIsFoundInEverySpelling(t *testing.T) {
	v4, v6 := netip.MustParseAddr("203.145.167.189"), netip.MustParseAddr("2a0e:1b3c:4d5e:6f71:8291:a2b3:c4d5:e6f7")
	for name, spelling := range map[string]string{
		"text":                          "203.145.167.189",
		"as a socket":                   "203.145.167.189:4711",
		"mapped text":                   "::ffff:203.145.167.189",
		"mapped text of two groups":     "::ffff:cb91:a7bd",
		"hexadecimal":                   "CB91A7BD",
		"mapped bytes":                  "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xcb\x91\xa7\xbd",
		"mapped bytes, backwards":       "\xbd\xa7\x91\xcb\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"IPv6":                          "2a0e:1b3c:4d5e:6f71:8291:a2b3:c4d5:e6f7",
		"IPv6, capitals":                "2A0E:1B3C:4D5E:6F71:8291:A2B3:C4D5:E6F7",
		"IPv6, its /64":                 "2a0e:1b3c:4d5e:6f71::/64",
		"IPv6, its /64 in capitals":     "2A0E:1B3C:4D5E:6F71::",
		"IPv6, the other half":          "::8291:a2b3:c4d5:e6f7",
		"IPv6, bytes of its /64":        "\x2a\x0e\x1b\x3c\x4d\x5e\x6f\x71",
		"IPv6, the same little-endian":  "\x71\x6f\x5e\x4d\x3c\x1b\x0e\x2a",
		"IPv6, hexadecimal of its /64":  "2a0e1b3c4d5e6f71",
		"IPv6, hexadecimal in capitals": "2A0E1B3C4D5E6F71",
		"a User-Agent":                  "Mozilla/5.0 PlantedAgent7 Firefox/1",
		"a User-Agent in lower case":    "mozilla/5.0 plantedagent7",
		"a User-Agent in hexadecimal":   hex.EncodeToString([]byte("Mozilla/5.0 PlantedAgent7")),
	} {
		n := newNeedles()
		n.addAddress("planted", v4)
		n.addAddress("planted", v6)
		n.addText("planted", "PlantedAgent7")
		for _, around := range []string{"", "x", "0123456789abcdef0"} {
			n.found = map[string][]string{}
			if n.search("here", []byte(around+spelling+around)); len(n.found["planted"]) != 1 {
				t.Errorf("%s between %q is not found", name, around)
			}
		}
	}
	for _, spelling := range []string{"\xcb\x91\xa7\xbd", "\xbd\xa7\x91\xcb"} {
		n := newNeedles()
		n.addAddress("planted", v4)
		if n.search("here", []byte("0123456"+spelling)); !n.foundShort["planted"] || len(n.found) > 0 {
			t.Errorf("%q is not found among the short ones", spelling)
		}
	}
}
