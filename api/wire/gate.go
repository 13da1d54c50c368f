package wire

import (
	"bytes"
	"io"

	"shunt/api/problem"
)

// Limits of the gate. A head is the request line and the header fields, up to the empty line.
const (
	maxRequestLineBytes = 9 << 10 // a Location has at most 8 KiB, the query of the request included
	maxFields           = 128     // fasthttp keeps some 70 bytes for each while it keeps the connection's context
	maxMethodBytes      = 32      // nobody implements a longer method
	maxLengthDigits     = 18      // of Content-Length; 18 digits fit in 64 bits
	maxChunkDigits      = 15      // of a chunk's size
	maxChunkExtraBytes  = 4 << 10 // of all chunk extensions and trailer fields of a message
)

// A gate reads the bytes of a connection before fasthttp does. It reads each message strictly by
// the grammar of RFC 9112. If a message could be read in two ways, the gate refuses it and lets
// nothing through after it. Without a gate, fasthttp accepts lines that end in LF, folded lines,
// names with spaces, the identity coding and chunk extensions without end; and it puts trailer
// fields among the header fields, where a client of a trusted proxy could name an address of its
// choice. So the gate checks extensions and trailers and removes them.
//
// A gate belongs to the goroutine that reads the connection. Nearly every head comes in one piece;
// such a head is not copied and is read once (BenchmarkGate).
type gate struct {
	part    part
	started bool // a byte of the present message has come
	over    bool // the present message is the last one: it says Connection: close
	head    head
	line    []byte // of the head: a line whose end has not come yet
	left    int64  // bytes of the body, or of the chunk, that have yet to come
	body    int64  // bytes of the body that have come
	large   largePlace
	chunk   chunk
	refused *problem.Problem // if set, nothing gets through any more
}

// A part is what the gate expects next.
type part uint8

const (
	partHead  part = iota
	partBody       // left bytes
	partChunk      // the bytes around and after chunks, one at a time; see chunk.state
	partData       // left bytes of a chunk
	partOver       // nothing: the connection is to be closed
)

// pass reads b, bytes of the client. It moves those that fasthttp may see to the first n bytes of
// b; n may be 0.
func (g *gate) pass(b []byte) (n int) {
	for in := 0; in < len(b) && g.refused == nil; {
		var used int
		switch rest := b[in:]; g.part {
		case partHead:
			alone := !g.head.begun // fasthttp has nothing, or an empty line
			g.started = true
			if used = g.readHead(rest); g.refused == nil {
				n += copy(b[n:], rest[:used])
			} else if alone {
				// Without a byte, fasthttp would take this for the end of an idle connection and
				// answer nothing.
				b[n] = 'X'
				n++
			}
		case partChunk:
			var kept int
			used, kept = g.chunk.read(g, b[n:], rest)
			n += kept
		case partBody, partData:
			used = int(min(g.left, int64(len(rest))))
			n += copy(b[n:], rest[:used])
			if g.body += int64(used); g.body > chunkedLargeBytes {
				g.admitLarge()
			}
			if g.left -= int64(used); g.left == 0 {
				g.endData()
			}
		case partOver:
			return n
		}
		in += used
	}
	return n
}

// endData enters the state after the last byte of a body, or of a chunk, after which CR LF must
// follow.
func (g *gate) endData() {
	if g.part == partBody {
		g.next()
	} else {
		g.part, g.chunk.state = partChunk, afterData
	}
}

// next enters the state before the next message.
func (g *gate) next() {
	g.part = partHead
	if g.over {
		g.part = partOver
	}
	if g.body > MaxBodyBytes {
		g.large.arrived()
	}
	g.started, g.body = false, 0
}

// admitLarge waits for a place for a large chunked body and refuses the body if there is none.
func (g *gate) admitLarge() {
	if err := g.large.take(); err != nil {
		g.refuse(problem.Overloaded, err.Error())
	}
}

// inHead reports whether the head of a message has begun and not ended.
func (g *gate) inHead() bool { return g.part == partHead && g.started }

// inBody reports whether a body has not ended yet.
func (g *gate) inBody() bool { return g.part != partHead && g.part != partOver }

// end returns the error of a Read when nothing more gets through.
func (g *gate) end() error {
	if g.refused != nil {
		return g.refused
	}
	return io.EOF
}

// closed reports whether nothing more gets through.
func (g *gate) closed() bool { return g.refused != nil || g.part == partOver }

// refuse refuses the message, so that nothing more gets through. Only the first problem counts.
func (g *gate) refuse(k *problem.Kind, detail string) {
	if g.refused == nil {
		g.refused = &problem.Problem{Kind: k, Detail: detail}
	}
}

// checkCountable refuses a body or chunk of n bytes if they are more than an int counts, on a 32-bit machine, where
// fasthttp could not read the number.
func (g *gate) checkCountable(n int64) {
	if int64(int(n)) != n {
		g.refuse(problem.BodyTooLarge, "the body must have less than 2 GiB")
	}
}

// readHead reads lines until the head ends or b does.
func (g *gate) readHead(b []byte) (used int) {
	for used < len(b) {
		end := bytes.IndexByte(b[used:], '\n')
		if end < 0 {
			g.keep(b[used:])
			return len(b)
		}
		line := b[used : used+end]
		used += end + 1
		if len(g.line) > 0 {
			line = append(g.line, line...)
			g.line = g.line[:0]
		}
		if last := g.head.read(g, line); g.refused != nil {
			return 0
		} else if last {
			g.endHead()
			return used
		}
	}
	return used
}

// keep keeps the beginning of a line until its end comes. A line that is too long is refused at
// once.
func (g *gate) keep(b []byte) {
	g.head.checkSize(g, len(g.line)+len(b))
	if g.refused == nil {
		g.line = append(g.line, b...)
	}
}

// endHead enters the state after the head.
func (g *gate) endHead() {
	h := &g.head
	if h.checkWhole(g); g.refused != nil {
		return
	}
	g.line = nil // an idle connection must not hold 16 KiB
	switch g.left, g.over = max(h.length, 0), h.closes; {
	case h.chunked:
		g.part, g.chunk = partChunk, chunk{}
	case g.left > 0:
		g.part = partBody
	default:
		g.next()
	}
	*h = head{}
}
