package qrcode

import (
	"bytes"
	"compress/zlib"
	"fmt"
)

// pointsPerInch is the unit of PDF.
const pointsPerInch = 72

// PDF draws q on a page that is a square of mm (ISO 32000-1). It is drawn as SVG is: the modules are one path, so that
// no renderer leaves hairlines between rows.
func (q Code) PDF(mm float64) []byte {
	side := decimal(mm / mmPerInch * pointsPerInch)
	objects := []string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 %s %[1]s]/Contents 4 0 R/Resources<<%s>>>>", side, q.pdfResources()),
		pdfStream("", q.pdfContent(mm)),
	}
	if q.style.Logo != nil {
		objects = append(objects, q.style.Logo.pdf()...)
	}
	return pdfFile(objects)
}

// pdfResources names the logo, whose object follows the content.
func (q Code) pdfResources() string {
	if q.style.Logo == nil {
		return ""
	}
	return "/XObject<</L 5 0 R>>"
}

// pdfContent draws in modules, from the upper left corner on.
func (q Code) pdfContent(mm float64) []byte {
	points := mm / mmPerInch * pointsPerInch
	var b []byte
	b = fmt.Appendf(b, "%.6f 0 0 %.6f 0 %.6f cm\n", points/float64(q.width), -points/float64(q.width), points)
	if !q.style.Background.None {
		b = fmt.Appendf(b, "%s rg 0 0 %d %[2]d re f\n", pdfColor(q.style.Background), q.width)
	}
	b = append(b, pdfColor(q.style.Color)+" rg\n"...)
	q.runs(func(x, y, n int) { b = fmt.Appendf(b, "%d %d %d 1 re\n", x, y, n) })
	b = append(b, "f\n"...)
	if q.style.Logo != nil {
		x, y, w, h := q.logoPlace()
		b = fmt.Appendf(b, "q %s 0 0 -%s %s %s cm /L Do Q\n", decimal(w), decimal(h), decimal(x), decimal(y+h))
	}
	return b
}

func pdfColor(c Color) string {
	return decimal(float64(c.R)/255) + " " + decimal(float64(c.G)/255) + " " + decimal(float64(c.B)/255)
}

// pdf returns the picture, and how much of each pixel is seen, as two objects: numbers 5 and 6.
func (l *Logo) pdf() []string {
	size := l.picture.Bounds().Size()
	colors, alphas := make([]byte, 0, 3*size.X*size.Y), make([]byte, 0, size.X*size.Y)
	for p := l.picture.Pix; len(p) >= 4; p = p[4:] { // rows have no gaps: see picture.Scaled
		colors, alphas = append(colors, p[:3]...), append(alphas, p[3])
	}
	head := fmt.Sprintf("/Type/XObject/Subtype/Image/Width %d/Height %d/BitsPerComponent 8", size.X, size.Y)
	return []string{
		pdfStream(head+"/ColorSpace/DeviceRGB/SMask 6 0 R", colors),
		pdfStream(head+"/ColorSpace/DeviceGray", alphas),
	}
}

// pdfStream returns a stream with further entries in its dictionary.
func pdfStream(entries string, data []byte) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data) // a bytes.Buffer never fails
	_ = z.Close()
	return fmt.Sprintf("<<%s/Filter/FlateDecode/Length %d>>stream\n%s\nendstream", entries, b.Len(), b.Bytes())
}

// pdfFile puts objects into a file, numbered from 1, with the table of where each is.
func pdfFile(objects []string) []byte {
	b := []byte("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n") // bytes beyond ASCII, so that no program takes it for text
	starts := make([]int, len(objects))
	for i, object := range objects {
		starts[i] = len(b)
		b = fmt.Appendf(b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := len(b)
	b = fmt.Appendf(b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, start := range starts {
		b = fmt.Appendf(b, "%010d 00000 n \n", start)
	}
	return fmt.Appendf(b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
}
