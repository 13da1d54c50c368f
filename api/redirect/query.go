package redirect

import (
	"bytes"
	"net/url"
	"slices"

	"shunt/engine/extras"
	"shunt/engine/index"
)

// addPath adds rest, which begins with one slash, to the path of the target at the end of buf, which begins at at.
// There is one slash between both, so that the host stays what it is.
func addPath(buf []byte, at int, rest []byte) []byte {
	end := len(buf)
	if more := bytes.IndexAny(buf[at:], "?#"); more >= 0 {
		end = at + more
	}
	if buf[end-1] == '/' {
		rest = rest[1:]
	}
	return slices.Insert(buf, end, rest...)
}

// forward passes query, which is not empty, on to the target of l at the end of buf, which begins at at, in the way
// that l asks for.
func forward(buf []byte, at int, l index.Link, query []byte) []byte {
	if l.Unusual() {
		switch extras.QueryOf(l.Extras()) {
		case extras.Override:
			return override(buf, at, query)
		case extras.Keep:
			return keep(buf, at, query)
		}
	}
	return addQuery(buf, at, query)
}

// addQuery adds query to the target at the end of buf, which begins at at: before its fragment.
func addQuery(buf []byte, at int, query []byte) []byte {
	if len(query) == 0 {
		return buf
	}
	head := beforeFragment(buf[at:])
	end := at + len(head)
	switch mark := bytes.IndexByte(head, '?'); {
	case mark < 0:
		buf, end = slices.Insert(buf, end, '?'), end+1
	case mark < len(head)-1 && head[len(head)-1] != '&':
		buf, end = slices.Insert(buf, end, '&'), end+1
	}
	return slices.Insert(buf, end, query...)
}

func beforeFragment(target []byte) []byte {
	if i := bytes.IndexByte(target, '#'); i >= 0 {
		return target[:i]
	}
	return target
}

// Parameters are told apart by their names: what stands before the first = between two &, decoded as a form is, so that
// a name is the same in whatever way it is written. Values stay as they were sent. Of several parameters of one name,
// all go or none. Names are sorted, because both queries may have thousands: with each compared to each, a visitor
// could hold up an event loop for some 10 ms.

// fewNames is how many parameters take no memory, if their names are not encoded.
const fewNames = 16

// override adds query as addQuery does, and removes the parameters of the target whose names query has.
func override(buf []byte, at int, query []byte) []byte {
	head := beforeFragment(buf[at:])
	begin, end := at+bytes.IndexByte(head, '?')+1, at+len(head)
	if begin == at { // no ?
		return addQuery(buf, at, query)
	}
	var room [fewNames][]byte
	own := appendWithout(buf[begin:begin], buf[begin:end], namesOf(room[:0], query)) // in place: it only gets shorter
	return addQuery(slices.Delete(buf, begin+len(own), end), at, query)
}

// keep adds the parameters of query as addQuery does, but those whose names the target has.
func keep(buf []byte, at int, query []byte) []byte {
	_, own, _ := bytes.Cut(beforeFragment(buf[at:]), []byte{'?'})
	var names [fewNames][]byte
	var room [256]byte
	return addQuery(buf, at, appendWithout(room[:0], query, namesOf(names[:0], own)))
}

// appendWithout appends to dst the parameters of query whose names are not among names, which are sorted.
func appendWithout(dst, query []byte, names [][]byte) []byte {
	begin := len(dst)
	for part := range bytes.SplitSeq(query, []byte{'&'}) {
		if _, found := slices.BinarySearchFunc(names, nameOf(part), bytes.Compare); found {
			continue
		}
		if len(dst) > begin {
			dst = append(dst, '&')
		}
		dst = append(dst, part...)
	}
	return dst
}

// namesOf appends the names of the parameters of query to dst, which is empty, and sorts them.
func namesOf(dst [][]byte, query []byte) [][]byte {
	for part := range bytes.SplitSeq(query, []byte{'&'}) {
		if len(part) > 0 {
			dst = append(dst, nameOf(part))
		}
	}
	slices.SortFunc(dst, bytes.Compare)
	return dst
}

// nameOf returns the name of a parameter, decoded if it is well-formed. It aliases part if nothing is encoded.
func nameOf(part []byte) []byte {
	name, _, _ := bytes.Cut(part, []byte{'='})
	if bytes.IndexByte(name, '%') < 0 && bytes.IndexByte(name, '+') < 0 {
		return name
	}
	if decoded, err := url.QueryUnescape(string(name)); err == nil {
		return []byte(decoded)
	}
	return name
}
