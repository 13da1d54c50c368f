package redirect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"shunt/engine"
	"shunt/engine/expect"
)

// everyDomain accepts every domain.
func everyDomain(engine.Domain) bool { return true }

// everyCode keeps every code.
func everyCode(engine.Key) bool { return true }

// checkGuarantee checks what misses promises of its counts against the true ones.
func checkGuarantee(t *testing.T, m *misses, truth map[string]uint64, misses uint64) {
	t.Helper()
	rows, total := m.top(missCounters, everyDomain, everyCode)
	expect.Equal(t, total, misses, "total")
	listed := make(map[string]bool, len(rows))
	sum, last := uint64(0), uint64(1)<<63
	for _, row := range rows {
		listed[row.Code] = true
		sum += row.Count
		if true := truth[row.Code]; row.Count < true || row.Count > true+row.Error || row.Error > misses/missCounters {
			t.Fatalf("%+v: it was missed %d times", row, true)
		}
		expect.MustThat(t, row.Count-row.Error <= last, "%+v comes after %d misses that are certain", row, last)
		last = row.Count - row.Error
	}
	expect.That(t, sum == misses && len(listed) == len(rows),
		"counts add up to %d, want %d; %d rows of %d codes", sum, misses, len(rows), len(listed))
	for code, n := range truth {
		expect.That(t, n <= misses/missCounters || listed[code], "%s was missed %d of %d times and is not listed", code, n, misses)
	}
}

func TestMissesOfFewCodesAreExact(t *testing.T) {
	m := newMisses(time.Now())
	truth := make(map[string]uint64)
	total := uint64(0)
	for i := range 1000 {
		code := strings.Repeat("x", i%60) + fmt.Sprint(i)
		for range i%7 + 1 {
			m.add(keyOf(code).View())
			truth[code]++
			total++
		}
	}
	checkGuarantee(t, m, truth, total)
	rows, _ := m.top(2000, everyDomain, everyCode)
	expect.MustEqual(t, len(rows), 1000, "codes")
	for _, row := range rows {
		expect.That(t, row.Count == truth[row.Code] && row.Error == 0, "%+v: want %d, exactly", row, truth[row.Code])
	}
	odd, _ := m.top(3, everyDomain, func(k engine.Key) bool { return k.Code[len(k.Code)-1]%2 == 1 })
	expect.That(t, len(odd) == 3 && odd[0].Count >= odd[2].Count, "got %+v", odd)
}

func TestAMissAllocatesNothing(t *testing.T) {
	m := newMisses(time.Now())
	code := []byte("00000000")
	if n := testing.AllocsPerRun(100_000, func() {
		for i := range code { // the next code
			if code[i]++; code[i] <= 'z' {
				break
			}
			code[i] = '0'
		}
		m.add(viewOf(code))
	}); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func TestMissesAreCountedByManyAtOnceAndReadMeanwhile(t *testing.T) {
	m := newMisses(time.Now())
	var running sync.WaitGroup
	const each = 20_000
	for g := range 8 {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(g), 0))
			for i := range each {
				code := "hot"
				if i%2 == 1 {
					code = fmt.Sprint(random.Uint32())
				}
				m.add(keyOf(code).View())
			}
		})
	}
	running.Go(func() {
		for range 20 {
			m.top(10, everyDomain, everyCode)
		}
	})
	running.Wait()
	rows, total := m.top(1, everyDomain, everyCode)
	expect.That(t, total == 8*each && len(rows) == 1 && rows[0].Code == "hot" && rows[0].Count >= 4*each && rows[0].Count-rows[0].Error <= 4*each,
		"got %+v of %d, want hot with %d of %d", rows, total, 4*each, 8*each)
}

func BenchmarkMisses(b *testing.B) {
	const n = 1 << 20
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 1, 1<<24)
	for _, c := range []struct {
		name string
		next func(i int) string
	}{
		{"one", func(int) string { return "favicon1" }},
		{"zipf", func(int) string { return fmt.Sprintf("z%07x", zipf.Uint64()) }},
		{"scan", func(int) string { return fmt.Sprintf("%08x", random.Uint32()) }},
	} {
		codes := make([][]byte, n)
		for i := range codes {
			codes[i] = []byte(c.next(i))
		}
		b.Run("codes="+c.name, func(b *testing.B) {
			m := newMisses(time.Now())
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.add(viewOf(codes[i%n]))
			}
		})
		b.Run("codes="+c.name+"/parallel", func(b *testing.B) {
			m := newMisses(time.Now())
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(n); pb.Next(); i++ {
					m.add(viewOf(codes[i%n]))
				}
			})
		})
	}
}

// keyOf returns the key of a code in the default domain.
func keyOf(code string) engine.Key { return engine.Key{Domain: engine.DefaultDomain, Code: code} }

// viewOf returns a view of the same.
func viewOf(code []byte) engine.KeyView {
	return engine.KeyView{Domain: engine.DefaultDomain, Code: code}
}
