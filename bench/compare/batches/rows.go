package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"shunt/bench/compare/load"
	"shunt/engine"
	"shunt/storage/row"
)

const bloomBitsPerKey = 10 // Pebble's options have only the name of the filter

// open opens Pebble in the folder of a store, with the options that shunt has used there.
func open(dir string) (*pebble.DB, error) {
	dir = filepath.Join(dir, "db")
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s is not the folder of a store", dir)
	}
	text, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		return nil, err
	}
	o := &pebble.Options{Logger: quiet{}, CacheSize: 64 << 20}
	if err := o.Parse(string(text), hooks); err != nil {
		return nil, err
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	if err := readNumber(db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// readNumber sets lastBatch to the number of the store's last batch.
func readNumber(db *pebble.DB) error {
	value, end, err := db.Get(row.MetaKey(row.MetaSequence))
	if err != nil {
		return err
	}
	q, err := row.DecodeSequence(value)
	lastBatch.Store(q.Last)
	return errors.Join(err, end.Close())
}

var hooks = &pebble.ParseHooks{
	NewFilterPolicy: func(string) (pebble.FilterPolicy, error) { return bloom.FilterPolicy(bloomBitsPerKey), nil },
	NewMerger: func(string) (*pebble.Merger, error) {
		return &pebble.Merger{
			Name:  row.MergerName,
			Merge: func(key, operand []byte) (pebble.ValueMerger, error) { return row.NewMerge(key, operand) },
		}, nil
	},
}

// quiet drops what Pebble says of its work.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// A rower puts the rows of links into batches. It reuses its buffers, so it is used by one goroutine
// at a time.
type rower struct{ key, value []byte }

// add puts the rows of link n into b. Codes are random, as those that shunt draws, and ids count up.
func (r *rower) add(b *pebble.Batch, n uint64) error {
	code, now := codeOf(n), time.Now().UnixMilli()
	hot := engine.Hot{Code: code, ID: n, Owner: 1, Target: load.TargetStart + targetPath + code}
	cold := engine.Cold{Code: code, Version: 1, CreatedAtMs: now, UpdatedAtMs: now}
	r.key, r.value = row.AppendHotKey(r.key[:0], code), row.AppendHot(r.value[:0], &hot)
	err := b.Set(r.key, r.value, nil)
	r.key, r.value = row.AppendColdKey(r.key[:0], n), row.AppendCold(r.value[:0], &cold)
	err = errors.Join(err, b.Set(r.key, r.value, nil))
	r.key = row.AppendByOwnerKey(r.key[:0], 1, n)
	r.value = row.AppendIndexValue(r.value[:0], row.IndexValue{Code: code, Host: row.HostOf(hot.Target)})
	return errors.Join(err, b.Set(r.key, r.value, nil))
}

// audit puts the entry of the audit log about n links, the last of which is link last, into b: creations
// of one link have an entry each, and those of a request for many have one together.
func (r *rower) audit(b *pebble.Batch, last, n uint64) error {
	code, now := codeOf(last), time.Now().UnixMilli()
	e := engine.AuditEntry{
		Stamp: firstStamp + last, Action: engine.LinksCreated, Created: uint32(n), FirstCode: code, LastCode: code,
		By: engine.By{AtMs: now, User: 1, Name: "compare@example.com", TokenID: tokenID, RequestID: requestID},
	}
	if n == 1 {
		e.Action = engine.LinkCreated
		e.After = &engine.Record{
			Hot:  engine.Hot{Code: code, ID: last, Owner: 1, Target: load.TargetStart + targetPath + code},
			Cold: engine.Cold{Code: code, Version: 1, CreatedAtMs: now, UpdatedAtMs: now},
		}
	}
	r.key, r.value = row.AppendAuditKey(r.key[:0], e.Stamp), row.AppendAudit(r.value[:0], &e)
	return b.Set(r.key, r.value, nil)
}

// firstStamp is the place in the audit log before that of link 1.
var firstStamp = engine.AuditStamp(time.Now().UnixMilli())

// Ids of a token and of a request, as long as those of shunt.
const (
	tokenID   = "0123456789abcdef"
	requestID = "aB3dE6gHaB3dE6gH"
)

// number puts the row that numbers batches into b.
func (r *rower) number(b *pebble.Batch, n uint64) error {
	r.value = row.AppendSequence(r.value[:0], row.Sequence{Count: 1, Last: n})
	return b.Merge(row.MetaKey(row.MetaSequence), r.value, nil)
}

const (
	base62     = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	targetPath = "a/page/of/some/length/of/a/site/" // with a code, 64 bytes
)

// codeOf returns eight characters that differ for each n in practice: 62^8 is about 2^48.
func codeOf(n uint64) string {
	n = mix(n)
	var code [8]byte
	for i := range code {
		code[i] = base62[n%62]
		n /= 62
	}
	return string(code[:])
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
