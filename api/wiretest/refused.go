// Package wiretest has raw requests, for tests of everything that reads them: requests that could
// be read in two ways, and requests that are unusual but valid. The server must refuse or answer
// them, proxies in front of it forward some, and fuzz tests start from them.
package wiretest

import (
	"strconv"
	"strings"
)

// A Row is a request, with the section of RFC 9110 (H:) or RFC 9112 (M:) that applies to it.
type Row struct {
	Name, Section, Raw string
	Want               []int // the statuses that are allowed
}

// Smuggled is a request that is hidden after others. Its link is requested in no other way, so a
// hit of it shows that it was read as a request.
const Smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

// on returns the rows of one subject: for each variant, request with the variant in place of §.
func on(subject, section, request string, want []int, variants ...string) (rows []Row) {
	for _, v := range variants {
		rows = append(rows, Row{subject + " " + shown(v), section, strings.Replace(request, "§", v, 1), want})
	}
	return rows
}

// shown returns v in a form for the name of a test.
func shown(v string) string {
	if len(v) > 40 {
		v = v[:30] + "…"
	}
	return strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(v), `"`), "/", "∕")
}

var (
	bad      = []int{400}
	badOr501 = []int{400, 501}
	tooLong  = []int{414}
	tooLarge = []int{431}
	badOr413 = []int{400, 413}
	badOr505 = []int{400, 505}
)

// Requests with a placeholder, §. /keep is a link that redirects every method, so that a request
// which is accepted by mistake shows in the counts.
const (
	withField  = "GET /keep HTTP/1.1\r\nHost: a\r\n§\r\n\r\n"
	withLength = "POST /keep HTTP/1.1\r\nHost: a\r\nContent-Length:§\r\n\r\nabcde"
	withCoding = "POST /keep HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:§\r\n\r\n0\r\n\r\n"
	withChunks = "POST /keep HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n§"
	withLine   = "§\r\nHost: a\r\n\r\n"
	withHost   = "GET /keep HTTP/1.1\r\n§\r\n\r\n"
	withTarget = "GET § HTTP/1.1\r\nHost: a\r\n\r\n"
	withBoth   = "POST /keep HTTP/1.1\r\nHost: a\r\n§\r\n\r\n0\r\n\r\n"
)

// maxRequestLine is the longest request line that the server accepts.
const maxRequestLine = 9 << 10

// Refused returns requests that are refused and after which the connection is closed. /keep is a
// link that redirects every method.
func Refused() (rows []Row) {
	for _, of := range [][]Row{
		lengthRows(), codingRows(), chunkRows(), trailerRows(), lineRows(), fieldRows(), requestLineRows(), hostRows(),
		targetRows(), sizeRows(), bodyRows(),
	} {
		rows = append(rows, of...)
	}
	return rows
}

func lengthRows() []Row {
	rows := on("length", "H:8.6", withLength, badOr413,
		" +5", " -5", " -0", " 5,5", " 5, 5", " 5 5", " 5;5", " 0x5", " 5h", " five", " 5.0", " 5e0", "", " ", " \t", " ５", " 05x", " '5'", " \"5\"",
		" 5\x00", " 5\x0b", " 5\x0c", " \x0b5", " \xa05", " 5\r", " \r5", " 5_0", " 1_000", " ٥",
		" 9223372036854775808", " 18446744073709551616", " 18446744073709551621", " 99999999999999999999999999",
		" 00000000000000000005", " 9223372036854775807", " 999999999999999999", " 4294967296", " 2147483653")
	return append(append(rows, on("two lengths", "M:6.3", withField, bad,
		"Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 0\r\nContent-Length: 5",
		"Content-Length: 5\r\ncontent-length: 0", "Content-Length: 0\r\nX: y\r\nCONTENT-LENGTH: 0", "Content-Length:\r\nContent-Length: 5")...),
		on("length of POST twice", "M:6.3", withBoth, bad,
			"Content-Length: 5\r\nContent-Length: 5", "Content-Length: 0\r\nContent-Length: 5", "content-length: 5\r\nContent-Length: 0")...)
}

func codingRows() []Row {
	rows := on("coding", "M:6.1", withCoding, badOr501,
		" identity", " xchunked", " chunkedx", " chunk", " chunked, identity", " identity, chunked", " chunked, chunked", " gzip", " gzip, chunked",
		" chunked, gzip", " chunked;q=1", " chunked;", " ;chunked", ",chunked", " chunked,", " , chunked", " ", "", " \"chunked\"", " 'chunked'",
		" \x0bchunked", " chunked\x0b", " chunked\x0c", " \x00chunked", " chunked\x00", " chun\x00ked", " chunked\r", " \rchunked", " \xa0chunked", " chunked\x85",
		" x chunked", " chunked chunked", " deflate, gzip, chunked", " ｃhunked", " chun\u212Aed", // the kelvin sign, which is a k in Unicode
		" trailers", " compress", " cow", " chunked, cow", " none")
	rows = append(rows, on("coding and length", "M:6.1", withBoth, bad,
		"Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length: 5\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 0",
		"content-length: 5\r\ntransfer-encoding: chunked", "TRANSFER-ENCODING: CHUNKED\r\nCONTENT-LENGTH: 5", "Transfer-Encoding: chunked\r\nContent-Length: x",
		"Transfer-Encoding: identity\r\nContent-Length: 5", "Content-Length: 5\r\nX: y\r\nTransfer-Encoding: chunked")...)
	rows = append(rows, on("two codings", "M:6.1", withBoth, bad,
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
		"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\ntransfer-encoding: cow",
		"Transfer-Encoding:\r\nTransfer-Encoding: chunked")...)
	rows = append(rows, on("disguised coding", "M:5.1", withBoth, bad,
		"Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", " Transfer-Encoding: chunked", "\tTransfer-Encoding: chunked", "Transfer Encoding: chunked",
		"Transfer-Encoding\x00: chunked", "Transfer-Encoding\r: chunked", "Transfer-Encoding:\r\n chunked", "Transfer-Encoding:\n chunked", "X: y\nTransfer-Encoding: chunked",
		"X: y\rTransfer-Encoding: chunked", "X: y\r\rTransfer-Encoding: chunked", "\x0bTransfer-Encoding: chunked", "Transfer-Encoding chunked")...)
	return append(rows, on("coding in HTTP/1.0", "M:6.1", "POST /keep HTTP/1.0\r\nHost: a\r\n§\r\n\r\n0\r\n\r\n", bad,
		"Transfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nConnection: keep-alive", "Transfer-Encoding: chunked\r\nContent-Length: 5")...)
}

func chunkRows() []Row {
	rows := on("chunk size", "M:7.1", withChunks, badOr413,
		"+5\r\nabcde\r\n0\r\n\r\n", "-5\r\nabcde\r\n0\r\n\r\n", "0x5\r\nabcde\r\n0\r\n\r\n", "5h\r\nabcde\r\n0\r\n\r\n", "g\r\n\r\n", "\r\n", " 5\r\nabcde\r\n0\r\n\r\n",
		"\t5\r\nabcde\r\n0\r\n\r\n", "5 \r\nabcde\r\n0\r\n\r\n", "5\t\r\nabcde\r\n0\r\n\r\n", "5 5\r\nabcde\r\n0\r\n\r\n", "5,\r\nabcde\r\n0\r\n\r\n", "5_\r\nabcde\r\n0\r\n\r\n",
		"5\x00\r\nabcde\r\n0\r\n\r\n", "\x005\r\nabcde\r\n0\r\n\r\n", "5.\r\nabcde\r\n0\r\n\r\n", "ffffffffffffffff\r\nabcde\r\n0\r\n\r\n", "10000000000000005\r\nabcde\r\n0\r\n\r\n",
		"0000000000000000000005\r\nabcde\r\n0\r\n\r\n", "7fffffffffffffff\r\nabcde\r\n", "fffffffffffffff\r\nabcde\r\n", "-0\r\n\r\n", "+0\r\n\r\n", "０\r\n\r\n", "0,\r\n\r\n")
	rows = append(rows, on("chunk line", "M:7.1", withChunks, bad,
		"5\nabcde\r\n0\r\n\r\n", "5\rabcde\r\n0\r\n\r\n", "5\r\r\nabcde\r\n0\r\n\r\n", "5\n\rabcde\r\n0\r\n\r\n", "5\r\nabcde\n0\r\n\r\n", "5\r\nabcde\r0\r\n\r\n", "5\r\nabcde0\r\n\r\n",
		"5\r\nabcdef\r\n0\r\n\r\n", "5\r\nabcd\r\n0\r\n\r\n", "5\r\nabcde\r\n\r\n0\r\n\r\n", "5\r\nabcde\r\n0\n\r\n", "5\r\nabcde\r\n0\r\n\n", "5\r\nabcde\r\n0\n\n", "0\r\n\n", "0\n\r\n", "0\r\r\n\r\n")...)
	return append(rows, on("chunk extension", "M:7.1.1", withChunks, []int{400, 431},
		"5;\r\nabcde\r\n0\r\n\r\n", "5;a\nabcde\r\n0\r\n\r\n", "5;a\x00b\r\nabcde\r\n0\r\n\r\n", "5;a\rb\r\nabcde\r\n0\r\n\r\n", "5;\nabcde\r\n0\r\n\r\n", "5; \r\nabcde\r\n0\r\n\r\n", "5;=x\r\nabcde\r\n0\r\n\r\n",
		"5;;a\r\nabcde\r\n0\r\n\r\n", "5;a=\"\n\"\r\nabcde\r\n0\r\n\r\n", "5;a=\"\r\n\"\r\nabcde\r\n0\r\n\r\n", "0;a\n\r\n", "0;\r\n\r\n", "5;a=\x7f\r\nabcde\r\n0\r\n\r\n",
		"5;"+strings.Repeat("x", 8<<10)+"\r\nabcde\r\n0\r\n\r\n", strings.Repeat("1;aaaaaaaa\r\nx\r\n", 1000)+"0\r\n\r\n", "5 x\r\nabcde\r\n0\r\n\r\n")...)
}

func trailerRows() []Row {
	return on("trailer", "M:7.1.2", withChunks, []int{400, 431},
		"0\r\nX\r\n\r\n", "0\r\nX : y\r\n\r\n", "0\r\n X: y\r\n\r\n", "0\r\nX: y\r\n z\r\n\r\n", "0\r\nX: y\n\r\n", "0\r\nX: y\r\n\n", "0\r\nX: y\n\n", "0\r\nX: \x00\r\n\r\n", "0\r\nX: a\rb\r\n\r\n", "0\r\n: y\r\n\r\n",
		"0\r\nX\x00: y\r\n\r\n", "0\r\nX: "+strings.Repeat("y", 8<<10)+"\r\n\r\n", "0\r\n"+strings.Repeat("X: y\r\n", 2000)+"\r\n", "0\r\n\rX: y\r\n\r\n", "0\r\nGET /keep HTTP/1.1\r\n\r\n")
}

func lineRows() []Row {
	rows := []Row{
		{"LF after the request line", "M:2.2", "GET /keep HTTP/1.1\nHost: a\r\n\r\n", bad},
		{"LF after a field", "M:2.2", "GET /keep HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", bad},
		{"LF at the end", "M:2.2", "GET /keep HTTP/1.1\r\nHost: a\r\n\n", bad},
		{"LF only", "M:2.2", "GET /keep HTTP/1.1\nHost: a\n\n", bad},
		{"LF LF after a field", "M:2.2", "GET /keep HTTP/1.1\r\nHost: a\n\n", bad},
		{"LF before the request", "M:2.2", "\nGET /keep HTTP/1.1\r\nHost: a\r\n\r\n", bad},
		{"CR after the request line", "M:2.2", "GET /keep HTTP/1.1\rHost: a\r\n\r\n", bad},
		{"CR after a field", "M:2.2", "GET /keep HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", bad},
		{"CR CR LF after the request line", "M:2.2", "GET /keep HTTP/1.1\r\r\nHost: a\r\n\r\n", bad},
		{"CR CR LF after a field", "M:2.2", "GET /keep HTTP/1.1\r\nHost: a\r\r\n\r\n", bad},
		{"CR CR LF at the end", "M:2.2", "GET /keep HTTP/1.1\r\nHost: a\r\n\r\r\n", bad},
		{"CR before the request", "M:2.2", "\rGET /keep HTTP/1.1\r\nHost: a\r\n\r\n", bad},
		{"two empty lines before the request", "M:2.2", "\r\n\r\nGET /keep HTTP/1.1\r\nHost: a\r\n\r\n", bad},
		{"many empty lines before the request", "M:2.2", strings.Repeat("\r\n", 500) + "GET /keep HTTP/1.1\r\nHost: a\r\n\r\n", bad},
		{"LF CR", "M:2.2", "GET /keep HTTP/1.1\n\rHost: a\n\r\n\r", bad},
		{"space before the first field", "M:2.2", "GET /keep HTTP/1.1\r\n Host: a\r\n\r\n", bad},
		{"tab before the first field", "M:2.2", "GET /keep HTTP/1.1\r\n\tHost: a\r\n\r\n", bad},
		{"no fields and LF at the end", "M:2.2", "GET /keep HTTP/1.0\r\n\n", bad},
		{"byte order mark", "M:3", "\xef\xbb\xbfGET /keep HTTP/1.1\r\nHost: a\r\n\r\n", bad},
		{"TLS", "M:3", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", bad},
		{"SSH", "M:3", "SSH-2.0-OpenSSH_9.2\r\n", bad},
		{"PROXY protocol", "M:3", "PROXY TCP4 192.0.2.1 192.0.2.2 56324 80\r\nGET /keep HTTP/1.1\r\nHost: a\r\n\r\n", bad},
		{"PROXY protocol, version 2", "M:3", "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x01\xc0\x00\x02\x02\xdc\x04\x00\x50", bad},
		{"memcached", "M:3", "stats\r\n", bad},
		{"Redis", "M:3", "*1\r\n$4\r\nPING\r\n", bad},
		{"SMTP", "M:3", "EHLO a\r\n", bad},
	}
	return append(rows, on("folded line", "M:5.2", withField, bad,
		"X: y\r\n z", "X: y\r\n\tz", "X:\r\n y", "X: y\r\n ", "X: y\r\n \r\n z", "X: y\r\n Content-Length: 5", "Connection:\r\n close")...)
}

func fieldRows() []Row {
	rows := on("name", "M:5.1", withField, bad,
		"X : y", "X\t: y", " X: y", ": y", ":", "X", "X y", "X y: z", "X(: y", "X): y", "X<: y", "X>: y", "X@: y", "X,: y", "X;: y", "X\\: y", "X\": y", "X/: y", "X[: y", "X]: y", "X?: y",
		"X=: y", "X{: y", "X}: y", "X\x00: y", "X\x01: y", "X\x0b: y", "X\x7f: y", "X\x80: y", "Xé: y", "\x00: y", "Host : b", "Content-Length : 5", "Content Length: 5", "\xffHost: b")
	return append(rows, on("value", "H:5.5", withField, bad,
		"X: \x00", "X: y\x00z", "X: \x01", "X: \x02", "X: \x07", "X: \x08", "X: \x0b", "X: \x0c", "X: \x0e", "X: \x1b[2J", "X: \x1f", "X: \x7f", "X: y\rz", "X: \r", "X: y\r\rz")...)
}

func requestLineRows() []Row {
	rows := on("request line", "M:3", withLine, bad,
		"GET  /keep HTTP/1.1", "GET /keep  HTTP/1.1", "GET /keep HTTP/1.1 ", " GET /keep HTTP/1.1", "\tGET /keep HTTP/1.1", "GET\t/keep\tHTTP/1.1", "GET\t/keep HTTP/1.1", "GET /keep\tHTTP/1.1",
		"GET /ke ep HTTP/1.1", "GET/keep HTTP/1.1", "GET /keepHTTP/1.1", "GET HTTP/1.1", "/keep HTTP/1.1", "GET /keep", "GET", "GET ", "GET  HTTP/1.1", "GET /keep HTTP/1.1 x", "GET\x0b/keep HTTP/1.1",
		"GET /keep\x00 HTTP/1.1", "GET\x00 /keep HTTP/1.1", "HTTP/1.1 200 OK")
	rows = append(rows, on("version", "H:2.5", withLine, badOr505,
		"GET /keep HTTP/0.9", "GET /keep HTTP/1.2", "GET /keep HTTP/1.9", "GET /keep HTTP/2.0", "GET /keep HTTP/3.0", "GET /keep HTTP/9.9", "GET /keep http/1.1", "GET /keep Http/1.1", "GET /keep HTTP/1", "GET /keep HTTP/2",
		"GET /keep HTTP/1.", "GET /keep HTTP/.1", "GET /keep HTTP/11", "GET /keep HTTP/1.10", "GET /keep HTTP/01.1", "GET /keep HTTP/1.01", "GET /keep HTTP/1,1", "GET /keep HTTP 1.1", "GET /keep HTTP/a.b", "GET /keep HTTP/-1.1",
		"GET /keep HTTP/+1.1", "GET /keep HTTP/1.1\x00", "GET /keep HTTP\\1.1", "GET /keep HTTPS/1.1", "GET /keep ICY/1.1", "GET /keep SIP/2.0", "GET /keep RTSP/1.0", "GET /keep HTTP/１.1", "PRI * HTTP/2.0")...)
	return append(rows, on("method", "H:9.1", "§ /keep HTTP/1.1\r\nHost: a\r\n\r\n", badOr501,
		"", "G(T", "G\x00T", "GET\x00", "GÉT", "G\x80T", "G,T", "G:T", "G/T", "G;T", "G@T", "G\"T", "G{T", "G\x7fT", "G\rT", "[GET]", strings.Repeat("X", 33), strings.Repeat("X", 5000))...)
}

func hostRows() []Row {
	rows := on("host", "M:3.2", withHost, bad,
		"X: y", "Host:", "Host: ", "Host: \t", "Host: a\r\nHost: a", "Host: a\r\nHost: b", "Host: a\r\nhost: a", "Host:\r\nHost: a", "Host: a\r\nHost:", "Host: a b", "Host: a,b", "Host: a, a", "Host: a/b", "Host: a?b", "Host: a#b",
		"Host: a@b", "Host: u:p@b", "Host: http://a", "Host: a\\b", "Host: a\x00", "Host: \xe9", "Host: a\x7f", "Host: a\x01b", "Host: a:b", "Host: a:80:80", "Host: a:-1", "Host: a:123456", "Host: a:8 0", "Host: :80",
		"Host: ::1", "Host: [::1", "Host: ::1]", "Host: []", "Host: [::1]x", "Host: [::1]:x", "Host: [::1]:80:80", "Host: [a b]", "Host: [::1\x00]", "Host: <a>", "Host: a\"b", "Host: {a}", "Host: a|b", "Host: a^b", "Host: a`b", "Host : a", "Host\t: a", " Host: a", "Hos: a")
	for i := range rows {
		if strings.Contains(rows[i].Raw, "a,b") { // a comma is a sub-delim of reg-name (RFC 3986, 3.2.2)
			rows = append(rows[:i], rows[i+1:]...)
			break
		}
	}
	return rows
}

func targetRows() []Row {
	rows := on("target", "M:3.2", withTarget, bad,
		"keep", "keep/", "*", "a:80", "//", "\x00", "/keep\x00", "/keep\x01", "/keep\x0b", "/keep\x1f", "/keep\x7f", "#", "#/keep", "/keep?x\x00", "/keep?\x1f", "/keep?x y", "/keep?é \xe9", "/keep#x y", "/keep#\x01", "/keep?\x7f", "/keep?x\ry", "?x", "é", "\xffkeep", "/keep\r", "..", "./keep",
		"http:/keep", "http:keep", "http//a/keep", "://a/keep", "ftp://a/keep", "ws://a/keep", "file:///keep", "javascript:/keep", "http://", "http:///keep", "http://?x", "http://u@a/keep", "http://u:p@a/keep", "http://@a/keep",
		"http://a b/keep", "http://a:b/keep", "http://a:123456/keep", "http://[::1/keep", "http://[]/keep", "http://a\\b/keep", "http://a\x00/keep", "http://a#/keep", "http://é/keep", "http://a|b/keep", "https://<a>/keep", "xhttp://a/keep", "http ://a/keep")
	for i := range rows {
		if strings.HasPrefix(rows[i].Raw, "GET // ") { // an origin-form with two empty segments, not a code: 404
			rows = append(rows[:i], rows[i+1:]...)
			break
		}
	}
	return append(rows, on("CONNECT", "H:9.3.6", "CONNECT § HTTP/1.1\r\nHost: a\r\n\r\n", badOr501, "a:80", "a", "/keep", "*", "[::1]:443", "http://a/keep")...)
}

func sizeRows() []Row {
	long := func(n int) string { return strings.Repeat("x", n) }
	rows := on("URI too long", "H:15.5.15", withTarget, tooLong, "/"+long(maxRequestLine), "/keep?"+long(maxRequestLine), "/"+long(20<<10), "/keep?"+long(100<<10), "http://a/"+long(10<<10))
	return append(rows, on("fields too large", "M:5.4", withField, tooLarge,
		"X: "+long(16<<10), "X: "+long(100<<10), long(17<<10)+": y", strings.Repeat("X: "+long(100)+"\r\n", 170)+"X: y", strings.Repeat("X:\r\n", 200)+"X: y",
		strings.Repeat("X:\r\n", 128)+"X:", "Host:"+strings.Repeat(" ", 17<<10)+"a", "Cookie: "+long(17<<10))...)
}

func bodyRows() []Row {
	rows := on("two lengths on", "M:6.3", "§ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcde", bad, "GET /keep", "HEAD /keep", "GET /api/v1/me", "GET http://a/keep")
	rows = append(rows, on("length and chunks on", "M:6.1", "§ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", bad, "GET /keep", "HEAD /keep", "GET /api/v1/me")...)
	rows = append(rows, on("broken chunks on", "M:7.1", "§ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcdef\r\n0\r\n\r\n", bad, "GET /keep", "HEAD /keep")...)
	rows = append(rows, on("chunks in HTTP/1.0 on", "M:6.1", "§ HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", bad, "GET /keep", "HEAD /keep")...)
	for _, method := range []string{"POST", "GET", "HEAD"} {
		rows = append(rows, on("too large for "+method, "H:15.5.14", method+" /keep HTTP/1.1\r\nHost: a\r\n§", []int{413},
			"Content-Length: 65537\r\n\r\n", "Content-Length: 99999999999\r\n\r\n", "Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n",
			"Transfer-Encoding: chunked\r\n\r\n10001\r\n", "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", "Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("8000\r\n"+long32K+"\r\n", 3))...)
	}
	return rows
}

var long32K = strings.Repeat("y", 32<<10)
