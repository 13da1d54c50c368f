package symbols

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"shunt/engine/expect"
)

// addresses returns n addresses of the kind that people shorten, which depend on seed.
func addresses(n int, seed uint64) (texts [][]byte) {
	const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	hosts := [...]string{
		"github.com", "www.example.com", "docs.example.org", "gitlab.com", "news.example.net", "shop.example.de",
		"video.example.com", "pypi.org", "metacpan.org",
	}
	words := [...]string{
		"project", "release", "spring", "sale", "report", "annual", "meeting", "photos", "library", "tools", "python", "ruby",
		"network", "client", "server", "parser", "client-side", "annual_report", "team", "invitation", "index.html", "docs", "blog", "wiki",
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		b := append([]byte("https://"), hosts[rng.IntN(rng.IntN(len(hosts))+1)]...)
		for range 1 + rng.IntN(3) {
			b = append(append(b, '/'), words[rng.IntN(len(words))]...)
		}
		if rng.IntN(2) == 0 {
			b = append(b, "?id="...)
			for range 8 {
				b = append(b, base62[rng.IntN(len(base62))])
			}
		}
		texts = append(texts, b)
	}
	return texts
}

// randomText returns n random bytes.
func randomText(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// trained are tables of all kinds; they are trained once.
var trained = sync.OnceValue(func() map[string]*Table {
	rng := rand.New(rand.NewPCG(3, 3))
	var noise [][]byte
	for range 500 {
		noise = append(noise, randomText(rng, rng.IntN(100)))
	}
	return map[string]*Table{
		"no samples":        Train(nil),
		"empty samples":     Train([][]byte{nil, {}, nil}),
		"one sample":        Train([][]byte{[]byte("https://example.com/a")}),
		"one byte":          Train([][]byte{bytes.Repeat([]byte("a"), 5000)}),
		"addresses":         Train(addresses(4096, 1)),
		"random bytes":      Train(noise),
		"letters in Arabic": Train([][]byte{[]byte("https://example.com/مرحبا/بالعالم"), []byte("https://example.com/العالم")}),
	}
})

var humanTexts = map[string]string{
	"nothing":                    "",
	"one letter":                 "a",
	"one byte beyond ASCII":      "\xff",
	"an address":                 "https://github.com/project/tools?id=Zx81Qy7a",
	"an address in Arabic":       "https://example.com/مرحبا",
	"a space in the middle":      "https://example.com/a b/c",
	"a zero at the start":        "\x00https://example.com/",
	"zeros":                      strings.Repeat("\x00", 40),
	"one letter, 8192 times":     strings.Repeat("a", 8192),
	"an address of 8192 bytes":   "https://example.com/" + strings.Repeat("ab/", 8172/3),
	"an address, 100,000 bytes":  "https://example.com/" + strings.Repeat("report/", 14283),
	"a byte without a code last": "https://example.com/" + strings.Repeat("report/", 100) + "\x01",
}

func TestATextIsDecodedToItself(t *testing.T) {
	for kind, table := range trained() {
		for name, text := range humanTexts {
			t.Run(kind+"/"+name, func(t *testing.T) { roundTrip(t, table, []byte(text)) })
		}
	}
}

// roundTrip checks all that the package promises about one text.
func roundTrip(t *testing.T, table *Table, text []byte) {
	t.Helper()
	before := []byte("before")
	coded := table.Append(slices.Clone(before), text)
	expect.MustThat(t, bytes.HasPrefix(coded, before), "coding changed what was there before: %q", coded)
	coded = coded[len(before):]
	most := len(text)
	if strings.ContainsFunc(string(text), notAddress) {
		most += MaxGrowthBytes
	}
	expect.That(t, len(coded) <= most, "%q: %d bytes coded, want at most %d", text, len(coded), most)
	for _, room := range []int{0, 1, len(text) / 2, len(text), len(text) + maxSymbolBytes} {
		dst := append(make([]byte, 0, len(before)+room), before...)
		plain := table.AppendPlain(dst, coded)
		expect.MustThat(t, bytes.HasPrefix(plain, before) && bytes.Equal(plain[len(before):], text), "with room for %d bytes: got %q, want %q", room, plain, text)
	}
	expect.Equal(t, table.PlainBytes(coded), len(text), "PlainBytes")
}

func notAddress(r rune) bool { return !strings.ContainsRune(addressBytes, r) }

func FuzzATextIsDecodedToItself(f *testing.F) {
	f.Add([]byte("https://example.com/a\nhttps://example.com/b"), []byte("https://example.com/c"))
	f.Add([]byte(nil), []byte("\x00\xff"))
	f.Add(bytes.Repeat([]byte("ab\xff\n"), 100), bytes.Repeat([]byte("ab\xff"), 100))
	f.Fuzz(func(t *testing.T, samples, text []byte) {
		table := Train(bytes.Split(samples, []byte("\n")))
		roundTrip(t, table, text)
	})
}

func FuzzAnyBytesAreDecoded(f *testing.F) {
	f.Add([]byte{1, 255, 0, 7})
	f.Add(bytes.Repeat([]byte{1}, 100))
	f.Fuzz(func(t *testing.T, coded []byte) {
		for _, table := range trained() {
			plain := table.AppendPlain(nil, coded)
			if len(plain) != table.PlainBytes(coded) || len(plain) > maxSymbolBytes*len(coded) {
				t.Fatalf("%q: got %d bytes, PlainBytes says %d", coded, len(plain), table.PlainBytes(coded))
			}
			again := table.AppendPlain(make([]byte, 0, len(plain)+maxSymbolBytes), coded)
			expect.MustThat(t, bytes.Equal(again, plain), "%q: got %q with room, %q without", coded, again, plain)
		}
	})
}

func TestTheCodingIsTheShortest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for kind, table := range trained() {
		texts := append(addresses(200, 6), randomText(rng, 50), randomText(rng, 300), bytes.Repeat([]byte("a"), 333))
		for _, text := range texts {
			expect.Equal(t, len(table.Append(nil, text)), shortest(table, text), "%s: %q bytes", kind, text)
		}
	}
}

// shortest returns the length of the shortest coding of a text, found by trying every symbol at
// every place.
func shortest(table *Table, text []byte) int {
	least := make([]int, len(text)+1) // of each end of the text
	for i := len(text) - 1; i >= 0; i-- {
		least[i] = 1 + len(text) - i
		for code := 1; code < numCodes; code++ {
			n := int(table.lengths[code])
			if n > 0 && bytes.HasPrefix(text[i:], table.symbols[code][:n]) {
				least[i] = min(least[i], 1+least[i+n])
			}
		}
	}
	return least[0]
}

func TestEachAddressByteHasACodeInEveryTable(t *testing.T) {
	expect.MustEqual(t, len(addressBytes), 85, "address bytes")
	for kind, table := range trained() {
		for i := range len(addressBytes) {
			text := []byte(addressBytes[i : i+1])
			coded := table.Append(nil, text)
			expect.That(t, len(coded) == 1 && coded[0] != plainFollows, "%s: %q is coded as %v, want one code", kind, text, coded)
		}
	}
}

func TestATableHasEachSymbolOnce(t *testing.T) {
	for kind, table := range trained() {
		seen := make(map[string]bool)
		for code := 1; code < numCodes; code++ {
			s := string(table.symbols[code][:table.lengths[code]])
			expect.That(t, s != "" && !seen[s], "%s: symbol %d is %q: none, or a second one", kind, code, s)
			seen[s] = true
		}
	}
}

func TestCodingAndDecodingWithRoomAllocateNothing(t *testing.T) {
	table := trained()["addresses"]
	for name, text := range humanTexts {
		t.Run(name, func(t *testing.T) {
			plain := []byte(text)
			coded, room := table.Append(nil, plain), make([]byte, 0, len(plain)+maxSymbolBytes)
			codedRoom := make([]byte, 0, len(plain)+MaxGrowthBytes)
			if n := testing.AllocsPerRun(10, func() { table.Append(codedRoom, plain) }); n != 0 {
				t.Errorf("Append: got %v allocations", n)
			}
			if n := testing.AllocsPerRun(10, func() { table.AppendPlain(room, coded) }); n != 0 {
				t.Errorf("AppendPlain: got %v allocations", n)
			}
		})
	}
}

func TestNothingOutsideOfTheRoomIsTouched(t *testing.T) {
	table := trained()["addresses"]
	for _, text := range addresses(200, 9) {
		coded := table.Append(nil, text)
		for _, room := range []int{0, 5, len(text), len(text) + maxSymbolBytes - 1, len(text) + maxSymbolBytes} {
			memory := bytes.Repeat([]byte{0xa5}, room+2*maxSymbolBytes)
			table.AppendPlain(memory[:0:room], coded)
			table.Append(memory[:0:room], text)
			rest := memory[room:]
			expect.MustThat(t, bytes.Equal(rest, bytes.Repeat([]byte{0xa5}, len(rest))), "with room for %d bytes: wrote behind them: %x", room, rest)
		}
	}
}

func TestOneTableServesManyGoroutines(t *testing.T) {
	table := trained()["addresses"]
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			for _, text := range addresses(500, g) {
				got := table.AppendPlain(nil, table.Append(nil, text))
				expect.That(t, bytes.Equal(got, text), "got %q, want %q", got, text)
			}
		})
	}
	wg.Wait()
}

func TestATableIsStaleWhenTextsAreAFifthLongerThanAtFirst(t *testing.T) {
	const plain = 1 << 20
	table := trained()["addresses"]
	for factor, want := range map[float64]bool{1: false, 1.15: false, 1.19: false, 1.21: true, 2: true} {
		expect.Equal(t, table.Stale(plain, uint64(factor*table.Ratio()*plain)), want, "texts that take %.2f times as much as at first: stale", factor)
	}
}

func TestATableIsStaleOnceTextsChange(t *testing.T) {
	sum := func(table *Table, texts [][]byte) (plain, coded uint64) {
		for _, text := range texts {
			plain, coded = plain+uint64(len(text)), coded+uint64(len(table.Append(nil, text)))
		}
		return plain, coded
	}
	table, noise := trained()["addresses"], rand.New(rand.NewPCG(8, 8))
	var foreign [][]byte
	for range 4096 {
		foreign = append(foreign, fmt.Appendf(nil, "ftp://%x.invalid/%d", noise.Uint64(), noise.Uint64()))
	}
	for name, c := range map[string]struct {
		table *Table
		texts [][]byte
		want  bool
	}{
		"texts like the samples":                {table, addresses(4096, 77), false},
		"other texts":                           {table, foreign, true},
		"too few other texts":                   {table, foreign[:100], false},
		"any texts by a table without samples":  {trained()["no samples"], addresses(4096, 78), true},
		"few texts by a table without samples":  {trained()["no samples"], addresses(10, 78), false},
		"other texts after training with them":  {Train(foreign), foreign, false},
		"no texts":                              {table, nil, false},
		"no texts by a table without samples":   {trained()["no samples"], nil, false},
		"texts by a table of one sample":        {trained()["one sample"], foreign, true},
		"half of the texts are like other ones": {table, append(addresses(2048, 80), foreign...), true},
	} {
		t.Run(name, func(t *testing.T) {
			if plain, coded := sum(c.table, c.texts); c.table.Stale(plain, coded) != c.want {
				t.Errorf("ratio %.3f, now %.3f: got Stale %v", c.table.Ratio(), float64(coded)/float64(plain), !c.want)
			}
		})
	}
}
