package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/textproto"
	"strconv"

	"shunt/bench/compare/load"
)

// A protocol is how a link is asked for.
type protocol struct {
	links  int                               // of a request
	append func(b []byte, n uint64) []byte   // appends request n
	check  func(r *bufio.Reader) (err error) // reads an answer whole; an error if it is not what was asked for
}

// writtenTarget appends a target of 64 bytes that differs for each n.
func writtenTarget(b []byte, n uint64) []byte {
	b = append(b, load.TargetStart+"a/page/of/some/length/of/a/"...)
	return fmt.Appendf(b, "%013d", n)
}

// shorten is the protocol of a request for one link over HTTP.
func shorten(address, token string) protocol {
	return protocol{links: 1, check: answerOf(201, nil), append: func(b []byte, n uint64) []byte {
		const bodyBytes = len(`{"url":""}`) + 64
		b = appendHead(b, address, token, "/api/v1/shorten", bodyBytes)
		return append(writtenTarget(append(b, `{"url":"`...), n), `"}`...)
	}}
}

// shortenBulk is the protocol of a request for 1,000 links over HTTP.
func shortenBulk(address, token string) protocol {
	const links = 1000
	return protocol{links: links, check: answerOf(200, []byte(`"created":1000,`)), append: func(b []byte, n uint64) []byte {
		body := []byte("[")
		for i := range uint64(links) {
			if i > 0 {
				body = append(body, ',')
			}
			body = append(writtenTarget(append(body, `{"url":"`...), n*links+i), `"}`...)
		}
		body = append(body, ']')
		return append(appendHead(b, address, token, "/api/v1/shorten/bulk", len(body)), body...)
	}}
}

func appendHead(b []byte, address, token, path string, bodyBytes int) []byte {
	b = append(append(append(b, "POST "...), path...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, address...), "\r\nAuthorization: Bearer "...)
	b = append(append(b, token...), "\r\nContent-Type: application/json\r\nContent-Length: "...)
	return append(strconv.AppendInt(b, int64(bodyBytes), 10), "\r\n\r\n"...)
}

// answerOf returns a reader of HTTP answers that have a status, a Content-Length, and part among the
// first bytes of their body.
func answerOf(status int, part []byte) func(*bufio.Reader) error {
	const start = 64 // of a body
	return func(r *bufio.Reader) error {
		text := textproto.NewReader(r)
		line, err := text.ReadLine()
		if err != nil {
			return err
		}
		head, err := text.ReadMIMEHeader()
		if err != nil {
			return err
		}
		length, err := strconv.Atoi(head.Get("Content-Length"))
		if err != nil || length < 0 {
			return fmt.Errorf("an answer without length: %s", line)
		}
		first, err := r.Peek(min(length, start))
		if err != nil {
			return err
		}
		if len(line) < 12 || line[9:12] != strconv.Itoa(status) || !bytes.Contains(first, part) {
			return fmt.Errorf("the answer is not that links were made: %s: %.300q", line, first)
		}
		_, err = io.CopyN(io.Discard, r, int64(length))
		return err
	}
}
