package edges

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// errMessage: bytes that AppendMessage does not make.
var errMessage = errors.New("not a message between an edge and its writer")

// maxHeadBytes bounds the head of a message.
const maxHeadBytes = 8 << 10

// MaxParts bounds the parts of a message.
const MaxParts = 1 << 16

// appendMessage appends a head and parts, each after its length in 4 bytes, big-endian.
func appendMessage(dst []byte, head any, parts [][]byte) []byte {
	text, err := json.Marshal(head)
	if err != nil {
		panic(fmt.Sprintf("edges: encoding a message: %v", err)) // encoding its fields cannot fail
	}
	dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(text))), text...)
	for _, part := range parts {
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(part))), part...)
	}
	return dst
}

// readMessage reads what appendMessage wrote. The parts alias b. Fields of the head that this program does not know are
// skipped: the other side may be newer.
func readMessage(b []byte, head any) (parts [][]byte, err error) {
	text, b, err := cutPart(b)
	if err == nil && len(text) > maxHeadBytes {
		err = fmt.Errorf("%w: a head of %d bytes", errMessage, len(text))
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, head); err != nil {
		return nil, fmt.Errorf("%w: %w", errMessage, err)
	}
	for len(b) > 0 {
		var part []byte
		if part, b, err = cutPart(b); err != nil {
			return nil, err
		}
		if parts = append(parts, part); len(parts) > MaxParts {
			return nil, fmt.Errorf("%w: more than %d parts", errMessage, MaxParts)
		}
	}
	return parts, nil
}

func cutPart(b []byte) (part, rest []byte, err error) {
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b)) {
		return nil, nil, fmt.Errorf("%w: it is cut off", errMessage)
	}
	n := 4 + int(binary.BigEndian.Uint32(b))
	return b[4:n:n], b[n:], nil
}
