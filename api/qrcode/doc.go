// Package qrcode draws a text as a QR code, in SVG or in PNG of a given width. It is a leaf: it
// imports none of our packages. A code takes 1 to 2 ms, so its callers, the handlers of GET
// /{code}.svg and /{code}.png, limit how many run at once.
//
// # Decisions
//
// PNG is written here (png.go), not by image/png. A QR code has one bit a pixel and few different
// rows: for each row of modules, one row of pixels is written whole, and the others as "same as the
// row above". image/png asks for every pixel and compresses every row. Measured with a short
// address on a shared AMD EPYC; the columns are png.go, image/png with a palette of two colours at
// BestSpeed, and the same at the default level:
//
//	 512 px     0.6 ms, 853 bytes        1.8 ms, 1,001 bytes      1.9 ms, 552 bytes
//	2048 px     1.1 ms, 5,109 bytes       26 ms, 11,291 bytes      26 ms, 2,561 bytes
//
// 26 ms of a core for a request that anybody may send is too much. All three allocate about 1.2 MB
// for the compressor; an image.Paletted would take 4 MB more.
package qrcode
