package cluster

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/problem"
)

// OutboxPath is where a full node asks for the hits that another has counted:
//
//	GET /cluster/outbox?id=HEX&after=N&hash=HEX&kept=M&settle=1&lost=1
//
// id is of the outbox that it knows, N the position of the last record that it has applied, and hash that of this
// record; with 0 it begins, or begins again if the id is another one now. If the other one has another record there,
// its folder was rolled back, and it begins another outbox. The node may yet need those after M, which is N unless a
// copy of its data is about to become another node. With settle, the other one says how far it has settled
// (Outbox.Settled), as far as it can. With lost, it cannot follow the log, because the servers have lost it: only a
// node that cannot either may answer, because else the log of the two may differ. The answer is an Outbox.
const OutboxPath = PeerPrefix + "outbox"

// OutboxQuery is what a node asks for.
type OutboxQuery struct {
	Known       [16]byte
	After, Kept uint64
	Hash        [8]byte // of the record at After
	Settle      bool
	Lost        bool
}

// String returns q as path and query.
func (q OutboxQuery) String() string {
	text := fmt.Sprintf("%s?id=%x&after=%d&hash=%x&kept=%d", OutboxPath, q.Known, q.After, q.Hash, min(q.After, q.Kept))
	if q.Settle {
		text += "&settle=1"
	}
	if q.Lost {
		text += "&lost=1"
	}
	return text
}

// ParseOutboxQuery is the inverse of String, for the query. Errors are problems.
func ParseOutboxQuery(args *fasthttp.Args) (q OutboxQuery, err error) {
	if err := parseHex(q.Known[:], args, "id"); err != nil {
		return q, err
	}
	if err := parseHex(q.Hash[:], args, "hash"); err != nil {
		return q, err
	}
	if q.After, err = strconv.ParseUint(string(args.Peek("after")), 10, 64); err != nil {
		return q, problem.New(problem.BadRequest, "after must be a position")
	}
	if q.Kept = q.After; args.Has("kept") {
		if q.Kept, err = strconv.ParseUint(string(args.Peek("kept")), 10, 64); err != nil || q.Kept > q.After {
			return q, problem.New(problem.BadRequest, "kept must be a position, not behind that of after")
		}
	}
	q.Settle, q.Lost = args.Has("settle"), args.Has("lost")
	return q, nil
}

// parseHex reads a parameter that has the digits of dst.
func parseHex(dst []byte, args *fasthttp.Args, name string) error {
	digits := args.Peek(name)
	if len(digits) != 2*len(dst) {
		return problem.New(problem.BadRequest, "%s must have %d hexadecimal digits", name, 2*len(dst))
	}
	if _, err := hex.Decode(dst, digits); err != nil {
		return problem.New(problem.BadRequest, "%s must be hexadecimal", name)
	}
	return nil
}

// ErrLost: a node asks for records that are not kept any more, or that never were there.
var ErrLost = errors.New("the outbox does not have the records that come next")

// MaxOutboxBytes is about how much one answer has: at least one record, and records of about a MiB.
const MaxOutboxBytes = 4 << 20

// maxOutboxAnswer bounds an answer that is read.
const maxOutboxAnswer = 4*MaxOutboxBytes + 1<<20

// Outbox is a part of a node's outbox.
type Outbox struct {
	ID      [16]byte
	First   uint64   // position of the first record
	Records [][]byte // with successive positions
	More    bool     // there are later ones

	// Left and LeftBytes are what the outbox has after these records. LeftBytes is an estimate by the
	// average record.
	Left, LeftBytes uint64

	// Settled is the sequence of an entry of the cluster's log: these records and those before them have all hits that
	// this node has admitted before it had applied that entry. 0: unknown.
	Settled uint64
}

// AppendTo appends the encoding of o: id 16, first 8, left 8, bytes left 8, settled 8, more 1, and each record after
// its length 4, in big-endian.
func (o *Outbox) AppendTo(dst []byte) []byte {
	dst = append(dst, o.ID[:]...)
	dst = binary.BigEndian.AppendUint64(dst, o.First)
	dst = binary.BigEndian.AppendUint64(dst, o.Left)
	dst = binary.BigEndian.AppendUint64(dst, o.LeftBytes)
	dst = binary.BigEndian.AppendUint64(dst, o.Settled)
	more := byte(0)
	if o.More {
		more = 1
	}
	dst = append(dst, more)
	for _, r := range o.Records {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(r)))
		dst = append(dst, r...)
	}
	return dst
}

// outboxHeadBytes is the size of an Outbox without records.
const outboxHeadBytes = 16 + 8 + 8 + 8 + 8 + 1

var errOutbox = errors.New("not the outbox of a node")

// ReadOutbox reads what AppendTo wrote.
func ReadOutbox(r io.Reader) (o Outbox, err error) {
	b, err := io.ReadAll(io.LimitReader(r, maxOutboxAnswer+1))
	if err != nil {
		return o, err
	}
	if len(b) < outboxHeadBytes || len(b) > maxOutboxAnswer || b[outboxHeadBytes-1] > 1 {
		return o, fmt.Errorf("%w: %d bytes", errOutbox, len(b))
	}
	copy(o.ID[:], b)
	o.First, o.More = binary.BigEndian.Uint64(b[16:]), b[outboxHeadBytes-1] == 1
	o.Left, o.LeftBytes, o.Settled = binary.BigEndian.Uint64(b[24:]), binary.BigEndian.Uint64(b[32:]), binary.BigEndian.Uint64(b[40:])
	for b = b[outboxHeadBytes:]; len(b) > 0; {
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b)) {
			return Outbox{}, fmt.Errorf("%w: a record is cut off", errOutbox)
		}
		n := 4 + int(binary.BigEndian.Uint32(b))
		o.Records = append(o.Records, b[4:n:n])
		b = b[n:]
	}
	return o, nil
}
