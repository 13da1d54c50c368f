package symbols

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"shunt/engine/expect"
)

func TestTheSameSamplesGiveTheSameTable(t *testing.T) {
	a, b := Train(addresses(4096, 1)), Train(addresses(4096, 1))
	expect.That(t, a.symbols == b.symbols && a.lengths == b.lengths && a.ratio == b.ratio, "two trainings with the same samples differ")
}

func TestTrainingLeavesTheSamplesAlone(t *testing.T) {
	samples := addresses(1000, 2)
	table := Train(samples)
	expect.MustThat(t, slices.EqualFunc(samples, addresses(1000, 2), bytes.Equal), "training changed its samples")
	for _, s := range samples {
		clear(s)
	}
	roundTrip(t, table, addresses(1, 2)[0])
}

func TestOwnSamplesCodeMuchShorterThanForeignOnes(t *testing.T) {
	texts := addresses(2000, 3)
	own := Train(addresses(4096, 1)).measure(texts)
	common := Train(nil).measure(texts)
	t.Logf("coded bytes a byte: %.3f with own samples, %.3f with none", own, common)
	expect.That(t, own <= 0.40 && common <= 0.85 && own <= common*2/3, "got %.3f with own samples, %.3f with none", own, common)
}

func TestTheRatioIsThatOfTextsNotTrainedOn(t *testing.T) {
	table := Train(addresses(4096, 1))
	got, want := table.Ratio(), table.measure(addresses(4096, 2))
	expect.That(t, got >= 0.95*want && got <= 1.05*want, "got a ratio of %.3f, other texts of the kind have %.3f", got, want)
	expect.Equal(t, Train(nil).Ratio(), 0, "without samples")
}

func TestRandomTextsTakeTheirOwnLengthAtMostAndOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var noise [][]byte
	for range 4096 {
		noise = append(noise, randomText(rng, 50))
	}
	got := Train(noise).measure(noise)
	expect.That(t, got <= 1.02, "got %.3f bytes a byte, want at most 51 for 50", got)
}

func TestTrainingTakesEvenlyFromWhatItGets(t *testing.T) {
	for name, c := range map[string]struct{ samples, bytes, wantSamples int }{
		"none":           {0, 0, 0},
		"one":            {1, 10, 1},
		"as many as may": {MaxSamples, 40, MaxSamples},
		"too many":       {10 * MaxSamples, 40, MaxSamples},
		"too long":       {10 * MaxSamples, 8192, maxTrainingBytes / maxSampleBytes},
		"one too long":   {1, 1 << 20, 1},
	} {
		t.Run(name, func(t *testing.T) {
			samples := make([][]byte, c.samples)
			place := make(map[*byte]int)
			for i := range samples {
				samples[i] = make([]byte, c.bytes)
				place[&samples[i][0]] = i
			}
			used := thin(samples)
			expect.MustEqual(t, len(used), c.wantSamples, "samples")
			for i, s := range used {
				if want := i * c.samples / len(used); place[&s[0]] != want || len(s) > maxSampleBytes {
					t.Fatalf("sample %d: got number %d with %d bytes, want number %d", i, place[&s[0]], len(s), want)
				}
			}
		})
	}
}

// TestTheWorstSamplesFitTheMatcher trains with texts that make as many symbols as possible of as
// many different bytes as possible, as long as possible.
func TestTheWorstSamplesFitTheMatcher(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	var parts, samples [][]byte
	for range 2 * maxCandidates {
		parts = append(parts, randomText(rng, maxSymbolBytes))
	}
	for range MaxSamples {
		var s []byte
		for range 4 {
			s = append(s, parts[rng.IntN(len(parts))]...)
		}
		samples = append(samples, s)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table := Train(samples)
	runtime.ReadMemStats(&after)
	took := after.TotalAlloc - before.TotalAlloc
	expect.That(t, took <= 128<<20, "training allocated %d MiB in all, want at most 128", took>>20)
	roundTrip(t, table, samples[0])
}

func TestTheLargestDictionaryFitsTheMatcher(t *testing.T) {
	rows := 1 + maxCandidates*maxSymbolBytes
	entries := rows * (1 + len(addressBytes) + maxOtherBytes)
	expect.That(t, entries <= maxEntries, "it has %d entries, and %d can be addressed", entries, maxEntries)
	codes := 1 + len(addressBytes) + maxOtherBytes + maxCandidates
	expect.That(t, codes <= codeMask, "it has %d codes, and %d can be told apart", codes, codeMask)
}
