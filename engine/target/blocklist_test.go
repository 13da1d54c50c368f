package target

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/internal/ascii"
)

func blockList(t testing.TB, lines ...string) *BlockList {
	t.Helper()
	b := new(BlockList)
	skipped, err := b.Replace([]byte(strings.Join(lines, "\n")))
	expect.MustThat(t, err == nil && len(skipped) == 0, "got %v, %v; want every line taken", skipped, err)
	return b
}

// stored returns raw in its stored form.
func stored(t testing.TB, raw string) []byte {
	t.Helper()
	target, err := Policy{}.Parse(raw)
	expect.OK(t, err, raw)
	return []byte(target)
}

func TestLongPathsAreResolvedBeforeTheyAreCompared(t *testing.T) {
	b := blockList(t, "https://shared.example/bad/")
	for raw, want := range map[string]bool{
		"http://shared.example/" + strings.Repeat("a/../", 1000) + "bad/": true,
		"http://shared.example" + strings.Repeat("/", 8000):               false,
	} {
		expect.Equal(t, b.Blocks(stored(t, raw)), want, "%.80s", raw)
	}
}

func TestInvalidLinesAreSkippedAndReported(t *testing.T) {
	b := new(BlockList)
	skipped, err := b.Replace([]byte("good.example\r\n0.0.0.0 evil.example\n\n*.evil.example\nftp://evil.example/\nhttp://a/#x\n\xff\n" +
		strings.Repeat("a", 9000) + "\nlast.example"))
	var lines []int
	for _, s := range skipped {
		lines = append(lines, s.Line)
	}
	expect.Equal(t, fmt.Sprint(lines, err), "[2 4 5 6 7 8] <nil>")
	expect.That(t, b.Len() == 2 && b.Blocks([]byte("http://good.example/")) && b.Blocks([]byte("http://last.example/")),
		"got %d entries, want the two lines that are good", b.Len())
}

func TestABlockListThatIsTooLongChangesNothing(t *testing.T) {
	b := blockList(t, "evil.example")
	expect.That(t, expect.Err(b.Replace([]byte(strings.Repeat("a\n", MaxBlocked+1)))) != nil, "got no error")
	expect.That(t, b.Len() == 1 && b.Blocks([]byte("http://evil.example/")), "the list was changed")
}

func TestABlockListIsReplacedAsAWhole(t *testing.T) {
	var none *BlockList
	b := new(BlockList)
	target := []byte("http://evil.example/")
	expect.That(t, !none.Blocks(target) && !b.Blocks(target), "an empty list blocks")
	b = blockList(t, "evil.example")
	_, err := b.Replace([]byte("other.example"))
	expect.That(t, err == nil && !b.Blocks(target), "got %v; want the host no longer blocked", err)
	if _, err := b.Replace(nil); err != nil || b.Blocks(target) || b.Blocks([]byte("http://other.example/")) {
		t.Errorf("got %v; want nothing blocked", err)
	}
}

func TestAMillionHostsBlockThemselvesAndNothingElse(t *testing.T) {
	b := blockList(t, millionHosts())
	for i := 0; i < 1_000_000; i += 997 {
		expect.MustThat(t, b.Blocks(fmt.Appendf(nil, "https://www.h%d.example.com/x", i)), "h%d is not blocked", i)
		expect.MustThat(t, !b.Blocks(fmt.Appendf(nil, "https://g%d.example.com/x", i)), "g%d is blocked", i)
	}
}

func millionHosts() string {
	var text strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "h%d.example.com\n", i)
	}
	return text.String()
}

func TestAskingTheBlockListAllocatesNothing(t *testing.T) {
	b := blockList(t, "evil.example", "1.2.3.4", "http://shared.example/bad", "http://[2001:db8::1]/x")
	for _, target := range []string{
		"https://www.good.example/path", "https://evil.example/", "http://0x1020304/", "http://[2001:db8::1]/xy", "http://[::ffff:1.2.3.4]/",
		"http://shared.example/%62ad", "http://12345.6.7.8.example/",
	} {
		bytes := []byte(target)
		if n := testing.AllocsPerRun(100, func() { b.Blocks(bytes) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", target, n)
		}
	}
}

// BenchmarkBlocks measures the cost of the list for a redirect, with targets that are not on it.
func BenchmarkBlocks(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	targets := make([][]byte, 4096)
	for i := range targets {
		targets[i] = fmt.Appendf(nil, "https://www.g%d.example.com/some/path?with=query", random.IntN(1_000_000))
	}
	for name, list := range map[string]*BlockList{
		"list=none": nil, "list=empty": new(BlockList), "list=2": blockList(b, "evil.example", "a.evil.example"), "list=1M": blockList(b, millionHosts()),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if list.Blocks(targets[i%len(targets)]) {
					b.Fatal("blocked")
				}
			}
		})
	}
}

// FuzzBlocks checks that the list can be asked about every target that Parse accepts, and that a
// target whose own host is listed is blocked.
func FuzzBlocks(f *testing.F) {
	for _, seed := range []string{"http://a/b", "https://[::1]:80/x", "http://0x7f.1/../%2e", "http://a?%", "http://[::ffff:1.2.3.4]#", "http://1.2.3.4./", "http://a/é%|?%4ü#ß"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := Policy{}.Parse(raw)
		if err != nil {
			return
		}
		host, _ := splitStored([]byte(target))
		line := string(host)
		if strings.Contains(line, ":") {
			line = "[" + line + "]"
		}
		expect.That(t, blockList(t, line).Blocks([]byte(target)), "%q is not blocked by %q", target, line)
		withoutFragment, _, _ := strings.Cut(target, "#")
		expect.That(t, blockList(t, withoutFragment).Blocks([]byte(target)), "%q is not blocked by itself", target)
		sent := ascii.Append(nil, []byte(target))
		sentWithout, _, _ := bytes.Cut(sent, []byte("#"))
		expect.That(t, blockList(t, withoutFragment).Blocks(sent) && blockList(t, string(sentWithout)).Blocks([]byte(target)),
			"%q and %q do not block each other", target, sent)
	})
}
