package api

import (
	"bytes"

	"shunt/engine"
)

// splitURI returns the path and the query of a raw request target, both as they were sent: nothing
// is decoded or cleaned. The path of an absolute-form target (RFC 9112, 3.2.2) is the part after
// the authority.
func splitURI(uri []byte) (path, query []byte) {
	path, query, _ = bytes.Cut(uri, []byte{'?'})
	query, _, _ = bytes.Cut(query, []byte{'#'}) // a request target has no fragment; it must not become the target's
	if len(path) > 0 && path[0] == '/' {
		return path, query
	}
	_, after, absolute := bytes.Cut(path, []byte("://"))
	if !absolute {
		return path, query // "*" and CONNECT's host:port
	}
	slash := bytes.IndexByte(after, '/')
	if slash < 0 {
		return []byte{'/'}, query
	}
	return after[slash:], query
}

// matchCode returns the code that a raw path names: /{code} or /{code}/; nil if it names none.
func matchCode(path []byte) []byte {
	if len(path) < 2 || path[0] != '/' {
		return nil
	}
	code := path[1:]
	if code[len(code)-1] == '/' {
		if code = code[:len(code)-1]; string(code) == "_" { // the overview, dashboard.Root
			return nil
		}
	}
	if !engine.ValidCode(code) {
		return nil
	}
	return code
}
