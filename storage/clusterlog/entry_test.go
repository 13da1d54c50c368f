package clusterlog

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

var goldenEntry = Entry{
	Epoch:    0x0102030405060708,
	Sequence: 9,
	Batch:    BatchID([]byte("batch id, 16 by.")),
	Previous: Hash([]byte("a hash has thirty-two bytes, yes")),
	Sealed:   Hash([]byte("the hash of a part for full ones")),
	Payload:  []byte("payload"),
}

func TestAnEntryHasTheseBytes(t *testing.T) {
	want := strings.Join([]string{
		"01", "0102030405060708", "0000000000000009", hex.EncodeToString([]byte("batch id, 16 by.")),
		hex.EncodeToString([]byte("a hash has thirty-two bytes, yes")), hex.EncodeToString([]byte("the hash of a part for full ones")), "00000007", hex.EncodeToString([]byte("payload")), "b08a5419",
	}, "")
	got := AppendEntry(nil, &goldenEntry)
	expect.MustEqual(t, hex.EncodeToString(got), want, "got  %x", got)
	e, err := DecodeEntry(got)
	expect.That(t, err == nil && equal(e, goldenEntry), "got %+v, %v; want %+v", e, err, goldenEntry)
}

func equal(a, b Entry) bool {
	payloads := bytes.Equal(a.Payload, b.Payload)
	return payloads && a.Epoch == b.Epoch && a.Sequence == b.Sequence && a.Batch == b.Batch && a.Previous == b.Previous && a.Sealed == b.Sealed
}

func TestEveryFlippedBitOfAnEntryIsFound(t *testing.T) {
	whole := AppendEntry(nil, &goldenEntry)
	for bit := range 8 * len(whole) {
		damaged := slices.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		expect.Error(t, expect.Err(DecodeEntry(damaged)), ErrCorrupt, "bit %d", bit)
	}
	for n := range whole {
		expect.Error(t, expect.Err(DecodeEntry(whole[:n])), ErrCorrupt, "%d bytes of it", n)
	}
}

// withChecksum replaces the checksum at the end of an entry by the right one.
func withChecksum(v []byte) []byte {
	body := v[:len(v)-checksumBytes]
	return binary.BigEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, castagnoli))
}

func TestEntriesThatNobodyWroteAreRefused(t *testing.T) {
	whole := AppendEntry(nil, &goldenEntry)
	edit := func(at int, b byte) []byte {
		v := slices.Clone(whole)
		v[at] = b
		return withChecksum(v)
	}
	for name, c := range map[string]struct {
		entry []byte
		want  error
	}{
		"of a newer version":          {edit(0, 2), ErrNewerVersion},
		"of version 0":                {edit(0, 0), ErrCorrupt},
		"with a length of its own":    {edit(headerBytes-1, 8), ErrCorrupt},
		"that ends in its header":     {withChecksum(whole[:headerBytes]), ErrCorrupt},
		"larger than the largest":     {AppendEntry(nil, &Entry{Payload: make([]byte, MaxPayloadBytes+1)}), ErrCorrupt},
		"empty":                       {nil, ErrCorrupt},
		"of a version and a checksum": {withChecksum(append([]byte{9}, 0, 0, 0, 0)), ErrNewerVersion},
	} {
		expect.Error(t, expect.Err(DecodeEntry(c.entry)), c.want, "an entry %s", name)
	}
	expect.NoError(t, expect.Err(DecodeEntry(AppendEntry(nil, &Entry{Payload: make([]byte, MaxPayloadBytes)}))), "the largest entry")
}

// FuzzDecodeEntry decodes any bytes, and any entry with one changed byte: only what AppendEntry makes
// is accepted.
func FuzzDecodeEntry(f *testing.F) {
	f.Add(AppendEntry(nil, &goldenEntry), uint(3), byte(1))
	f.Add(AppendEntry(nil, &Entry{}), uint(0), byte(3))
	f.Add([]byte{}, uint(0), byte(0))
	f.Fuzz(func(t *testing.T, v []byte, at uint, flip byte) {
		if e, err := DecodeEntry(v); err == nil && !bytes.Equal(AppendEntry(nil, &e), v) {
			t.Fatalf("%x decodes and is encoded as %x", v, AppendEntry(nil, &e))
		} else if err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewerVersion) {
			t.Fatalf("%x: an error without a name: %v", v, err)
		}
		payload := v[:min(len(v), MaxPayloadBytes)]
		entry := AppendEntry(nil, &Entry{Epoch: uint64(at), Sequence: uint64(flip), Payload: payload})
		e, err := DecodeEntry(entry)
		expect.MustThat(t, err == nil && bytes.Equal(e.Payload, payload), "its own entry: %v", err)
		entry[at%uint(len(entry))] ^= flip
		if _, err := DecodeEntry(entry); (err == nil) != (flip == 0) {
			t.Fatalf("byte %d changed by %02x: got %v", at%uint(len(entry)), flip, err)
		}
	})
}
