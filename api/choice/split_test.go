package choice

import (
	"math/rand/v2"
	"testing"

	"shunt/engine/expect"
	"shunt/engine/extras"
)

// chosen returns which share of a split each visitor of a link gets.
func chosen(t *testing.T, split []extras.Share, visitors []uint64, link uint64) (urls []string, by map[string]int) {
	t.Helper()
	blob := blobOf(t, nil, split)
	by = make(map[string]int)
	for _, visitor := range visitors {
		url, target := ByWeight(extras.Split(blob), visitor, link)
		expect.MustThat(t, target > 1, "the number is %d", target)
		urls, by[string(url)] = append(urls, string(url)), by[string(url)]+1
	}
	return urls, by
}

func someVisitors(n int) (visitors []uint64) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		visitors = append(visitors, random.Uint64())
	}
	return visitors
}

func TestEachShareGetsItsPart(t *testing.T) {
	const n = 100_000
	for link := range uint64(3) {
		_, by := chosen(t, []extras.Share{{URL: "a", Weight: 70}, {URL: "b", Weight: 30}}, someVisitors(n), link)
		expect.That(t, 69_000 <= by["a"] && by["a"] <= 71_000, "link %d: a got %d of %d, want 70 %%", link, by["a"], n)
		_, by = chosen(t, []extras.Share{{URL: "a", Weight: 1}, {URL: "b", Weight: 1000}, {URL: "c", Weight: 999}}, someVisitors(n), link)
		expect.That(t, 20 <= by["a"] && by["a"] <= 90 && 49_000 <= by["b"] && by["b"] <= 51_000, "link %d: %v", link, by)
	}
}

func TestOtherWeightsMoveOnlyTheDifference(t *testing.T) {
	const n = 100_000
	visitors := someVisitors(n)
	before, _ := chosen(t, []extras.Share{{URL: "a", Weight: 70}, {URL: "b", Weight: 30}}, visitors, 5)
	after, _ := chosen(t, []extras.Share{{URL: "a", Weight: 60}, {URL: "b", Weight: 40}}, visitors, 5)
	moved := 0
	for i := range before {
		expect.MustThat(t, before[i] == after[i] || before[i] == "a", "a visitor moves from b to a")
		if before[i] != after[i] {
			moved++
		}
	}
	expect.That(t, 9_000 <= moved && moved <= 11_000, "%d of %d moved, want 10 %%", moved, n)
}

// Visitors who get the same share of one link get different shares of another link.
func TestLinksDivideVisitorsIndependently(t *testing.T) {
	split := []extras.Share{{URL: "a", Weight: 50}, {URL: "b", Weight: 50}}
	visitors := someVisitors(40_000)
	one, _ := chosen(t, split, visitors, 1000)
	other, _ := chosen(t, split, visitors, 1001)
	both := 0
	for i := range one {
		if one[i] == "a" && other[i] == "a" {
			both++
		}
	}
	expect.That(t, 9_600 <= both && both <= 10_400, "%d of 40,000 get a twice, want a quarter", both)
}

// A new version of the program must send each visitor to the same share as before.
func TestAChoiceIsTheSameForEver(t *testing.T) {
	split := []extras.Share{{URL: "a", Weight: 5}, {URL: "b", Weight: 3}, {URL: "c", Weight: 2}}
	urls, _ := chosen(t, split, someVisitors(24), 42)
	got := ""
	for _, url := range urls {
		got += url
	}
	expect.Equal(t, got, "bcbbbabacbbbaabaabbabcba")
}
