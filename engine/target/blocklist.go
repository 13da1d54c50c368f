package target

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"net/netip"
	"strings"
	"sync/atomic"
	"unsafe"

	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
)

// MaxBlocked is the largest number of entries of a BlockList: 64 MiB of hashes.
const MaxBlocked = 4 << 20

// A BlockList lists the targets to which nobody is redirected. The zero value and a nil *BlockList
// block nothing. It is replaced as a whole, by one atomic store, while any number of goroutines
// call Blocks.
//
// An entry is a host, which blocks that host and every name below it, or an address, which blocks
// every address that begins with it. In both the scheme and the port do not matter. Hosts are
// compared in the form in which targets are stored, without a trailing dot. IP addresses are
// compared by their value, in whatever spelling, also where an IPv6 address carries a blocked IPv4
// address. Paths are compared with their escapes decoded, their dot segments resolved and repeated
// slashes taken for one, because a path can be written in all these ways to get around the list.
// Some servers take %2F for a slash like any other, others do not; a target that is blocked by
// either reading is blocked.
type BlockList struct{ set atomic.Pointer[blockSet] }

// A blockSet is the content of one text. It never changes.
//
// It keeps a hash of 64 bits of each host, under a random key, in an open table that is at most
// half full: 16 to 32 bytes an entry and no pointer, and a look-up mostly reads one cache line. A
// host that is not in a list of a million is taken for one that is with a probability of 5 in
// 10^14. Rejected: a map of strings (twice the memory, and pointers for the collector to follow); a
// mark at every link (each change of the list would have to read all links).
type blockSet struct {
	seed     maphash.Seed
	slots    []uint64 // hashes of hosts; 0: empty; its length is a power of two
	entries  int      // hosts and prefixes
	depths   uint64   // bit n: a name of n labels (63: or more) is listed; other suffixes, such as "com", need no look-up
	prefixes map[uint64][][]byte
}

// A LineError is a line of a block list that cannot be used. Lines are counted from 1.
type LineError struct {
	Line   int
	Reason string
}

// Replace makes text the content of b: an entry per line, empty lines, and comments from # to the
// end of the line. It returns the lines that it could not use and has left out. After an error b is
// unchanged.
func (b *BlockList) Replace(text []byte) (skipped []LineError, err error) {
	s := &blockSet{seed: maphash.MakeSeed(), prefixes: make(map[uint64][][]byte)}
	var hosts []uint64
	for number := 1; len(text) > 0; number++ {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		if hosts, err = s.read(hosts, entryOf(line)); err != nil {
			skipped = append(skipped, LineError{number, reasonOf(err)})
		}
		if s.entries > MaxBlocked {
			return nil, fmt.Errorf("there are more than %d entries", MaxBlocked)
		}
	}
	s.fill(hosts)
	b.set.Store(s)
	return skipped, nil
}

// reasonOf returns the message for people in an error of Policy.Parse.
func reasonOf(err error) string {
	var field invalid.FieldError
	if errors.As(err, &field) {
		return field.Message
	}
	return err.Error()
}

// Len returns the number of entries.
func (b *BlockList) Len() int {
	if s := b.set.Load(); s != nil {
		return s.entries
	}
	return 0
}

// Blocks reports whether target, which must be as a Policy returned it, is on the list. It takes no
// lock and allocates nothing.
func (b *BlockList) Blocks(target []byte) bool {
	if b == nil {
		return false
	}
	s := b.set.Load()
	return s != nil && s.entries > 0 && s.blocks(target)
}

// BlocksText is Blocks for a text.
func (b *BlockList) BlocksText(target string) bool {
	return b != nil && b.set.Load() != nil && b.Blocks([]byte(target))
}

// entryOf returns a line without its comment and white space. A # within an address does not begin
// a comment: the address is then refused because of its fragment.
func entryOf(line []byte) string {
	for i, c := range line {
		if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			line = line[:i]
			break
		}
	}
	return string(bytes.TrimSpace(line))
}

// read adds an entry: a host's hash to hosts, a prefix to s.
func (s *blockSet) read(hosts []uint64, entry string) ([]uint64, error) {
	if entry == "" {
		return hosts, nil
	}
	if validName(entry) && !endsInNumber(lastLabel(entry)) { // most entries are in stored form: this saves three quarters of the time
		return append(hosts, s.addName([]byte(strings.TrimSuffix(entry, ".")))), nil
	}
	if strings.ContainsAny(entry, " \t") {
		return hosts, errTwoEntries
	}
	scheme := ""
	if !strings.Contains(entry, "://") {
		scheme = "http://"
	}
	target, err := Policy{}.Parse(scheme + entry)
	if wrong, ok := err.(invalid.FieldError); ok && wrong.Code == codeScheme {
		err = WebSchemes.errScheme("")
	}
	if err != nil {
		return hosts, err
	}
	if strings.Contains(target, "#") {
		return hosts, targetError("fragment", "must not hold a fragment")
	}
	host, rest := splitStored([]byte(target))
	switch addr := storedAddr(host); {
	case scheme == "" || len(rest) > 0:
		s.addPrefix(s.hash(host), rest)
	case addr.IsValid():
		hosts = append(hosts, s.hashAddr(addr))
	default:
		return append(hosts, s.addName(host)), nil
	}
	s.entries++
	return hosts, nil
}

// addPrefix adds a prefix in both readings.
func (s *blockSet) addPrefix(host uint64, rest []byte) {
	s.prefixes[host] = append(s.prefixes[host], appendPlain(nil, rest, slashDecoded))
	if hasEscapedSlash(rest) {
		s.prefixes[host] = append(s.prefixes[host], appendPlain(nil, rest, slashKept))
	}
}

// addName adds a name in its stored form, without a trailing dot, and returns its hash.
func (s *blockSet) addName(name []byte) uint64 {
	s.entries++
	s.depths |= 1 << min(63, bytes.Count(name, []byte{'.'})+1)
	return s.hashName(name)
}

var errTwoEntries = errors.New("must be one host or address, without spaces")

// fill builds the table.
func (s *blockSet) fill(hosts []uint64) {
	s.slots = make([]uint64, 1<<bits.Len(uint(2*len(hosts)))) // at least one slot is empty
	for _, hash := range hosts {
		s.slots[s.find(hash)] = hash
	}
}

// find returns the slot that holds hash, or the empty slot where hash belongs.
func (s *blockSet) find(hash uint64) uint64 {
	mask := uint64(len(s.slots) - 1)
	i := hash & mask
	for s.slots[i] != hash && s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	return i
}

func (s *blockSet) has(hash uint64) bool { return s.slots[s.find(hash)] == hash }

// hash returns the hash of a host in its stored form. It is never 0.
func (s *blockSet) hash(host []byte) uint64 {
	if addr := storedAddr(host); addr.IsValid() {
		return s.hashAddr(addr)
	}
	return s.hashName(host)
}

func (s *blockSet) hashName(name []byte) uint64 { return maphash.Bytes(s.seed, name) | 1 }

// hashAddr returns the hash of an address: of a zero byte, with which no name begins, and its 16
// bytes.
func (s *blockSet) hashAddr(addr netip.Addr) uint64 {
	var key [17]byte
	as16 := addr.As16()
	copy(key[1:], as16[:])
	return s.hashName(key[:])
}

func (s *blockSet) blocks(target []byte) bool {
	host, rest := splitStored(target)
	if len(host) == 0 {
		return false
	}
	if addr := storedAddr(host); addr.IsValid() {
		return s.blocksAddr(addr, rest)
	}
	depth, hash := 0, uint64(0)
	for end := len(host); end > 0; {
		end = bytes.LastIndexByte(host[:end], '.')
		depth++
		if end >= 0 && s.depths>>min(63, depth)&1 == 0 {
			continue
		}
		if hash = s.hashName(host[end+1:]); s.has(hash) {
			return true
		}
	}
	return len(s.prefixes) > 0 && s.blocksPath(hash, rest) // hash is now that of the whole host
}

// blocksAddr reports whether addr, or an IPv4 address that it carries, is blocked.
func (s *blockSet) blocksAddr(addr netip.Addr, rest []byte) bool {
	hash := s.hashAddr(addr)
	if s.has(hash) || s.blocksPath(hash, rest) {
		return true
	}
	for _, e := range embeddings {
		if inner, ok := e.in(addr); ok && s.blocksAddr(inner, rest) {
			return true
		}
	}
	return false
}

func (s *blockSet) blocksPath(host uint64, rest []byte) bool {
	prefixes := s.prefixes[host]
	return len(prefixes) > 0 && hasPlainPrefix(rest, prefixes)
}

// hasPlainPrefix reports whether rest, in either reading, begins with one of prefixes. It is a
// function of its own because its large buffer is on the stack.
//
//go:noinline
func hasPlainPrefix(rest []byte, prefixes [][]byte) bool {
	var buf [limits.MaxTargetBytes + 8]byte
	return beginsWithAny(appendPlain(buf[:0], rest, slashDecoded), prefixes) ||
		hasEscapedSlash(rest) && beginsWithAny(appendPlain(buf[:0], rest, slashKept), prefixes)
}

func beginsWithAny(plain []byte, prefixes [][]byte) bool {
	for _, p := range prefixes {
		if bytes.HasPrefix(plain, p) {
			return true
		}
	}
	return false
}

// splitStored splits a target as Policy.Parse returns it. host has no brackets, port or trailing
// dot; rest is what follows host and port. A target without a host has an empty one.
func splitStored(target []byte) (host, rest []byte) {
	if !HasHost(target) {
		return nil, nil
	}
	after := target[bytes.IndexByte(target, ':')+len("://"):]
	end := 0
	for end < len(after) && after[end] != '/' && after[end] != '?' && after[end] != '#' {
		end++
	}
	host, rest = after[:end], after[end:]
	if len(host) > 0 && host[0] == '[' {
		return host[1:bytes.IndexByte(host, ']')], rest
	}
	host, _, _ = bytes.Cut(host, []byte{':'})
	return bytes.TrimSuffix(host, []byte{'.'}), rest
}

// storedAddr returns the IP address that a host of splitStored is, in whatever spelling; the zero
// Addr if the host is a name. The last label of a name does not begin with a digit, or is not a
// number.
func storedAddr(host []byte) netip.Addr {
	last := host[bytes.LastIndexByte(host, '.')+1:]
	colon := len(host) > 0 && bytes.IndexByte(host, ':') >= 0
	if len(last) == 0 || !colon && (last[0] < '0' || last[0] > '9') {
		return netip.Addr{}
	}
	text := unsafe.String(unsafe.SliceData(host), len(host)) // read here only
	if colon {
		addr, _ := netip.ParseAddr(text)
		return addr.Unmap()
	}
	if !endsInNumber(lastLabel(text)) {
		return netip.Addr{}
	}
	addr, _ := parseIPv4(text)
	return addr
}

// A slashReading is the meaning of %2F in a path.
type slashReading bool

const (
	slashDecoded slashReading = true  // a slash
	slashKept    slashReading = false // a byte of a segment
)

func hasEscapedSlash(rest []byte) bool {
	return bytes.Contains(rest, []byte("%2F")) || bytes.Contains(rest, []byte("%2f"))
}

// appendPlain appends path and query of a target, without its fragment, in the form in which
// prefixes are compared.
func appendPlain(dst, rest []byte, reading slashReading) []byte {
	rest, _, _ = bytes.Cut(rest, []byte{'#'})
	path, query, asked := bytes.Cut(rest, []byte{'?'})
	root := len(dst)
	dst = appendUnescaped(append(dst, '/'), path, reading)
	dst = dst[:root+resolveDots(dst[root:])]
	if asked {
		dst = appendUnescaped(append(dst, '?'), query, slashDecoded)
	}
	return dst
}

// resolveDots resolves the dot segments of a path in place, drops its empty segments, and returns
// its new length. The path begins with a slash.
func resolveDots(path []byte) int {
	// kept is never longer than what was read, and ends with a slash until the last segment.
	kept, left := path[:1], path[1:]
	for more := true; more; {
		var segment []byte
		segment, left, more = bytes.Cut(left, []byte{'/'})
		switch string(segment) {
		case "", ".":
		case "..":
			kept = kept[:max(0, bytes.LastIndexByte(kept[:len(kept)-1], '/'))+1] // ".." of the root is the root
		default:
			kept = append(kept, segment...)
			if more {
				kept = append(kept, '/')
			}
		}
	}
	return len(kept)
}

// appendUnescaped appends b with its percent-escapes decoded, %2F as reading says. A % that does
// not begin an escape stays.
func appendUnescaped(dst, b []byte, reading slashReading) []byte {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '%' && i+2 < len(b) {
			if high, low := hexDigit(b[i+1]), hexDigit(b[i+2]); high|low < 16 {
				c = high<<4 | low
				i += 2
			}
		}
		if c == '/' && b[i] != '/' && reading == slashKept {
			dst = append(dst, "%2F"...)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// hexDigit returns the value of a hex digit, or 0xff for any other byte.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 0xff
}
