package http1

import (
	"shunt/api/problem"
)

// A chunk is the position of the gate in a chunked body (RFC 9112, 7.1), outside the data of
// chunks.
//
//	chunked-body = *chunk last-chunk trailer-section CRLF
//	chunk        = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
type chunk struct {
	state  chunkState
	digits int   // of size, so far
	size   int64 // of the chunk
	extra  int   // bytes of extensions and trailers in the whole body
}

// A chunkState says what may come next.
type chunkState uint8

const (
	sizeDigits     chunkState = iota
	afterSize                 // white space; an extension must follow
	extensionStart            // white space, or the name of an extension
	extension
	sizeLF
	afterData // CR
	dataLF
	trailerLine // a field, or the end
	trailerName
	trailerValue
	trailerLF
	bodyLF
)

// read reads b until data or the end of the body comes. It writes the bytes that fasthttp may see
// to out: all but extensions and trailer fields. out may begin where b does, or before it in the
// same array.
func (c *chunk) read(g *Gate, out, b []byte) (used, kept int) {
	for used < len(b) && g.part == partChunk && g.Refused == nil {
		next := b[used]
		used++
		if c.step(g, next) {
			out[kept] = next
			kept++
		}
	}
	return used, kept
}

// step reads the next byte and reports whether fasthttp may see it.
func (c *chunk) step(g *Gate, b byte) (keep bool) {
	switch c.state {
	case sizeDigits, afterSize, extensionStart, extension:
		return c.stepSize(g, b)
	case sizeLF, afterData, dataLF, bodyLF:
		return c.stepEnd(g, b)
	}
	c.stepTrailer(g, b)
	return c.state == bodyLF // the CR of the empty line
}

// stepSize reads a size line up to its CR.
func (c *chunk) stepSize(g *Gate, b byte) (keep bool) {
	class := bytesOf[b]
	switch {
	case c.state == sizeDigits && hexDigit(b) >= 0 && c.digits < maxChunkDigits:
		c.size = c.size<<4 | int64(hexDigit(b))
		c.digits++
		g.checkCountable(c.size)
		return true
	case b == '\r' && c.digits > 0 && (c.state == sizeDigits || c.state == extension):
		c.state = sizeLF
		return true
	case c.state == extension && class&inText != 0, c.state == extensionStart && isOWS(b):
	case c.state == extensionStart && class&inToken != 0:
		c.state = extension
	case c.digits > 0 && c.state <= afterSize && b == ';':
		c.state = extensionStart
	case c.digits > 0 && c.state <= afterSize && isOWS(b):
		c.state = afterSize
	default:
		g.Refuse(problem.BadRequest, "a chunk's size is not well-formed")
	}
	c.drop(g)
	return false
}

// stepEnd consumes CR and LF and enters the next state.
func (c *chunk) stepEnd(g *Gate, b byte) (keep bool) {
	want := byte('\n')
	if c.state == afterData {
		want = '\r'
	}
	if b != want {
		g.Refuse(problem.BadRequest, "a chunk does not end in CR LF")
		return false
	}
	switch {
	case c.state == afterData:
		c.state = dataLF
	case c.state == dataLF:
		c.state, c.digits = sizeDigits, 0
	case c.state == bodyLF:
		g.next()
	case c.size == 0:
		c.state = trailerLine
	default:
		g.part, g.left, c.size = partData, c.size, 0
	}
	return true
}

// stepTrailer reads the lines of trailer fields. They must be well-formed and are dropped: a
// program that merges them into the header fields trusts values that RFC 9110, 6.5.1, forbids it to
// trust.
func (c *chunk) stepTrailer(g *Gate, b byte) {
	class := bytesOf[b]
	switch {
	case c.state == trailerLine && b == '\r':
		c.state = bodyLF
		return
	case c.state <= trailerName && class&inToken != 0:
		c.state = trailerName
	case c.state == trailerName && b == ':':
		c.state = trailerValue
	case c.state == trailerValue && class&inText != 0:
	case c.state == trailerValue && b == '\r':
		c.state = trailerLF
	case c.state == trailerLF && b == '\n':
		c.state = trailerLine
	default:
		g.Refuse(problem.BadRequest, "a trailer line must be a name, a colon and a value")
	}
	c.drop(g)
}

// drop counts a byte that fasthttp does not see, and refuses the body if there are too many.
func (c *chunk) drop(g *Gate) {
	if c.extra++; c.extra > maxChunkExtraBytes {
		g.Refuse(problem.HeadersTooLarge, "chunk extensions and trailer fields are too large")
	}
}

func isOWS(b byte) bool { return b == ' ' || b == '\t' }

// hexDigit returns the value of a hexadecimal digit, -1 if b is not one.
func hexDigit(b byte) int {
	switch {
	case isDigit(b):
		return int(b - '0')
	case 'a' <= b|0x20 && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return -1
}
