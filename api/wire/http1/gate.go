package http1

import (
	"bytes"
	"io"

	"shunt/api/problem"
)

// A Gate reads the bytes of a connection before fasthttp does. It reads each message strictly by
// the grammar of RFC 9112. If a message could be read in two ways, the gate refuses it and lets
// nothing through after it. Without a gate, fasthttp accepts lines that end in LF, folded lines,
// names with spaces, the identity coding and chunk extensions without end; and it puts trailer
// fields among the header fields, where a client of a trusted proxy could name an address of its
// choice. So the gate checks extensions and trailers and removes them.
//
// A gate belongs to the goroutine that reads the connection. Nearly every head comes in one piece;
// such a head is not copied and is read once (BenchmarkGate).
type Gate struct {
	part    part
	started bool // a byte of the present message has come
	over    bool // the present message is the last one: it says Connection: close
	head    head
	line    []byte // of the head: a line whose end has not come yet
	left    int64  // bytes of the body, or of the chunk, that have yet to come
	body    int64  // bytes of the body that have come
	Large   Place
	chunk   chunk
	Refused *problem.Problem // if set, nothing gets through any more
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

// Pass reads b, bytes of the client. It moves those that fasthttp may see to the first n bytes of
// b; n may be 0.
func (g *Gate) Pass(b []byte) (n int) {
	for in := 0; in < len(b) && g.Refused == nil; {
		var used int
		switch rest := b[in:]; g.part {
		case partHead:
			alone := !g.head.begun // fasthttp has nothing, or an empty line
			g.started = true
			if used = g.readHead(rest); g.Refused == nil {
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
func (g *Gate) endData() {
	if g.part == partBody {
		g.next()
	} else {
		g.part, g.chunk.state = partChunk, afterData
	}
}

// next enters the state before the next message.
func (g *Gate) next() {
	g.part = partHead
	if g.over {
		g.part = partOver
	}
	if g.body > MaxBodyBytes {
		g.Large.arrived()
	}
	g.started, g.body = false, 0
}

// admitLarge waits for a place for a large chunked body and refuses the body if there is none.
func (g *Gate) admitLarge() {
	if err := g.Large.Take(); err != nil {
		g.Refuse(problem.Overloaded, err.Error())
	}
}

// Between reports whether the next bytes begin a message.
func (g *Gate) Between() bool { return g.part == partHead && !g.started }

// Finish lets nothing more through.
func (g *Gate) Finish() { g.part = partOver }

// IsHEAD reports whether the method of the head that is being read is HEAD.
func (g *Gate) IsHEAD() bool { return g.head.isHEAD }

// InHead reports whether the head of a message has begun and not ended.
func (g *Gate) InHead() bool { return g.part == partHead && g.started }

// InBody reports whether a body has not ended yet.
func (g *Gate) InBody() bool { return g.part != partHead && g.part != partOver }

// End returns the error of a Read when nothing more gets through.
func (g *Gate) End() error {
	if g.Refused != nil {
		return g.Refused
	}
	return io.EOF
}

// Closed reports whether nothing more gets through.
func (g *Gate) Closed() bool { return g.Refused != nil || g.part == partOver }

// Refuse refuses the message, so that nothing more gets through. Only the first problem counts.
func (g *Gate) Refuse(k *problem.Kind, detail string) {
	if g.Refused == nil {
		g.Refused = &problem.Problem{Kind: k, Detail: detail}
	}
}

// checkCountable refuses a body or chunk of n bytes if they are more than an int counts, on a 32-bit machine, where
// fasthttp could not read the number.
func (g *Gate) checkCountable(n int64) {
	if int64(int(n)) != n {
		g.Refuse(problem.BodyTooLarge, "the body must have less than 2 GiB")
	}
}

// readHead reads lines until the head ends or b does.
func (g *Gate) readHead(b []byte) (used int) {
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
		if last := g.head.read(g, line); g.Refused != nil {
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
func (g *Gate) keep(b []byte) {
	g.head.checkSize(g, len(g.line)+len(b))
	if g.Refused == nil {
		g.line = append(g.line, b...)
	}
}

// endHead enters the state after the head.
func (g *Gate) endHead() {
	h := &g.head
	if h.checkWhole(g); g.Refused != nil {
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
