package storage

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestKeysAreAsPinned holds the keys on disk, as TestFormatsAreAsPinned holds the values.
func TestKeysAreAsPinned(t *testing.T) {
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"meta":        {metaKey(metaPositions), "10 70"},
		"hot":         {appendHotKey(nil, "aZ"), "20 615a"},
		"cold":        {appendColdKey(nil, 0x0102), "21 0000000000000102"},
		"by owner":    {appendByOwnerKey(nil, 7, 1), "22 00000007 fffffffffffffffe"},
		"by tag":      {appendByTagKey(nil, 7, "ab", 1), "23 00000007 02 6162 fffffffffffffffe"},
		"link hours":  {appendLinkHourKey(nil, 0x0102, 3), "30 00000102 0000000000000003"},
		"owner hours": {appendOwnerHourKey(nil, 0x0102, 3), "31 00000102 00000003"},
		"link days":   {appendLinkDayKey(nil, 3, 0x0102), "32 0000000000000003 00000102"},
		"link lives":  {appendLinkLifeKey(nil, 3), "33 0000000000000003"},
		"owner days":  {appendOwnerDayKey(nil, 3, 0x0102), "34 00000003 00000102"},
		"accounts":    {accountKey([]byte("u1")), "50 7531"},
	} {
		want, err := hex.DecodeString(strings.ReplaceAll(c.want, " ", ""))
		if err != nil || !bytes.Equal(c.got, want) {
			t.Errorf("%s: got %x, want %x", name, c.got, want)
		}
	}
}

func TestHourKeysSortByHourAndThenByLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hours := rapid.SliceOfN(rapid.Uint32(), 2, 2).Draw(t, "hours")
		ids := rapid.SliceOfN(rapid.Uint64(), 2, 2).Draw(t, "ids")
		a, b := appendLinkHourKey(nil, hours[0], ids[0]), appendLinkHourKey(nil, hours[1], ids[1])
		want := cmp.Or(cmp.Compare(hours[0], hours[1]), cmp.Compare(ids[0], ids[1]))
		if got := bytes.Compare(a, b); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
		if id, err := hourSuffix(a); err != nil || id != ids[0] || hourOf(a) != hours[0] {
			t.Fatalf("got hour %d, id %d, %v", hourOf(a), id, err)
		}
	})
}

func TestAKeyOfWrongLengthIsCorrupt(t *testing.T) {
	for _, key := range [][]byte{{tableLinkHours}, appendLinkHourKey(nil, 1, 2)[:12], appendLinkDayKey(nil, 1, 2)} {
		if _, err := hourSuffix(key); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%x: got %v, want ErrCorrupt", key, err)
		}
	}
}

func TestTheRangeOfAPrefixEndsAfterItsLastKey(t *testing.T) {
	r := prefixRange([]byte{0x30, 0xff, 0xff})
	if !bytes.Equal(r.lower, []byte{0x30, 0xff, 0xff}) || !bytes.Equal(r.upper, []byte{0x31}) {
		t.Errorf("got %x", r)
	}
}
