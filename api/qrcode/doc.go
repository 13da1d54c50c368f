// Package qrcode draws a text as a QR code, in SVG or in PNG of a given width.
// It is a leaf: it knows nothing of ours. It takes 1 to 2 ms a code, so callers bound how many run at once.
// The handlers of GET /{code}.svg and /{code}.png call it.
//
// # Decisions
//
// PNG is written here (png.go), not by image/png. A QR code has one bit a pixel and few different rows:
// one row of pixels is written whole for each row of modules, and the others as "like the one above".
// image/png asks for every pixel and compresses every row. Measured with a short address on an AMD
// EPYC, shared (ours; image/png with a palette of two colours, BestSpeed; the same, default level):
//
//	 512 px     0.6 ms, 853 bytes        1.8 ms, 1,001 bytes      1.9 ms, 552 bytes
//	2048 px     1.1 ms, 5,109 bytes       26 ms, 11,291 bytes      26 ms, 2,561 bytes
//
// 26 ms of a core for a request that anybody may send is too much. Each way allocates about 1.2 MB, for
// the compressor; an image.Paletted would be 4 MB more.
package qrcode
