package visitor

import (
	"strings"

	"github.com/mileusna/useragent"

	"shunt/engine"
)

// maxAgentBytes is how many bytes of a User-Agent are read, to bound the time. A User-Agent names
// its program early: in-app browsers name themselves after WebKit's words, within 350 bytes.
const maxAgentBytes = 512

// classify returns the Agent of a User-Agent: a bot, or a device and a browser. A known bot is one
// that mileusna/useragent calls a bot, or one of KnownBots. A missing User-Agent and the
// command-line tools are visitors, whatever else they say.
func classify(agent []byte) Agent {
	if len(agent) == 0 {
		return agentKnown
	}
	text := string(agent[:min(len(agent), maxAgentBytes)])
	lower := strings.ToLower(text)
	for _, tool := range CommandLineTools {
		if strings.HasPrefix(lower, tool) {
			return agentOf(engine.UnknownDevice, engine.CommandLine) // a laptop, a server, an app on a telephone
		}
	}
	found := findAgentWords(lower)
	if found.unfurls {
		return agentKnown | agentBot | agentUnfurls
	}
	if found.bot {
		return agentKnown | agentBot
	}
	parsed := useragent.Parse(text)
	if parsed.Bot {
		return agentKnown | agentBot
	}
	return agentOf(deviceOf(lower, found, &parsed), browserOf(lower, found))
}

// deviceOf returns the kind of device. The library knows no televisions, no consoles and few
// tablets; it decides only what our rules leave open. Rules with the strongest words come first: a
// console says Windows too, a television Android.
func deviceOf(lower string, found foundWords, parsed *useragent.UserAgent) engine.Device {
	switch {
	case found.device < len(deviceRules):
		return deviceRules[found.device].device
	case strings.Contains(lower, "android"):
		if strings.Contains(lower, "chrome/") && !strings.Contains(lower, "mobile") {
			return engine.Tablet // Chrome says Mobile on telephones only
		}
		return engine.Mobile
	case strings.Contains(lower, "macintosh") && strings.Contains(lower, "mobile/"):
		return engine.Tablet // an iPad that asks for desktop pages, in an app
	case parsed.Tablet:
		return engine.Tablet
	case parsed.Mobile:
		return engine.Mobile
	case parsed.Desktop:
		return engine.Desktop
	}
	return engine.UnknownDevice
}

var deviceRules = []struct {
	device engine.Device
	words  []string
}{
	{engine.Console, []string{"playstation", "xbox", "nintendo"}},
	{engine.TV, []string{
		"smart-tv", "smarttv", "smart tv", "googletv", "google tv", "android tv", "appletv", "apple tv", "hbbtv", "web0s",
		"webos.tv", "netcast", "roku/", "bravia", "; aft", "crkey", "viera", "aquos", "mitv", "opera tv", "inettvbrowser",
		"tv safari", "vidaa",
	}},
	{engine.Mobile, []string{"windows phone", "iphone", "ipod", "opera mini", "opera mobi", "bb10;", "kaios", "(phone; openharmony"}},
	{engine.Desktop, []string{"windows nt", "cros ", "(pc; openharmony"}}, // a "Tablet PC" is a component of Windows
	{engine.Tablet, []string{
		"ipad", "tablet", "kindle", "playbook", "; kf", "; sm-t", "; sm-x", "samsung sm-t",
		"samsung sm-x", "; gt-p", "nexus 7", "nexus 9", "nexus 10", "mediapad", "matepad", "; tb-", "lenovo tb",
	}},
	{engine.Mobile, []string{"j2me", "midp", "symbian", "nokia", "blackberry"}},
	{engine.Desktop, []string{"x11;"}},
}

// browserOf returns the family of browser, by the first rule that has a word in lower. Apps come
// before the browsers that they embed, and a browser that is built on another before that one.
func browserOf(lower string, found foundWords) engine.Browser {
	switch {
	case found.browser < len(browserRules):
		return browserRules[found.browser].browser
	case found.apple && strings.Contains(lower, "safari/"):
		return engine.Safari // others that call themselves so, on televisions and consoles, only mean WebKit
	case found.apple && strings.Contains(lower, "applewebkit/") && strings.Contains(lower, "mobile/"):
		return engine.IOSWebView
	}
	return engine.UnknownBrowser
}

var browserRules = []struct {
	browser engine.Browser
	words   []string
}{
	{engine.ThreadsApp, []string{"barcelona "}},
	{engine.InstagramApp, []string{"instagram"}},
	{engine.TikTokApp, []string{"musical_ly", "bytedancewebview", "tiktok", "trill_"}},
	{engine.SnapchatApp, []string{"snapchat"}},
	{engine.PinterestApp, []string{"pinterest"}},
	{engine.LinkedInApp, []string{"linkedinapp"}},
	{engine.XApp, []string{"twitter for", "twitterandroid"}},
	{engine.MessengerApp, []string{"fban/messenger", "fb_iab/messenger", "fb_iab/orca"}},
	{engine.FacebookApp, []string{"fban/", "fbav/", "fb_iab/", "fbios"}},
	{engine.WeChatApp, []string{"micromessenger/"}},
	{engine.LineApp, []string{" line/"}},
	{engine.KakaoTalk, []string{"kakaotalk"}},
	{engine.NaverApp, []string{"naver(inapp"}},
	{engine.GoogleApp, []string{" gsa/"}},
	{engine.CommandLine, []string{"powershell/"}},
	{engine.Whale, []string{"whale/"}},
	{engine.Vivaldi, []string{"vivaldi"}},
	{engine.Yandex, []string{"yabrowser/", "yasearchbrowser/"}},
	{engine.DuckDuckGo, []string{"duckduckgo/", "ddg/"}},
	{engine.Brave, []string{"brave/", "brave chrome/"}},
	{engine.SamsungInternet, []string{"samsungbrowser/"}},
	{engine.UCBrowser, []string{"ucbrowser", "ubrowser/", "ucweb"}},
	{engine.QQBrowser, []string{"qqbrowser/", " qq/"}},
	{engine.HuaweiBrowser, []string{"huaweibrowser/"}},
	{engine.MiuiBrowser, []string{"miuibrowser/"}},
	{engine.SilkBrowser, []string{"silk/", "silk-accelerated"}},
	{engine.Opera, []string{" opr/", "opera/", "opera ", " opt/", " opx/", "opios/"}},
	{engine.Edge, []string{"edg/", "edga/", "edgios/", "edge/"}},
	{engine.InternetExplorer, []string{"msie ", "trident/"}},
	{engine.Firefox, []string{"fxios/", "firefox/", "focus/", "klar/"}},
	{engine.AndroidWebView, []string{"; wv)", "version/4.0 chrome/"}},
	{engine.Chrome, []string{"crios/", "chrome/", "chromium/"}},
}

// applePlatforms are the platforms whose browser is Safari.
var applePlatforms = []string{"macintosh", "iphone", "ipad", "ipod"}

// CommandLineTools begin the User-Agents of tools that a person runs.
var CommandLineTools = []string{
	"curl/", "wget/", "wget2/", "httpie/", "xh/", "aria2/", "lynx/", "w3m/", "elinks/", "libwww-perl/", "lwp-request/",
	"python-requests/", "python-urllib", "python-httpx/", "aiohttp/", "go-http-client/", "okhttp/", "axios/", "node-fetch",
	"undici", "java/", "apache-httpclient/", "ruby", "php/", "guzzlehttp/", "postmanruntime/", "insomnia/",
}
