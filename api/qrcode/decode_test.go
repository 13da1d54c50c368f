package qrcode

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"

	"shunt/engine/expect"
)

// decode reads a picture as a scanner does, on a ground of a color.
func decode(t testing.TB, picture image.Image, ground color.Color) (string, error) {
	t.Helper()
	return read(t, picture, ground, nil)
}

// decodeModules reads a picture of which it knows where the code is, so that only the modules count.
func decodeModules(t testing.TB, picture image.Image) (string, error) {
	t.Helper()
	return read(t, picture, color.White, map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true})
}

func read(t testing.TB, picture image.Image, ground color.Color, hints map[gozxing.DecodeHintType]any) (string, error) {
	t.Helper()
	b := picture.Bounds()
	table := image.NewRGBA(image.Rect(0, 0, b.Dx()+80, b.Dy()+80))
	draw.Draw(table, table.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	draw.Draw(table, image.Rect(40, 40, 40+b.Dx(), 40+b.Dy()), picture, b.Min, draw.Over)
	bitmap, err := gozxing.NewBinaryBitmapFromImage(table)
	expect.OK(t, err)
	found, err := qrcode.NewQRCodeReader().Decode(bitmap, hints)
	if err != nil {
		return "", err
	}
	return found.GetText(), nil
}

// noise is a picture of random colors, the same for a seed.
func noise(w, h int, seed uint64) *image.NRGBA {
	rng := rand.New(rand.NewPCG(seed, 1))
	p := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range p.Pix {
		p.Pix[i] = byte(rng.Uint32())
		if i%4 == 3 {
			p.Pix[i] = 255
		}
	}
	return p
}

func pngOf(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, png.Encode(&b, p))
	return b.Bytes()
}

func logoOf(t testing.TB, p image.Image) *Logo {
	t.Helper()
	logo, err := ReadLogo(pngOf(t, p))
	expect.OK(t, err)
	return logo
}

func drawn(t testing.TB, text string, s Style, pixels, dpi int) image.Image {
	t.Helper()
	q, err := Encode(text, s)
	expect.OK(t, err)
	p, err := png.Decode(bytes.NewReader(q.PNG(pixels, dpi)))
	expect.OK(t, err)
	return p
}

const scanned = "https://sho.rt/spring?_qr"

// styles are looks that must scan, on a ground that is white.
func styles(t testing.TB) map[string]Style {
	blue, cream := Color{R: 0x1d, G: 0x35, B: 0x57}, Color{R: 0xf1, G: 0xfa, B: 0xee}
	with := func(change func(*Style)) Style {
		s := Usual
		change(&s)
		return s
	}
	return map[string]Style{
		"usual":       Usual,
		"level L":     with(func(s *Style) { s.Level = L }),
		"level H":     with(func(s *Style) { s.Level = H }),
		"colors":      with(func(s *Style) { s.Color, s.Background = blue, cream }),
		"transparent": with(func(s *Style) { s.Background.None = true }),
		"no margin":   with(func(s *Style) { s.Margin = 0 }),
		"grey":        with(func(s *Style) { s.Color = Color{R: 0x94, G: 0x94, B: 0x94} }),
		"logo H":      with(func(s *Style) { s.Level, s.Logo = H, logoOf(t, noise(100, 100, 1)) }),
		"logo Q":      with(func(s *Style) { s.Level, s.Logo = Q, logoOf(t, noise(300, 90, 2)) }),
		"black logo":  with(func(s *Style) { s.Level, s.Logo = Q, logoOf(t, image.NewGray(image.Rect(0, 0, 64, 64))) }),
		"all": with(func(s *Style) {
			s.Color, s.Background.None, s.Level, s.Logo, s.Margin = blue, true, H, logoOf(t, noise(40, 80, 3)), 2
		}),
	}
}

func TestAScannerReadsWhatIsDrawn(t *testing.T) {
	for name, s := range styles(t) {
		for _, pixels := range []int{Pixels(10, 300), 256, 1000} { // 10 mm at 300 dpi are 118 pixels
			got, err := decode(t, drawn(t, scanned, s, pixels, 300), color.White)
			expect.That(t, err == nil && got == scanned, "%s, %d pixels: got %q, %v", name, pixels, got, err)
		}
	}
}

// TestALogoLeavesHalfOfTheRepair hides as much beside the logo as the logo hides, in all versions that addresses have.
func TestALogoLeavesHalfOfTheRepair(t *testing.T) {
	for _, level := range []Level{Q, H} {
		for length := 14; length <= 400; length += 14 {
			text := "https://sho.rt/" + strings.Repeat("x", length)
			s := Usual
			s.Level, s.Logo = level, logoOf(t, noise(50, 50, uint64(length)))
			q, err := Encode(text, s)
			expect.OK(t, err)
			const scale = 6
			p := drawn(t, text, s, scale*q.width, 0)
			hurt := image.NewRGBA(p.Bounds())
			draw.Draw(hurt, hurt.Bounds(), p, image.Point{}, draw.Src)
			side := scale * q.logo.side
			at := image.Pt(scale*(q.logo.at+q.logo.side), scale*q.logo.at)
			draw.Draw(hurt, image.Rectangle{at, at.Add(image.Pt(side, side))}, noise(side, side, 9), image.Point{}, draw.Src)
			got, err := decodeModules(t, hurt)
			expect.That(t, err == nil && got == text, "level %d, %d modules, a logo of %d: got %q, %v", level, q.width-2*s.Margin, q.logo.side, got, err)
		}
	}
}

// TestWhatScans finds the least contrast that the decoder reads, which MinContrast is well above.
func TestWhatScans(t *testing.T) {
	least := 0.0
	for grey := 0; grey < 256; grey++ {
		s := Usual
		s.Color = Color{R: uint8(grey), G: uint8(grey), B: uint8(grey)}
		if got, err := decode(t, drawn(t, scanned, s, 256, 0), color.White); err != nil || got != scanned {
			break
		}
		least = Contrast(s.Color, s.Background)
	}
	t.Logf("the decoder reads a contrast of %.2f", least)
	expect.That(t, least < MinContrast, "the decoder reads only a contrast of %.2f", least)
}

func TestThePixelsOfAPNGSayHowLargeItIs(t *testing.T) {
	q, err := Encode(scanned, Usual)
	expect.OK(t, err)
	expect.Equal(t, Pixels(10, 300), 118)
	expect.Contains(t, string(q.PNG(118, 300)), "pHYs\x00\x00\x2e\x23\x00\x00\x2e\x23\x01") // 11,811 pixels a metre
	expect.That(t, !strings.Contains(string(q.PNG(118, 0)), "pHYs"), "a size is told that nobody has asked for")
}

func TestALogoIsDecodedWithinItsLimits(t *testing.T) {
	var photo bytes.Buffer
	expect.OK(t, jpeg.Encode(&photo, noise(30, 20, 1), nil))
	whole := pngOf(t, noise(30, 20, 1))
	bomb := bytes.Clone(whole)
	copy(bomb[16:], "\x00\x00\xff\xff\x00\x00\xff\xff") // 65,535 pixels a side; the checksum is wrong, and looked at later
	big := pngOf(t, image.NewGray(image.Rect(0, 0, 2000, 1001)))
	for name, c := range map[string]struct {
		file []byte
		want error
	}{
		"a PNG": {whole, nil}, "a JPEG": {photo.Bytes(), nil}, "a grey PNG": {pngOf(t, image.NewGray(image.Rect(0, 0, 1, 900))), nil},
		"an empty file": {nil, ErrLogoType}, "an SVG": {[]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"), ErrLogoType}, "a GIF": {[]byte("GIF89a"), ErrLogoType},
		"half a PNG": {whole[:len(whole)/2], ErrLogoBroken}, "half a JPEG": {photo.Bytes()[:photo.Len()/2], ErrLogoBroken},
		"a signature": {whole[:8], ErrLogoBroken}, "too many pixels": {big, ErrLogoPixels}, "a bomb": {bomb, ErrLogoBroken},
	} {
		_, err := ReadLogo(c.file)
		expect.Error(t, err, c.want, name)
	}
	logo := logoOf(t, noise(1400, 700, 1))
	expect.Equal(t, logo.picture.Bounds().Size(), image.Pt(512, 256))
}

// FuzzReadLogo has any bytes as a logo, and draws those that are one.
func FuzzReadLogo(f *testing.F) {
	var photo bytes.Buffer
	expect.OK(f, jpeg.Encode(&photo, noise(9, 5, 1), nil))
	for _, file := range [][]byte{pngOf(f, noise(9, 5, 1)), photo.Bytes(), []byte(pngSignature)} {
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		logo, err := ReadLogo(file)
		if err != nil {
			return
		}
		s := Usual
		s.Level, s.Logo = H, logo
		q, err := Encode(scanned, s)
		expect.OK(t, err)
		expect.OK(t, expect.Err(png.Decode(bytes.NewReader(q.PNG(200, 0)))))
		expect.That(t, len(q.SVG(10)) > 0 && len(q.PDF(10)) > 0, "nothing is drawn")
	})
}

// TestAPDFIsWellFormed follows the table of a PDF to each of its objects.
func TestAPDFIsWellFormed(t *testing.T) {
	for name, s := range styles(t) {
		q, err := Encode(scanned, s)
		expect.OK(t, err)
		file := string(q.PDF(10))
		_, end, found := strings.Cut(file, "\nstartxref\n")
		expect.MustThat(t, found && strings.HasPrefix(file, "%PDF-1.4\n") && strings.HasSuffix(file, "\n%%EOF\n"), "%s: not a PDF", name)
		var table, n, start int
		expect.OK(t, expect.Err(fmt.Sscan(end, &table)))
		expect.OK(t, expect.Err(fmt.Sscanf(file[table:], "xref\n0 %d\n", &n)))
		lines := strings.SplitN(file[table:], "\n", n+3)[3:]
		for i := 1; i < n; i++ {
			expect.MustEqual(t, len(lines[i-1]), 19, lines[i-1])
			expect.OK(t, expect.Err(fmt.Sscanf(lines[i-1], "%d 00000 n", &start)))
			expect.That(t, strings.HasPrefix(file[start:], fmt.Sprintf("%d 0 obj\n", i)), "%s: object %d is not where the table says", name, i)
		}
		expect.Contains(t, file, "/MediaBox[0 0 28.3465 28.3465]", name)
		expect.Equal(t, n == 7, s.Logo != nil, "%s: %d objects", name, n)
	}
}

func TestAnSVGHasASizeInMillimetres(t *testing.T) {
	q, err := Encode(scanned, Usual)
	expect.OK(t, err)
	expect.Contains(t, string(q.SVG(12.5)), ` width="12.5mm" height="12.5mm" viewBox="0 0 33 33"`)
	expect.That(t, !strings.Contains(string(q.SVG(0)), "mm"), "a size is told that nobody has asked for")
	s := Usual
	s.Color, s.Background.None = Color{R: 0x1d, G: 0x35, B: 0x57}, true
	q, err = Encode(scanned, s)
	expect.OK(t, err)
	svg := string(q.SVG(0))
	expect.That(t, strings.Contains(svg, `<path fill="#1d3557" d="`) && strings.Count(svg, "<path") == 1, "got %s", svg)
}

func TestContrastIsThatOfWCAG(t *testing.T) {
	for pair, want := range map[[2]string]string{
		{"#000", "#fff"}: "21.00", {"#fff", "#000"}: "0.05", {"#949494", "#ffffff"}: "3.03", {"#959595", "#ffffff"}: "3.00",
		{"#ff0000", "#ffffff"}: "4.00", {"#ffff00", "#ffffff"}: "1.07", {"#1d3557", "transparent"}: "12.36",
	} {
		dark, ok := ParseColor(pair[0])
		light, also := ParseColor(pair[1])
		expect.That(t, ok && also, "%v", pair)
		expect.Equal(t, fmt.Sprintf("%.2f", Contrast(dark, light)), want, pair)
	}
	for _, text := range []string{"", "#", "red", "red;x", "#12", "#12345", "#1234567", "#gggggg", "##123456", "123456#", "#１２３", "#12 456", "Transparent", "url(#x)", "\"/><script>"} {
		_, ok := ParseColor(text)
		expect.That(t, !ok, "%q is a color", text)
	}
}
