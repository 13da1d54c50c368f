package replicate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"shunt/storage/clusterlog"
	"shunt/storage/kv"
	"shunt/storage/row"
)

// A copy of shared rows is a stream of parts. The first part is the head, the last one is empty and followed by the
// SHA-256 of all parts before it; so a copy that was cut off is known. All others are operations that set rows, in the
// order of the tables of its kind and, within each, of keys.
//
//	part:  │ length 4 │ bytes │ CRC-32C 4 │
//	head:  │ kind 1 │ id bound 8 │ position in the log (row.AppendLogPosition) │
const (
	copyPartBytes = 256 << 10
	maxCopyPart   = copyPartBytes + 768<<10 // a part ends after the row that fills it; the largest row is far below that

	copyHeadBytes = 1 + 8
)

// copyKind says what a copy has.
type copyKind byte

const (
	copyOfLinks copyKind = 1 // what an edge keeps
	copyOfAll   copyKind = 2 // all shared rows but tallies, for a full node of a cluster
)

// tables are those of a copy. Domains come first, and cold records before hot ones: a link that is seen has both.
func (k copyKind) tables() []byte {
	if k == copyOfAll {
		return []byte{
			row.TableDomains, row.TableCertificates, row.TableCold, row.TableByOwner, row.TableByTag, row.TableByDeletion, row.TableHot, row.TableCaps,
			row.TableReuse, row.TableTrash, row.TableLeaving, row.TableImports, row.TableReceipts, row.TableAccounts, row.TableAudit,
		}
	}
	return []byte{row.TableDomains, row.TableCertificates, row.TableCold, row.TableHot, row.TableCaps}
}

// copyKindOf is what this store can make of a copy.
func (s *Rows) copyKindOf() copyKind {
	if s.shared.edge {
		return copyOfLinks
	}
	return copyOfAll
}

var copySums = crc32.MakeTable(crc32.Castagnoli)

var errCopy = errors.New("not a whole copy of the shared rows")

var errNoEdgeLog = errors.New("storage: a copy for an edge: there is no log for edges")

// copyHead is what a copy is of.
type copyHead struct {
	kind  copyKind
	bound uint64
	log   clusterlog.ID
	at    clusterlog.Position
}

// WriteCopy writes a copy of what an edge has to w: of one moment, at a position of this store's log, which must have
// begun.
func (s *Rows) WriteCopy(ctx context.Context, w io.Writer) (err error) {
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	v, err := kv.Read(snapshot, row.MetaKey(row.MetaEdgeLog))
	if err == nil && v == nil {
		return errNoEdgeLog
	}
	var state row.EdgeLog
	if err == nil {
		state, err = row.DecodeEdgeLog(v)
	}
	if err == nil && state.Cluster == [16]byte{} { // it has ended since somebody saw it
		return errNoEdgeLog
	}
	if err == nil {
		err = writeCopy(ctx, w, snapshot, copyOfLinks, state.LogPosition)
	}
	if err != nil {
		return fmt.Errorf("storage: a copy for an edge: %w", err)
	}
	return nil
}

// WriteShared writes a copy of the shared rows of a node of a cluster to w, but for tallies: of one moment, at a
// position of the cluster's log. links: it is for an edge, and has only what that keeps.
func (s *Rows) WriteShared(ctx context.Context, w io.Writer, links bool) (err error) {
	if !s.shared.exists || s.shared.edge {
		return errors.New("storage: only a full node of a cluster has a copy for another node")
	}
	snapshot := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	v, err := kv.Read(snapshot, row.MetaKey(row.MetaLog))
	var at row.LogPosition
	if err == nil {
		at, err = row.DecodeLogPosition(v)
	}
	kind := copyOfAll
	if links {
		kind = copyOfLinks
	}
	if err == nil {
		err = writeCopy(ctx, w, snapshot, kind, at)
	}
	if err != nil {
		return fmt.Errorf("storage: a copy for another node: %w", err)
	}
	return nil
}

// writeCopy writes a copy of a snapshot, which is at a position.
func writeCopy(ctx context.Context, w io.Writer, snapshot pebble.Reader, kind copyKind, at row.LogPosition) error {
	bound, err := kv.Read(snapshot, row.MetaKey(row.MetaIDBound))
	if err != nil {
		return err
	}
	out := copyWriter{w: w, sum: sha256.New()}
	out.put(row.AppendLogPosition(append([]byte{byte(kind)}, bound...), at))
	for _, table := range kind.tables() {
		err = kv.Each(snapshot, row.TableRange(table), func(key, value []byte) (_ bool, err error) {
			if kind == copyOfLinks && !row.KeptByEdge(key) {
				return true, nil
			}
			if table == row.TableCold && kind == copyOfLinks {
				if value, err = row.ColdOfEdge(value); err != nil {
					return false, fmt.Errorf("row %x: %w", key, err)
				}
			}
			out.add(key, value)
			return out.err == nil && ctx.Err() == nil, nil
		})
		if err = errors.Join(err, out.err, ctx.Err()); err != nil {
			return err
		}
	}
	return out.end()
}

// copyWriter writes the parts of a copy. Its first error is kept.
type copyWriter struct {
	w    io.Writer
	sum  hash.Hash
	part []byte
	err  error
}

func (c *copyWriter) add(key, value []byte) {
	if c.part = row.AppendOperation(c.part, row.OpSet, key, value); len(c.part) >= copyPartBytes {
		c.put(c.part)
		c.part = c.part[:0]
	}
}

// put writes a part.
func (c *copyWriter) put(part []byte) {
	c.sum.Write(part)
	framed := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(part)+4), uint32(len(part))), part...)
	c.write(binary.BigEndian.AppendUint32(framed, crc32.Checksum(part, copySums)))
}

func (c *copyWriter) write(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

func (c *copyWriter) end() error {
	if len(c.part) > 0 {
		c.put(c.part)
	}
	c.write(c.sum.Sum(make([]byte, 4)))
	return c.err
}

// copyReader reads the rows of a copy, one after the other.
type copyReader struct {
	r    io.Reader
	sum  hash.Hash
	head copyHead

	rest       []byte // of the part
	key, value []byte // of the present row; key is nil at the end. They stay as they are
}

// readCopy begins to read a copy of a kind.
func readCopy(r io.Reader, kind copyKind) (*copyReader, error) {
	c := &copyReader{r: r, sum: sha256.New()}
	part, err := c.readPart()
	if err != nil {
		return nil, err
	}
	if len(part) < copyHeadBytes || copyKind(part[0]) != kind {
		return nil, fmt.Errorf("%w: it begins in another way", errCopy)
	}
	p, err := row.DecodeLogPosition(part[copyHeadBytes:])
	if err != nil {
		return nil, err
	}
	c.head = copyHead{kind, binary.BigEndian.Uint64(part[1:]), p.Cluster, clusterlog.Position{Sequence: p.Sequence, Epoch: p.Epoch, Hash: p.Hash}}
	if n := c.head.bound; n == 0 || n > 1<<row.IDCounterBits || c.head.log == (clusterlog.ID{}) {
		return nil, fmt.Errorf("%w: of the log %v, with the id bound %d", errCopy, c.head.log, n)
	}
	return c, c.next()
}

// readPart reads a part; nil: the copy is whole, and this was its end.
func (c *copyReader) readPart() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(c.r, length[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", errCopy, err)
	}
	n := binary.BigEndian.Uint32(length[:])
	if n == 0 {
		return nil, c.readEnd()
	}
	if n > maxCopyPart {
		return nil, fmt.Errorf("%w: a part of %d bytes", errCopy, n)
	}
	part := make([]byte, n+4)
	if _, err := io.ReadFull(c.r, part); err != nil {
		return nil, fmt.Errorf("%w: %w", errCopy, err)
	}
	part, sum := part[:n:n], binary.BigEndian.Uint32(part[n:])
	if crc32.Checksum(part, copySums) != sum {
		return nil, fmt.Errorf("%w: a part has another checksum", errCopy)
	}
	c.sum.Write(part)
	return part, nil
}

func (c *copyReader) readEnd() error {
	var sum [sha256.Size]byte
	if _, err := io.ReadFull(c.r, sum[:]); err != nil {
		return fmt.Errorf("%w: %w", errCopy, err)
	}
	if sum != [sha256.Size]byte(c.sum.Sum(nil)) {
		return fmt.Errorf("%w: some parts are missing", errCopy)
	}
	return nil
}

// next goes to the next row. Rows must ascend in the order of tables and keys.
func (c *copyReader) next() (err error) {
	if len(c.rest) == 0 {
		if c.rest, err = c.readPart(); err != nil || c.rest == nil {
			c.key, c.value = nil, nil
			return err
		}
	}
	before := c.key
	operation, key, value, rest, err := row.ReadOperation(c.rest)
	if err != nil {
		return err
	}
	if tables := c.head.kind.tables(); operation != row.OpSet || slices.Index(tables, key[0]) < 0 || before != nil && compareCopied(tables, before, key) >= 0 {
		return fmt.Errorf("%w: an operation of kind %d on row %x", errCopy, operation, key)
	}
	c.key, c.value, c.rest = key, value, rest
	return nil
}
