package visitor

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

		// Link previews, and browsers for people of the same apps.
		"Viber":                         {"Viber", true},
		"Viber on iOS":                  {"Viber/20.9.0.8 CFNetwork/1410.0.3 Darwin/22.6.0", true},
		"in Viber, on Android":          {inPixel + " Viber/22.5.0.1", false},
		"in Viber, on an iPhone":        {onIPhone + "Mobile/15E148 Viber/22.5.0", false},
		"Outlook":                       {"Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17628; Pro)", true},
		"Outlook, as Internet Explorer": {"Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; .NET4.0C; .NET4.0E; Microsoft Outlook 16.0.17628; ms-office; MSOffice 16)", true},
		"Office":                        {"Mozilla/4.0 (compatible; ms-office; MSOffice 16)", true},
		"Office, whether it is there":   {"Microsoft Office Existence Discovery", true},
		"Office, by which protocol":     {"Microsoft Office Protocol Discovery", true},
		"Word":                          {"Microsoft Office Word 2014", true},
		"PowerPoint":                    {"Microsoft Office PowerPoint 2013 (15.0.4885) Windows NT 10.0", true},
		"a web folder":                  {"Microsoft-WebDAV-MiniRedir/10.0.22631", true},
		"Microsoft's previews":          {"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko; compatible; MicrosoftPreview/2.0; +https://aka.ms/MicrosoftPreview) Chrome/112.0.0.0 Safari/537.36", true},
		"Teams and Skype":               {"Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com", true},
		"in Outlook on Windows":         {onWindows + "Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0 OneOutlook/1.2024.619.100", false},
		"in Outlook on a Mac":           {onMac + "MacOutlook/16.86.24061625", false},
		"in Outlook on an iPhone":       {onIPhone + "Mobile/15E148 Outlook-iOS/723.4027091.prod.iphone (4.2425.0)", false},
		"in Outlook on Android":         {inPixel + " Outlook-Android/2.0", false},
		"in Teams":                      {onWindows + "Teams/24165.1410.2974.6689 Chrome/124.0.0.0 Safari/537.36", false},
		"Internet Explorer with Office's add-ons": {"Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; .NET4.0E; InfoPath.3; MS-RTC LM 8)", false},
		"in Facebook on Android, newer":           {inPixel + " MetaIAB Facebook", false},
		"WhatsApp without a version":              {"WhatsApp", true},
		"Tumblr":                                  {"Tumblr/14.0.835.186", true},
		"in Tumblr":                               {onIPhone + "Mobile/15E148 Tumblr/iPhone/34.7/347000", false},
		"Steam's chat":                            {"Valve/Steam HTTP Client 1.0 (SteamChatURLLookup)", true},
		"in Steam":                                {"Mozilla/5.0 (Windows; U; Windows NT 10.0; en-US; Valve Steam GameOverlay/1708384815; ) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/109.0.5414.120 Safari/537.36", false},
		"TikTok":                                  {"Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; TikTokSpider; ttspider-feedback@tiktok.com)", true},

		"Rocket.Chat":                  {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41.0.2227.0 Safari/537.36 Rocket.Chat/6.5.3", true},
		"in Rocket.Chat's app":         {onWindows + "Rocket.Chat/3.9.11 Chrome/114.0.5735.289 Electron/25.8.4 Safari/537.36", false},
		"Discord, as Firefox":          {"Mozilla/5.0 (Macintosh; Intel Mac OS X 11.6; rv:92.0) Gecko/20100101 Firefox/92.0", true},
		"Discord, as an older Firefox": {"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.10; rv:38.0) Gecko/20100101 Firefox/38.0", true},
		"in Discord":                   {onWindows + "discord/1.0.9163 Chrome/124.0.6367.243 Electron/30.2.0 Safari/537.36", false},
		"Firefox 92 on a Mac":          {"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:92.0) Gecko/20100101 Firefox/92.0", false},
		"Firefox 38 on Windows":        {"Mozilla/5.0 (Windows NT 6.1; WOW64; rv:38.0) Gecko/20100101 Firefox/38.0", false},
		"Firefox of today on a Mac":    {"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:128.0) Gecko/20100101 Firefox/128.0", false},
		"Google Messages":              {"GoogleMessages/20", true},
		"Facebook's other name":        {"facebookexternalua", true},
		"Yahoo's previews":             {"Yahoo:LinkExpander:Slingstone", true},
		"Zulip":                        {"ZulipURLPreview/8.0; +https://zulip.example.com", true},
		"Mattermost":                   {"Mattermost-Bot/1.1", true},

		// Programs that open the links of mails before people do, and that check the links of documents.
		"Mimecast":                {"Mozilla/5.0 (compatible; Mimecast Link Scanner)", true},
		"Barracuda":               {"Barracuda Sentinel (EE)", true},
		"Proofpoint":              {"Mozilla/5.0 (Windows NT 10.0; Win64; x64) Proofpoint URL Defense", true},
		"Symantec":                {"Mozilla/5.0 (compatible; Symantec Email Security.cloud Link Following)", true},
		"Kaspersky":               {"Kaspersky Lab CFR link resolver cfradmins@kaspersky.com", true},
		"Gmail's images":          {"Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)", true},
		"Yahoo's mail":            {"YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html", true},
		"Rambler's mail":          {"RamblerMail/6.0 (incompatible; ImageProxy/6.0)", true},
		"Seznam's mail":           {"Mozilla/5.0 SeznamEmailProxy/2.0.174", true},
		"the mail of ukr.net":     {"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/55.0.2883.87 Safari/537.36 (via secureurl.fwdcdn.com - mail.ukr.net proxy)", true},
		"lychee":                  {"lychee/0.18.1", true},
		"lychee as a browser":     {"Mozilla/5.0 (compatible; Lychee/0.15; +https://github.com/lycheeverse/lychee)", true},
		"broken-link-checker":     {"broken-link-checker/0.7.8 Node.js/18.19.0 (OS X; x64)", true},
		"Sphinx":                  {"Mozilla/5.0 (X11; Linux x86_64; rv:100.0) Gecko/20100101 Firefox/100.0 Sphinx/7.2.6", true},
		"in Thunderbird":          {"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.5.0", false},
		"in Yahoo's app for mail": {inPixel + " YahooMobileMail/7.41.1", false},

		// Names that are near those of bots.
		"Cubot telephones":        {"Mozilla/5.0 (Linux; Android 11; CUBOT P40) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", false},
		"Cubot, without Chrome":   {"Dalvik/2.1.0 (Linux; U; Android 9; CUBOT_X19 Build/PPR1.180610.011)", false},
		"Coc Coc, a browser":      {onWindows + "coc_coc_browser/126.0.130 Chrome/120.0.6099.130 Safari/537.36", false},
		"coccocbot":               {"Mozilla/5.0 (compatible; coccocbot-web/1.0; +http://help.coccoc.com/searchengine)", true},
		"a scanner of QR codes":   {inPixel + " QRCodeScanner/4.1", false},
		"a game about spiders":    {onIPhone + "Mobile/15E148 SpiderSolitaire/7.2", false},
		"Visual Studio Code":      {onWindows + "Code/1.115.0 Chrome/142.0.7444.265 Electron/39.8.5 Safari/537.36", false},
		"a visitor of CloudFront": {"Amazon CloudFront", false},
		"Sogou, a browser":        {onWindows + "Chrome/80.0.3987.87 Safari/537.36 SE 2.X MetaSr 1.0", false},

		"a tablet named bot":            {"Mozilla/5.0 (Linux; Android 12; M BOT TAB 101) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", false},
		"a tablet named bot, in an app": {"Mozilla/5.0 (Linux; Android 12; M bot tab 101 Build/SP1A.210812.016; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.0.0 Safari/537.36", false},
		"a telephone named bot":         {"Mozilla/5.0 (Linux; Android 12; M BOT) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", false},
		"a bot with a language":         {"Mozilla/5.0 (Linux; U; Android 9; en-us; M BOT TAB 71 Build/PPR1) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Mobile Safari/537.36", false},
		"a tablet named bot, Dalvik":    {"Dalvik/2.1.0 (Linux; U; Android 12; M BOT TAB 101 Build/SP1A)", false},
		"a bot on that tablet":          {"Mozilla/5.0 (Linux; Android 12; M BOT TAB 101) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 (compatible; Example bot )", true},
		"a bot in place of a device":    {"Mozilla/5.0 (Linux; Android 12; compatible bot ) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", true},
		"a bot with a version there":    {"Mozilla/5.0 (Linux; Android 12; Example Bot/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", true},
		"a bot as a system":             {"Mozilla/5.0 (Linux; Android bot 12; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", true},
		"a bot without Android":         {"Mozilla/5.0 (X11; Linux x86_64; Example bot ) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", true},
		"headless in place of a device": {"Mozilla/5.0 (Linux; Android 12; HeadlessChrome) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", true},
		"in Feishu":                     {onMac + "Lark/7.12.7 Chrome/120.0.6099.71 Safari/537.36 LarkLocale/zh_CN ChannelName/Feishu", false},
		"in Feishu, on an iPhone":       {onIPhone + "Version/17.5.1 Mobile/15E148 Safari/604.1 Lark/7.24.10 LarkLocale/en_US ChannelName/Feishu appname/Feishu", false},

		// Probes, checkers and previews.
		"Kubernetes":              {"kube-probe/1.29", true},
		"Google's load balancers": {"GoogleHC/1.0", true},
		"Amazon's load balancers": {"ELB-HealthChecker/2.0", true},
		"Amazon's DNS":            {"Amazon-Route53-Health-Check-Service (ref 1b0f; report)", true},
		"Consul":                  {"Consul Health Check", true},
		"Envoy":                   {"Envoy/HC", true},
		"Azure's front door":      {"Edge Health Probe", true},
		"Azure's load balancers":  {"Load Balancer Agent", true},
		"Azure's DNS":             {"Azure Traffic Manager Endpoint Monitor", true},
		"Monit":                   {"Monit/5.33.0", true},
		"Gatus":                   {"Gatus/1.0", true},
		"HetrixTools":             {"HetrixTools Uptime Monitoring", true},
		"htmlproofer of MkDocs":   {"mkdocs-htmlproofer-plugin/1.3", true},
		"Feishu's previews":       {"Mozilla/5.0 (compatible; Feishu/1.0)", true},
		"Feishu":                  {"Feishu-Preview/1.0", true},
		"DingTalk":                {"DingTalkBot-LinkService/1.0 (+https://open.dingtalk.com)", true},

		// A few of each kind.
		"360Spider":              {"Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.1 (KHTML, like Gecko) Chrome/21.0.1180.89 Safari/537.1; 360Spider", true},
		"Yisou":                  {"Mozilla/5.0 (Windows NT 6.1; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/69.0.3497.81 YisouSpider/5.0 Safari/537.36", true},
		"Google's shop":          {"Mozilla/5.0 (X11; Linux x86_64; Storebot-Google/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0.3945.88 Safari/537.36", true},
		"Google's safety":        {"Google-Safety", true},
		"a model's agent":        {onMac + "Chrome/132.0.0.0 Safari/537.36; Manus-User/1.0", true},
		"Uptime Kuma":            {"Uptime-Kuma/1.23.16", true},
		"Datadog":                {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.7204.168 Safari/537.36 DatadogSynthetics", true},
		"W3C":                    {"W3C_Validator/1.3", true},
		"zgrab":                  {"Mozilla/5.0 zgrab/0.x", true},
		"Playwright":             {onWindows + "Chrome/120.0.0.0 Safari/537.36 Playwright/1.40.0", true},
		"a crawler that says so": {"br-crawler/0.5", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classify([]byte(c.agent)).IsBot(); got != c.bot {
				t.Errorf("%q: got %v, want %v", c.agent, got, c.bot)
			}
		})
	}
}

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
