package qrcode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
)

const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	pngNone      = 0 // filter: the row's bytes
	pngUp        = 2 // filter: the difference from the row above
)

// PNG draws q in the middle of a square that is pixels wide (RFC 2083). pixels must be at least
// MinPixels.
func (q Code) PNG(pixels int) []byte {
	header := binary.BigEndian.AppendUint32(nil, uint32(pixels))
	header = binary.BigEndian.AppendUint32(header, uint32(pixels))
	header = append(header, 1, 0, 0, 0, 0) // 1 bit of grey, deflate, filters by row, not interlaced
	out := appendPNGChunk([]byte(pngSignature), "IHDR", header)
	out = appendPNGChunk(out, "IDAT", q.pngRows(pixels))
	return appendPNGChunk(out, "IEND", nil)
}

// pngRows returns the compressed rows.
func (q Code) pngRows(pixels int) []byte {
	scale := pixels / q.width
	margin := (pixels - scale*q.width) / 2
	row, same := make([]byte, 1+(pixels+7)/8), make([]byte, 1+(pixels+7)/8)
	same[0] = pngUp
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed) // the level is valid
	last := -2                                      // the row of modules above
	for y := range pixels {
		at := min(max((y-margin+scale)/scale-1, -1), q.width) // -1 and q.width: outside, all white
		line := same
		if at != last {
			q.pngRow(row, at, scale, margin)
			line, last = row, at
		}
		_, _ = z.Write(line) // a bytes.Buffer never fails
	}
	_ = z.Close()
	return b.Bytes()
}

// pngRow sets row to a row of modules: a bit a pixel, 1 for white.
func (q Code) pngRow(row []byte, y, scale, margin int) {
	for i := range row {
		row[i] = 0xff
	}
	row[0] = pngNone
	for x := range q.width {
		if !q.black(x, y) {
			continue
		}
		for p := margin + x*scale; p < margin+(x+1)*scale; p++ {
			row[1+p/8] &^= 0x80 >> (p % 8)
		}
	}
}

func appendPNGChunk(out []byte, name string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(append(out, name...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}
