package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dchest/siphash"

	"shunt/engine"
)

func TestKnownBotsAreToldFromVisitors(t *testing.T) {
	const chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
	for name, c := range map[string]struct {
		agent string
		bot   bool
	}{
		"Chrome":             {chrome, false},
		"Firefox":            {"Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", false},
		"Safari on iPhone":   {"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1", false},
		"in-app Instagram":   {"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 334.0.0.42.95", false},
		"missing":            {"", false},
		"a dash":             {"-", false},
		"curl":               {"curl/8.8.0", false},
		"wget":               {"Wget/1.21.4", false},
		"wget with a URL":    {"Wget/1.21 (+https://www.gnu.org/software/wget/)", false},
		"python-requests":    {"python-requests/2.32.3", false},
		"Go":                 {"Go-http-client/1.1", false},
		"Googlebot":          {"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true},
		"Googlebot on phone": {"Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", true},
		"bingbot":            {"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36", true},
		"WhatsApp":           {"WhatsApp/2.24.12.78 A", true},
		"Facebook":           {"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", true},
		"Facebook, bare":     {"facebookexternalhit/1.1", true},
		"Slack":              {"Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", true},
		"Telegram":           {"TelegramBot (like TwitterBot)", true},
		"Discord":            {"Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)", true},
		"LinkedIn":           {"LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)", true},
		"Twitter":            {"Twitterbot/1.0", true},
		"headless Chrome":    {strings.Replace(chrome, "Chrome", "HeadlessChrome", 1), true},
		"a bot of no list":   {"examplebot/1.0 (+https://example.com/bot)", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classify([]byte(c.agent)).bot(); got != c.bot {
				t.Errorf("%q: got %v, want %v", c.agent, got, c.bot)
			}
		})
	}
}

func TestTheAgentCacheAnswersLikeTheListsHoweverFullItIs(t *testing.T) {
	c := new(agentCache)
	for round := range 2 {
		for i := range 3 * agentSets * agentWays / 2 {
			agent := []byte(fmt.Sprintf("visitor/%d", i))
			if i%3 == 0 {
				agent = []byte(fmt.Sprintf("twitterbot/%d", i))
			}
			if got := c.lookup(siphash.Hash(1, 2, agent), agent).bot(); got != (i%3 == 0) {
				t.Fatalf("round %d, %s: got bot == %v", round, agent, got)
			}
		}
	}
}

func TestTheAgentCacheKeepsAHashOfZeroToo(t *testing.T) {
	c := new(agentCache)
	for range 2 {
		if !c.lookup(0, []byte("Twitterbot/1.0")).bot() {
			t.Error("a bot whose hash is 0: got a visitor")
		}
	}
	if n := testing.AllocsPerRun(100, func() { c.lookup(0, nil) }); n != 0 {
		t.Errorf("got %v allocations, want it remembered", n)
	}
}

func TestAnAgentInfoHoldsEveryAgent(t *testing.T) {
	for d := range engine.Device(engine.MaxDevice + 1) {
		for b := range 256 {
			info := agentOf(d, engine.Browser(b))
			if a := info.agent(); a.Device() != d || a.Browser() != engine.Browser(b) || info.bot() || info&agentKnown == 0 {
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
		if info&agentKnown == 0 || info.agent().Device().String() == "unknown" && info.agent().Device() != 0 || info.agent().Browser().String() == "unknown" && info.agent().Browser() != 0 {
			t.Errorf("got %#x, want a device and a browser that have names", info)
		}
		if info.bot() && (info.agent().Device() != 0 || info.agent().Browser() != 0) {
			t.Errorf("got %#x, want nothing more of a bot", info)
		}
	})
}
