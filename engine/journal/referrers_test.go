package journal

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"shunt/engine/expect"
	"shunt/engine/internal/mmap"
	"shunt/engine/tally"
)

func newTestReferrers(t *testing.T) *Referrers {
	t.Helper()
	j, err := Create(Folder{path: t.TempDir()}, Spec{Epoch: 1, Rings: 2, Records: 256, Now: time.Now})
	expect.OK(t, err)
	t.Cleanup(func() { expect.OK(t, j.Close()) })
	return j.Referrers
}

func TestAReferrerKeepsItsNumberAndItsName(t *testing.T) {
	r := newTestReferrers(t)
	numbers := make(map[uint16]string)
	for i := range 1000 {
		host := fmt.Sprintf("host%d.example", i)
		n := r.Number([]byte(host))
		other, taken := numbers[n]
		expect.MustThat(t, !taken && n != tally.NoReferrer && n != tally.OtherReferrer, "%s has number %d, and so has %q", host, n, other)
		numbers[n] = host
	}
	for n, host := range numbers {
		again := r.Number([]byte(host))
		expect.That(t, again == n, "%s has number %d, and later %d", host, n, again)
		name, ok := r.Name(n)
		expect.That(t, ok && name == host, "number %d is %q, want %s", n, name, host)
	}
	expect.That(t, r.Number(nil) == tally.NoReferrer && r.Number(make([]byte, tally.MaxReferrerBytes+1)) == tally.OtherReferrer, "an empty or a too long name got a number")
	_, ok := r.Name(tally.OtherReferrer)
	expect.That(t, !ok, "other has a name")
}

// TestAHalfIsEmptiedOnceNoRecordHasItsNumbers uses up both halves, and then the first one
// again.
func TestAHalfIsEmptiedOnceNoRecordHasItsNumbers(t *testing.T) {
	r := newTestReferrers(t)
	now := time.Now()
	r.now = func() time.Time { return now }
	host := func(i int) []byte { return fmt.Appendf(nil, "%d.example", i) }
	fill := func(from int) (n int) {
		for r.Number(host(from+n)) != tally.OtherReferrer {
			n++
		}
		return n
	}
	first := r.Number(host(0))
	n := fill(0)
	expect.MustThat(t, n >= 2*25_000 && n <= 2*referrersAHalf, "both halves have %d names", n)
	name, _ := r.Name(first)
	expect.Equal(t, name, string(host(0)), "number %d of the other half now", first)
	r.journal.Rings[1].head.Add(5) // records with numbers of the other half
	now = now.Add(restOfHalf)
	if r.Number([]byte("new.example")) != tally.OtherReferrer { // takes the heads
		t.Error("a name is taken at once")
	}
	now = now.Add(restOfHalf)
	expect.Equal(t, r.Number([]byte("new.example")), tally.OtherReferrer, "a name is taken while the journal names the half that must go")
	if name, _ := r.Name(first); name != string(host(0)) {
		t.Errorf("number %d is %q before its records are committed", first, name)
	}
	r.journal.Rings[1].committed.Store(5)
	now = now.Add(restOfHalf)
	again := r.Number([]byte("new.example"))
	if name, _ := r.Name(again); name != "new.example" || again != first {
		t.Errorf("the emptied half gives number %d (%q), want its first, %d", again, name, first)
	}
	expect.That(t, r.Number(host(0)) != first, "a name of the emptied half is still known by its number")
}

func TestADictionaryOutlivesItsProcess(t *testing.T) {
	r := newTestReferrers(t)
	path := r.file.Name()
	numbers := make([]uint16, 500)
	for i := range numbers {
		numbers[i] = r.Number(fmt.Appendf(nil, "%d.example", i))
	}
	expect.OK(t, mmap.WriteBack(r.file, r.mapping))
	old, err := readReferrers(path, [16]byte{}, 1)
	expect.OK(t, err)
	for i, n := range numbers {
		name, _ := old.Name(n)
		expect.MustEqual(t, name, fmt.Sprintf("%d.example", i), "number %d, want %d.example", n, i)
	}
	_, ok := old.Name(numbers[499] + 1)
	expect.That(t, !ok, "a number that was never given has a name")
	expect.That(t, expect.Err(readReferrers(path, [16]byte{1}, 1)) != nil, "a dictionary is taken by another store")
	expect.OK(t, os.Truncate(path, dictionaryBytes/2))
	expect.That(t, expect.Err(readReferrers(path, [16]byte{}, 1)) != nil, "a truncated dictionary is taken")
}

// FuzzDictionary flips bytes of a dictionary: every name that it still has must be one that was put
// in.
func FuzzDictionary(f *testing.F) {
	f.Add(uint32(ringHeaderBytes+halfHeaderBytes+3), byte(1), uint32(ringHeaderBytes), byte(2))
	f.Add(uint32(ringHeaderBytes+halfHeaderBytes+20), byte(255), uint32(3), byte(0))
	f.Fuzz(func(t *testing.T, at uint32, x byte, at2 uint32, y byte) {
		b := make([]byte, dictionaryBytes)
		appendDictionaryHeader(b[:0], [16]byte{}, 1)
		text, known := b[ringHeaderBytes+halfHeaderBytes:], make(map[string]int)
		for i := 1; i <= 40; i++ {
			name := fmt.Sprintf("%d.example", i)
			known[name] = i
			text = text[copy(text, appendName(nil, 0, i, name)):]
		}
		b[at%dictionaryBytes] ^= x
		b[at2%dictionaryBytes] ^= y
		r, err := decodeReferrers(b, [16]byte{}, 1)
		if err != nil {
			return
		}
		for n := range uint16(60) {
			name, ok := r.Name(n)
			expect.MustThat(t, !ok || n == 0 || known[name] == int(n), "number %d is %q", n, name)
		}
	})
}

func TestAKnownReferrerTakesNoAllocationAndNoLock(t *testing.T) {
	r := newTestReferrers(t)
	host := []byte("news.example.com")
	r.Number(host)
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := testing.AllocsPerRun(1000, func() { r.Number(host) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRacingRedirectsAgreeOnNumbers(t *testing.T) {
	r := newTestReferrers(t)
	var numbers [8][2000]uint16
	var wg sync.WaitGroup
	for g := range numbers {
		wg.Go(func() {
			for i := range numbers[g] {
				numbers[g][i] = r.Number(fmt.Appendf(nil, "%d.example", i))
			}
		})
	}
	wg.Wait()
	for g := range numbers {
		expect.MustEqual(t, numbers[g], numbers[0], "goroutine %d", g)
	}
}

// The number of scans is in no dictionary, so it cannot be used up or be given to a host.
func TestScansHaveANumberWhateverTheDictionaryHas(t *testing.T) {
	r := newTestReferrers(t)
	for i := 0; r.Number(fmt.Appendf(nil, "%d.example", i)) != tally.OtherReferrer; i++ {
		expect.MustThat(t, r.Number(fmt.Appendf(nil, "%d.example", i)) != tally.ScanReferrer, "host %d has the number of scans", i)
	}
	expect.Equal(t, r.Number([]byte(tally.ScanName)), tally.ScanReferrer)
	for _, names := range []*Referrers{r, new(Referrers)} {
		name, ok := names.Name(tally.ScanReferrer)
		expect.That(t, ok && name == tally.ScanName, "the name of scans: got %q, %v", name, ok)
	}
}
