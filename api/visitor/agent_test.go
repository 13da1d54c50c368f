package visitor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dchest/siphash"

	"shunt/engine"
)

func TestNoWordForBotsContainsAnother(t *testing.T) {
	var words []string
	for _, group := range KnownBots {
		words = append(words, group.Words...)
	}
	for i, word := range words {
		text := strings.TrimPrefix(word, "^")
		if len(text) < agentWordBytes || strings.ToLower(text) != text {
			t.Errorf("%q: want at least %d bytes, in lower case", word, agentWordBytes)
		}
		for j, other := range words {
			if i != j && strings.Contains(text, other) {
				t.Errorf("%q is found by %q already", word, other)
			}
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
			if got := c.Lookup(siphash.Hash(1, 2, agent), agent).IsBot(); got != (i%3 == 0) {
				t.Fatalf("round %d, %s: got bot == %v", round, agent, got)
			}
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
			if a := info.Dimensions(); a.Device() != d || a.Browser() != engine.Browser(b) || info.IsBot() || info&agentKnown == 0 {
				t.Errorf("device %d and browser %d: got %#x", d, b, info)
			}
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add([]byte("Mozilla/5.0 (compatible; x/1; +http://x)"))
	f.Add([]byte("((((;;;)))//  \xff"))
	f.Fuzz(func(t *testing.T, agent []byte) {
		info := classify(agent)
		if info&agentKnown == 0 || info.Dimensions().Device().String() == "unknown" && info.Dimensions().Device() != 0 || info.Dimensions().Browser().String() == "unknown" && info.Dimensions().Browser() != 0 {
			t.Errorf("got %#x, want a device and a browser that have names", info)
		}
		if info.IsBot() && (info.Dimensions().Device() != 0 || info.Dimensions().Browser() != 0) {
			t.Errorf("got %#x, want nothing more of a bot", info)
		}
	})
}
