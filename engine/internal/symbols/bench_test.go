package symbols

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"shunt/engine/expect"
)

// urlsVariable names a file of addresses, one per line. The benchmarks use it instead of generated
// ones.
const urlsVariable = "SHUNTTEST_URLS"

// realAddresses returns the http and https lines of the named file, in an order in which any part
// is like the whole; ok is false if none is named.
func realAddresses(tb testing.TB) (texts [][]byte, ok bool) {
	name := os.Getenv(urlsVariable)
	if name == "" {
		return nil, false
	}
	file, err := os.ReadFile(name)
	expect.OK(tb, err)
	lines := slices.Collect(bytes.Lines(file))
	for i := range lines {
		line := bytes.TrimSpace(lines[i*7919%len(lines)])
		if bytes.HasPrefix(line, []byte("http")) {
			texts = append(texts, line)
		}
	}
	return texts, true
}

func TestRealAddressesAreDecodedToThemselves(t *testing.T) {
	texts, ok := realAddresses(t)
	if !ok {
		t.Skipf("%s names no file", urlsVariable)
	}
	table := Train(texts[:min(MaxSamples, len(texts))])
	for _, text := range texts {
		roundTrip(t, table, text)
	}
	t.Logf("%d addresses: %.3f of plain; %.3f with a table without samples", len(texts), table.measure(texts), Train(nil).measure(texts))
}

func benchmarkTexts(b *testing.B) [][]byte {
	if texts, ok := realAddresses(b); ok {
		return texts
	}
	return addresses(1<<15, 12)
}

func totalBytes(texts [][]byte) (n int) {
	for _, text := range texts {
		n += len(text)
	}
	return n
}

func BenchmarkAppend(b *testing.B) {
	texts := benchmarkTexts(b)
	table, room := Train(texts), make([]byte, 0, 1<<14)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		table.Append(room, texts[n%len(texts)])
		n++
	}
	b.ReportMetric(float64(totalBytes(texts))/float64(len(texts)), "B/text")
}

func BenchmarkAppendPlain(b *testing.B) {
	texts := benchmarkTexts(b)
	table, room := Train(texts), make([]byte, 0, 1<<14)
	coded := make([][]byte, len(texts))
	for i, text := range texts {
		coded[i] = table.Append(nil, text)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		table.AppendPlain(room, coded[n%len(coded)])
		n++
	}
	b.ReportMetric(float64(totalBytes(coded))/float64(len(coded)), "B/coded")
	b.ReportMetric(float64(totalBytes(coded))/float64(totalBytes(texts)), "ratio")
}

func BenchmarkTrain(b *testing.B) {
	texts := benchmarkTexts(b)
	samples := texts[:min(MaxSamples, len(texts))]
	b.ReportAllocs()
	ratio := 0.0
	for b.Loop() {
		ratio = Train(samples).measure(texts)
	}
	b.ReportMetric(ratio, "ratio")
}
