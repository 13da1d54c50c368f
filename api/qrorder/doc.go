// Package qrorder reads what somebody asks for of a QR code, and has it drawn: the format, the colors, the margin, the
// level, the size, and the address. Public pages, the API, the dashboard and the command take the same parameters, and
// refuse the same values with the same words. It knows package qrcode, which draws, and no request.
//
// The address in a code is the short address with the parameter that marks scans (redirect.ScanMark); with track=false
// it is the short address alone, and a scan counts as any other click.
//
// Files, leaves first: order.go, parameters.go.
package qrorder
