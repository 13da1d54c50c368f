package visitor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dchest/siphash"

	"shunt/engine"
	"shunt/engine/expect"
)

func TestNoWordForBotsContainsAnother(t *testing.T) {
	var words []string
	for _, group := range KnownBots {
		words = append(words, group.Words...)
	}
	for i, word := range words {
		text := strings.TrimPrefix(word, "^")
		expect.That(t, len(text) >= agentWordBytes && strings.ToLower(text) == text,
			"%q: want at least %d bytes, in lower case", word, agentWordBytes)
		for j, other := range words {
			expect.That(t, i == j || !strings.Contains(text, other), "%q is found by %q already", word, other)
		}
	}
}

func TestAFullAgentCacheAnswersLikeTheLists(t *testing.T) {
	c := new(Agents)
	for round := range 2 {
		for i := range 3 * agentSets * agentWays / 2 {
			agent := []byte(fmt.Sprintf("visitor/%d", i))
			if i%3 == 0 {
				agent = []byte(fmt.Sprintf("twitterbot/%d", i))
			}
			expect.MustEqual(t, c.Lookup(siphash.Hash(1, 2, agent), agent).IsBot(), i%3 == 0, "round %d, %s", round, agent)
		}
	}
}

func TestTheAgentCacheKeepsAHashOfZeroToo(t *testing.T) {
	c := new(Agents)
	for range 2 {
		if !c.Lookup(0, []byte("Twitterbot/1.0")).IsBot() {
			t.Error("a bot whose hash is 0: got a visitor")
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.Lookup(0, nil) }); n != 0 {
		t.Errorf("got %v allocations, want it remembered", n)
	}
}

func TestAnAgentHoldsEveryDeviceAndBrowser(t *testing.T) {
	for d := range engine.Device(engine.MaxDevice + 1) {
		for b := range 256 {
			info := agentOf(d, engine.Browser(b))
			a := info.Dimensions()
			expect.That(t, a.Device() == d && a.Browser() == engine.Browser(b) && !info.IsBot() && info&agentKnown != 0, "device %d and browser %d: got %#x", d, b, info)
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add([]byte("Mozilla/5.0 (compatible; x/1; +http://x)"))
	f.Add([]byte("((((;;;)))//  \xff"))
	f.Fuzz(func(t *testing.T, agent []byte) {
		info := classify(agent)
		expect.That(t, info&agentKnown != 0 && (info.Dimensions().Device().String() != "unknown" || info.Dimensions().Device() == 0) &&
			(info.Dimensions().Browser().String() != "unknown" || info.Dimensions().Browser() == 0), "got %#x, want a device and a browser that have names", info)
		expect.That(t, !info.IsBot() || info.Dimensions().Device() == 0 && info.Dimensions().Browser() == 0,
			"got %#x, want nothing more of a bot", info)
	})
}
