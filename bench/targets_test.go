package bench

import (
	"bufio"
	"bytes"
	"os"
	"sync"
)

// A kind of targets that links may have.
type kind struct {
	name   string
	append func(dst []byte, i uint64) []byte // appends the target of link i
	plain  bool                              // the engine keeps them as they are
}

// plain returns targets that the engine does not code.
func plain(k kind) kind { return kind{k.name, k.append, true} }

// label names k among the kinds of a benchmark.
func (k kind) label() string {
	if k.plain {
		return "plain"
	}
	return k.name
}

var generated = kind{name: "generated", append: appendTarget}

// urls is the kind of SHUNT_BENCH_URLS=FILE: the http addresses of the file, one per line, each with
// ?id= (or &id=) and 8 random characters, so that there are enough and no two are equal. Without the
// variable, targets are generated.
var urls = sync.OnceValue(func() kind {
	name := os.Getenv("SHUNT_BENCH_URLS")
	if name == "" {
		return generated
	}
	addresses, err := readAddresses(name)
	if err != nil {
		panic(err)
	}
	return kind{name: "urls", append: func(dst []byte, i uint64) []byte {
		address := addresses[mix(i)%uint64(len(addresses))]
		dst = append(dst, address...)
		if bytes.IndexByte(address, '?') < 0 {
			dst = append(dst, "?id="...)
		} else {
			dst = append(dst, "&id="...)
		}
		return appendCode(dst, mix(i))
	}}
})

func readAddresses(name string) (addresses [][]byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if a := lines.Bytes(); bytes.HasPrefix(a, []byte("http")) && len(a) < 1<<10 && bytes.IndexByte(a, '#') < 0 {
			addresses = append(addresses, bytes.Clone(a))
		}
	}
	return addresses, lines.Err()
}

// random has as many bytes as like has, but random ones: no table of symbols can make them shorter.
func random(like kind) kind {
	return kind{name: "random", append: func(dst []byte, i uint64) []byte {
		start := len(dst)
		dst = like.append(dst, i)
		for k := start; k < len(dst); k++ {
			i += 0x9e3779b97f4a7c15
			dst[k] = byte(mix(i))
		}
		return dst
	}}
}

// meanBytes is the mean length of the targets of n links.
func (k kind) meanBytes(n uint64) float64 {
	const samples = 100_000
	sum := 0
	var room []byte
	for i := range uint64(samples) {
		room = k.append(room[:0], mix(i)%n)
		sum += len(room)
	}
	return float64(sum) / samples
}
