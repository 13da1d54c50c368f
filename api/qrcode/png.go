package qrcode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"math"

	"shunt/api/picture"
)

const (
	pngSignature = "\x89PNG\r\n\x1a\n"
	pngNone      = 0 // filter: the row's bytes
	pngUp        = 2 // filter: the difference from the row above

	pngGrey    = 0 // 1 bit a pixel: black and white
	pngPalette = 3 // 1 bit a pixel: two colors
	pngRGBA    = 6 // 4 bytes a pixel, of a code with a logo
)

// PNG draws q in the middle of a square that is pixels wide (ISO/IEC 15948). pixels must be at least
// MinPixels. dpi says how large it is on paper; 0: nothing does.
func (q Code) PNG(pixels, dpi int) []byte {
	kind, bits := q.pngKind()
	header := binary.BigEndian.AppendUint32(nil, uint32(pixels))
	header = binary.BigEndian.AppendUint32(header, uint32(pixels))
	header = append(header, bits, kind, 0, 0, 0) // deflate, filters by row, not interlaced
	out := appendPNGChunk([]byte(pngSignature), "IHDR", header)
	if dpi > 0 {
		out = appendPNGChunk(out, "pHYs", density(dpi))
	}
	if kind == pngPalette {
		out = q.appendPalette(out)
	}
	out = appendPNGChunk(out, "IDAT", q.pngRows(pixels))
	return appendPNGChunk(out, "IEND", nil)
}

func (q Code) pngKind() (kind, bits byte) {
	switch s := &q.style; {
	case s.Logo != nil:
		return pngRGBA, 8
	case s.Color == Black && s.Background == White:
		return pngGrey, 1
	}
	return pngPalette, 1
}

// density returns pixels a metre, in both directions.
func density(dpi int) []byte {
	perMetre := uint32(math.Round(float64(dpi) * 1000 / mmPerInch))
	b := binary.BigEndian.AppendUint32(nil, perMetre)
	return append(binary.BigEndian.AppendUint32(b, perMetre), 1)
}

// appendPalette appends the colors of the bits 0, drawn, and 1, not drawn.
func (q Code) appendPalette(out []byte) []byte {
	dark, light := q.style.Color, q.style.Background
	if light.None {
		light = Color{R: 255, G: 255, B: 255, None: true}
	}
	out = appendPNGChunk(out, "PLTE", []byte{dark.R, dark.G, dark.B, light.R, light.G, light.B})
	if light.None {
		out = appendPNGChunk(out, "tRNS", []byte{255, 0})
	}
	return out
}

// A raster is how modules become pixels.
type raster struct {
	pixels, scale, margin int

	ground, dark [4]byte      // of a code with a logo
	logo         *image.NRGBA // nil: none
	at           image.Point  // of the logo
}

func (q Code) raster(pixels int) raster {
	r := raster{pixels: pixels, scale: pixels / q.width}
	r.margin = (pixels - r.scale*q.width) / 2
	if q.style.Logo == nil {
		return r
	}
	c, g := q.style.Color, q.style.Background
	r.dark = [4]byte{c.R, c.G, c.B, 255}
	if !g.None {
		r.ground = [4]byte{g.R, g.G, g.B, 255}
	}
	x, y, w, h := q.logoPlace()
	scale := float64(r.scale)
	size := image.Pt(max(1, int(math.Round(w*scale))), max(1, int(math.Round(h*scale))))
	r.logo = picture.Scaled(q.style.Logo.picture, size.X, size.Y)
	r.at = image.Pt(r.margin+int(math.Round(x*scale)), r.margin+int(math.Round(y*scale)))
	return r
}

// pngRows returns the compressed rows.
func (q Code) pngRows(pixels int) []byte {
	r := q.raster(pixels)
	length := 1 + (pixels+7)/8
	if q.style.Logo != nil {
		length = 1 + 4*pixels
	}
	row, same := make([]byte, length), make([]byte, length)
	same[0] = pngUp
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed) // the level is valid
	last := -2                                      // the row of modules above
	for y := range pixels {
		at := min(max((y-r.margin+r.scale)/r.scale-1, -1), q.width) // -1 and q.width: outside, all background
		line := same
		if logo := r.hasLogo(y); at != last || logo {
			q.pngRow(row, at, &r)
			line, last = row, at
			if logo {
				r.drawLogo(row[1:], y)
				last = -2 // the next row has other pixels of the logo, or none
			}
		}
		_, _ = z.Write(line) // a bytes.Buffer never fails
	}
	_ = z.Close()
	return b.Bytes()
}

// pngRow sets row to a row of modules.
func (q Code) pngRow(row []byte, y int, r *raster) {
	row[0] = pngNone
	if r.logo != nil {
		q.colorRow(row[1:], y, r)
		return
	}
	for i := range row[1:] {
		row[1+i] = 0xff
	}
	for x := range q.width {
		if !q.black(x, y) {
			continue
		}
		for p := r.margin + x*r.scale; p < r.margin+(x+1)*r.scale; p++ {
			row[1+p/8] &^= 0x80 >> (p % 8)
		}
	}
}

// colorRow sets row to a row of modules, of 4 bytes a pixel.
func (q Code) colorRow(row []byte, y int, r *raster) {
	for p := range r.pixels {
		copy(row[4*p:], r.ground[:])
	}
	for x := range q.width {
		if !q.black(x, y) {
			continue
		}
		for p := r.margin + x*r.scale; p < r.margin+(x+1)*r.scale; p++ {
			copy(row[4*p:], r.dark[:])
		}
	}
}

// hasLogo reports whether a row of pixels has a part of the logo.
func (r *raster) hasLogo(y int) bool {
	return r.logo != nil && y >= r.at.Y && y < r.at.Y+r.logo.Bounds().Dy()
}

// drawLogo puts a row of the logo over the background.
func (r *raster) drawLogo(row []byte, y int) {
	for x := range r.logo.Bounds().Dx() {
		c := r.logo.NRGBAAt(x, y-r.at.Y)
		p := row[4*(r.at.X+x):]
		if r.ground[3] == 0 {
			p[0], p[1], p[2], p[3] = c.R, c.G, c.B, c.A
			continue
		}
		p[0], p[1], p[2] = over(c.R, r.ground[0], c.A), over(c.G, r.ground[1], c.A), over(c.B, r.ground[2], c.A)
	}
}

// over returns a color over another one, of which as much is seen as alpha leaves.
func over(c, ground, alpha uint8) uint8 {
	return uint8((int(c)*int(alpha) + int(ground)*(255-int(alpha)) + 127) / 255)
}

func appendPNGChunk(out []byte, name string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(append(out, name...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}
