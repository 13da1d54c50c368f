package http1

// Limits of requests. A head is the request line and the header fields, up to the empty line.
const (
	MaxBodyBytes = 64 << 10 // of a body, unless the handler permits a larger one

	MaxHeaderBytes      = 16 << 10 // of a head
	maxRequestLineBytes = 9 << 10  // a Location has at most 8 KiB, the query of the request included
	maxFields           = 128      // fasthttp keeps some 70 bytes for each while it keeps the connection's context
	maxMethodBytes      = 32       // nobody implements a longer method
	maxLengthDigits     = 18       // of Content-Length; 18 digits fit in 64 bits
	maxChunkDigits      = 15       // of a chunk's size
	maxChunkExtraBytes  = 4 << 10  // of all chunk extensions and trailer fields of a message
)

// chunkedLargeBytes is the size from which a chunked body is large. A sender without a right to
// large bodies never reaches it: fasthttp refuses the body when it has read a buffer beyond
// MaxBodyBytes.
const chunkedLargeBytes = MaxBodyBytes + 2*MaxHeaderBytes
