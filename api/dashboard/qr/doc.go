// Package qr is the page of the QR code of a link: a form for how it looks, a preview, and the pictures as files.
// Package qrorder reads the values, as for the API; what is here is how the form has them. The form is sent with GET,
// so the address of the page is that of a look, which can be kept.
//
// A logo is sent with a form of its own, whose answer is the picture: no logo is kept.
//
// Files, leaves first: form.go, pages.go.
package qr
