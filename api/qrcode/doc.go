// Package qrcode draws a text as a QR code: in SVG, PNG or PDF, in colors, with a margin, with a logo in the middle. Of
// ours it knows only package picture. A code takes 1 to 2 ms, and with a logo more, so its callers limit how many run
// at once.
//
// # Decisions
//
// PNG is written here (png.go), not by image/png. A QR code has few different rows: for each row of
// modules, one row of pixels is written whole, and the others as "same as the row above"; and it has one
// bit a pixel, but for those with a logo. image/png asks for every pixel and compresses every row. Measured with a
// short address on a shared AMD EPYC; the columns are png.go, image/png with a palette of two colours at BestSpeed, and
// the same at the default level:
//
//	 512 px     0.6 ms, 853 bytes        1.8 ms, 1,001 bytes      1.9 ms, 552 bytes
//	2048 px     1.1 ms, 5,109 bytes       26 ms, 11,291 bytes      26 ms, 2,561 bytes
//
// 26 ms of a core for a request that anybody may send is too much. All three allocate about 1.2 MB
// for the compressor; an image.Paletted would take 4 MB more.
//
// PDF is written here, too: a page with rectangles, and at most one picture. Libraries that write PDF have fonts,
// layout and some thousand lines more.
//
// The square that a logo hides has 18 % of the side of a code of level Q, and 22 % of one of level H: some 3 and 5 % of
// its modules. What it hides is lost to decoders, and a codeword is lost with any of its 8 modules. A test
// decodes codes of all versions that addresses make, in which a square of noise of the size of the logo hides a part
// beside the logo as well: so at least half of what a level repairs is left for dirt and print.
//
// MinContrast is 3, where WCAG draws the line for what must be told from its surroundings. Of a clean raster of grey on
// white, the decoder of the tests reads 2.9 and zbar 1.1 (TestWhatScans, one machine); a camera in bad light needs
// more. A code that is lighter than its background is refused: many scanners read only dark on light (ISO/IEC 18004,
// 6.2).
//
// Files, leaves first: color.go, logo.go, qrcode.go, text.go, svg.go, pdf.go, png.go.
package qrcode
