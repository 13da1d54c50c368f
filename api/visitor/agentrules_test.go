package visitor

import (
	"strings"
	"testing"
)

const (
	onWindows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
	onMac     = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	onIPhone  = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	onIPad    = "Mozilla/5.0 (iPad; CPU OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	onPixel   = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) "
	inPixel   = "Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/AP1A.240405.002; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.71 Mobile Safari/537.36"
)

// agentCases are User-Agents as they are seen on the web, by what sends them.
var agentCases = map[string]struct {
	agent, device, browser string
}{
	// Desktops.
	"Chrome on Windows":     {onWindows + "Chrome/126.0.0.0 Safari/537.36", "desktop", "Chrome"},
	"Chrome on a Mac":       {"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", "desktop", "Chrome"},
	"Chrome on Linux":       {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", "desktop", "Chrome"},
	"Chrome on ChromeOS":    {"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", "desktop", "Chrome"},
	"Chromium on Ubuntu":    {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Ubuntu Chromium/80.0.3987.87 Chrome/80.0.3987.87 Safari/537.36", "desktop", "Chrome"},
	"Safari on a Mac":       {onMac + "Version/17.5 Safari/605.1.15", "desktop", "Safari"},
	"Firefox on Windows":    {"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0", "desktop", "Firefox"},
	"Firefox on Linux":      {"Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "desktop", "Firefox"},
	"Firefox on FreeBSD":    {"Mozilla/5.0 (X11; FreeBSD amd64; rv:126.0) Gecko/20100101 Firefox/126.0", "desktop", "Firefox"},
	"Edge on Windows":       {onWindows + "Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "desktop", "Edge"},
	"Edge before Chromium":  {onWindows + "Chrome/70.0.3538.102 Safari/537.36 Edge/18.19042", "desktop", "Edge"},
	"Opera on Windows":      {onWindows + "Chrome/124.0.0.0 Safari/537.36 OPR/110.0.0.0", "desktop", "Opera"},
	"Opera before Chromium": {"Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18", "desktop", "Opera"},
	"Vivaldi":               {onWindows + "Chrome/126.0.0.0 Safari/537.36 Vivaldi/6.8.3381.46", "desktop", "Vivaldi"},
	"Yandex on Windows":     {onWindows + "Chrome/124.0.0.0 YaBrowser/24.6.0.0 Safari/537.36", "desktop", "Yandex"},
	"Whale on Windows":      {onWindows + "Chrome/124.0.0.0 Whale/3.26.244.21 Safari/537.36", "desktop", "Whale"},
	"Brave that says so":    {onWindows + "Brave Chrome/78.0.3904.108 Safari/537.36", "desktop", "Brave"},
	"QQ Browser on Windows": {onWindows + "Chrome/123.0.6312.124 Safari/537.36 Core/1.116.438.400 QQBrowser/13.0.6070.400", "desktop", "QQ Browser"},
	"DuckDuckGo on a Mac":   {onMac + "Version/17.5 Safari/605.1.15 Ddg/17.5", "desktop", "DuckDuckGo"},
	"Internet Explorer 11":  {"Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko", "desktop", "Internet Explorer"},
	"Internet Explorer 8, with a component for tablets": {"Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; SLCC2; Media Center PC 6.0; Tablet PC 2.0)", "desktop", "Internet Explorer"},
	"WeChat on Windows": {onWindows + "Chrome/116.0.0.0 Safari/537.36 NetType/WIFI MicroMessenger/7.0.20.1781(0x6700143B) WindowsWechat(0x63090a13) XWEB/9129 Flue", "desktop", "WeChat"},
	"GNOME Web":         {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Safari/605.1.15", "desktop", "unknown"},
	"PowerShell":        {"Mozilla/5.0 (Windows NT; Windows NT 10.0; de-DE) WindowsPowerShell/5.1.22621.2506", "desktop", "command line"},

	// Telephones.
	"Safari on an iPhone":          {onIPhone + "Version/17.5 Mobile/15E148 Safari/604.1", "mobile", "Safari"},
	"Chrome on an iPhone":          {onIPhone + "CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1", "mobile", "Chrome"},
	"Firefox on an iPhone":         {onIPhone + "FxiOS/127.0 Mobile/15E148 Safari/605.1.15", "mobile", "Firefox"},
	"Edge on an iPhone":            {onIPhone + "Version/17.0 EdgiOS/125.0.2535.96 Mobile/15E148 Safari/605.1.15", "mobile", "Edge"},
	"Opera on an iPhone":           {onIPhone + "Version/17.5 Mobile/15E148 Safari/604.1 OPT/4.7.0", "mobile", "Opera"},
	"DuckDuckGo on an iPhone":      {onIPhone + "Version/17.5 Mobile/15E148 DuckDuckGo/7 Safari/605.1.15", "mobile", "DuckDuckGo"},
	"some app on an iPhone":        {onIPhone + "Mobile/15E148", "mobile", "iOS WebView"},
	"Chrome on a Pixel":            {onPixel + "Chrome/126.0.0.0 Mobile Safari/537.36", "mobile", "Chrome"},
	"Firefox on Android":           {"Mozilla/5.0 (Android 14; Mobile; rv:127.0) Gecko/127.0 Firefox/127.0", "mobile", "Firefox"},
	"Edge on Android":              {onPixel + "Chrome/124.0.0.0 Mobile Safari/537.36 EdgA/124.0.2478.104", "mobile", "Edge"},
	"Opera on Android":             {onPixel + "Chrome/124.0.0.0 Mobile Safari/537.36 OPR/83.0.0.0", "mobile", "Opera"},
	"Opera Mini":                   {"Opera/9.80 (J2ME/MIDP; Opera Mini/7.1.32052/29.3709; U; en) Presto/2.8.119 Version/11.10", "mobile", "Opera"},
	"Samsung Internet":             {"Mozilla/5.0 (Linux; Android 14; SAMSUNG SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36", "mobile", "Samsung Internet"},
	"UC Browser":                   {"Mozilla/5.0 (Linux; U; Android 13; en-US; RMX3085) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/100.0.4896.58 UCBrowser/13.7.2.1636 Mobile Safari/537.36", "mobile", "UC Browser"},
	"UC Browser on an old Nokia":   {"UCWEB/2.0 (Java; U; MIDP-2.0; en-US; nokia5130c-2) U2/1.0.0 UCBrowser/8.9.0.251 U2/1.0.0 Mobile", "mobile", "UC Browser"},
	"QQ Browser on Android":        {"Mozilla/5.0 (Linux; U; Android 13; zh-cn; 22081212C) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/109.0.5414.86 MQQBrowser/15.0 Mobile Safari/537.36", "mobile", "QQ Browser"},
	"Huawei Browser":               {"Mozilla/5.0 (Linux; Android 12; HarmonyOS; NOH-AN00; HMSCore 6.13.0.302) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.5735.196 HuaweiBrowser/14.0.5.303 Mobile Safari/537.36", "mobile", "Huawei Browser"},
	"MIUI Browser":                 {"Mozilla/5.0 (Linux; U; Android 13; en-gb; 2201116SG) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/112.0.5615.136 Mobile Safari/537.36 XiaoMi/MiuiBrowser/14.9.1-gn", "mobile", "MIUI Browser"},
	"Vivaldi on Android":           {onPixel + "Chrome/126.0.0.0 Mobile Safari/537.36 Vivaldi/6.8.3388.76", "mobile", "Vivaldi"},
	"Yandex on Android":            {onPixel + "Chrome/124.0.6367.118 YaBrowser/24.6.1.118.00 SA/3 Mobile Safari/537.36", "mobile", "Yandex"},
	"WebView of some app":          {inPixel, "mobile", "Android WebView"},
	"WebView of Android 4":         {"Mozilla/5.0 (Linux; Android 4.4.2; GT-I9505 Build/KOT49H) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/30.0.0.0 Mobile Safari/537.36", "mobile", "Android WebView"},
	"the browser of Android 4.0":   {"Mozilla/5.0 (Linux; U; Android 4.0.3; de-de; GT-I9100 Build/IML74K) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30", "mobile", "unknown"},
	"an Android app without one":   {"Dalvik/2.1.0 (Linux; U; Android 14; SM-A546B Build/UP1A.231005.007)", "mobile", "unknown"},
	"Internet Explorer on a Lumia": {"Mozilla/5.0 (compatible; MSIE 10.0; Windows Phone 8.0; Trident/6.0; IEMobile/10.0; ARM; Touch; NOKIA; Lumia 920)", "mobile", "Internet Explorer"},
	"Edge on a Lumia, as Android":  {"Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/52.0.2743.116 Mobile Safari/537.36 Edge/15.15063", "mobile", "Edge"},
	"a BlackBerry":                 {"Mozilla/5.0 (BB10; Kbd) AppleWebKit/537.35+ (KHTML, like Gecko) Version/10.3.2.2474 Mobile Safari/537.35+", "mobile", "unknown"},
	"KaiOS":                        {"Mozilla/5.0 (Mobile; Nokia_8110_4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5", "mobile", "Firefox"},
	"HarmonyOS NEXT":               {"Mozilla/5.0 (Phone; OpenHarmony 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36 ArkWeb/4.1.6.1 Mobile HuaweiBrowser/5.0.4.300", "mobile", "Huawei Browser"},
	"a telephone named Cubot":      {"Mozilla/5.0 (Linux; Android 11; CUBOT NOTE 20) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36", "mobile", "Chrome"},

	// In-app browsers.
	"Facebook on an iPhone":                             {onIPhone + "Mobile/21F90 [FBAN/FBIOS;FBAV/468.0.0.37.98;FBBV/610282811;FBDV/iPhone15,2;FBMD/iPhone;FBSN/iOS;FBSV/17.5.1;FBSS/3;FBID/phone;FBLC/en_US;FBOP/5;FBRV/0]", "mobile", "Facebook"},
	"Facebook on Android":                               {inPixel + " [FB_IAB/FB4A;FBAV/468.1.0.56.78;]", "mobile", "Facebook"},
	"Messenger on an iPhone":                            {onIPhone + "Mobile/21F90 [FBAN/MessengerForiOS;FBAV/462.0.0.35.106;FBBV/606060606;FBDV/iPhone14,5]", "mobile", "Messenger"},
	"Instagram on an iPhone":                            {onIPhone + "Mobile/15E148 Instagram 334.0.4.32.98 (iPhone15,2; iOS 17_5_1; en_US; en; scale=3.00; 1179x2556; 608327415)", "mobile", "Instagram"},
	"Instagram on Android":                              {inPixel + " Instagram 334.0.0.42.95 Android (34/14; 420dpi; 1080x2195; Google/google; Pixel 8; shiba; shiba; en_US; 609775437)", "mobile", "Instagram"},
	"Instagram on an iPhone, under Facebook's name too": {onIPhone + "Mobile/15E148 Instagram 334.0 [FBAN/FBIOS;FBAV/334.0]", "mobile", "Instagram"},
	"TikTok on an iPhone":                               {onIPhone + "Mobile/15E148 musical_ly_35.1.0 JsSdk/2.0 NetType/WIFI Channel/App Store ByteLocale/en Region/US isDarkMode/1 WKWebView/1 BytedanceWebview/d8a21c6", "mobile", "TikTok"},
	"TikTok on Android":                                 {inPixel + " trill_350103 JsSdk/1.0 NetType/WIFI Channel/googleplay AppName/musical_ly app_version/35.1.3 ByteLocale/en ByteFullLocale/en Region/US BytedanceWebview/d8a21c6", "mobile", "TikTok"},
	"Snapchat on an iPhone":                             {onIPhone + "Mobile/15E148 Snapchat/12.91.0.40 (like Safari/8618.2.12.10.9, panda)", "mobile", "Snapchat"},
	"Snapchat on Android":                               {"Mozilla/5.0 (Linux; Android 14; SM-S911U Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.71 Mobile Safari/537.36Snapchat12.92.0.44 (SM-S911U; Android 14#S911USQS4CXE9#34; gzip; )", "mobile", "Snapchat"},
	"Pinterest on an iPhone":                            {onIPhone + "Mobile/15E148 [Pinterest/iOS]", "mobile", "Pinterest"},
	"Pinterest on Android":                              {inPixel + " [Pinterest/Android]", "mobile", "Pinterest"},
	"LinkedIn on an iPhone":                             {onIPhone + "Mobile/15E148 [LinkedInApp]/9.29.8962", "mobile", "LinkedIn"},
	"LinkedIn on Android":                               {inPixel + " [LinkedInApp]/4.1.966", "mobile", "LinkedIn"},
	"X on an iPhone":                                    {onIPhone + "Mobile/15E148 Twitter for iPhone/10.46", "mobile", "X"},
	"X on Android":                                      {inPixel + " TwitterAndroid", "mobile", "X"},
	"WeChat on an iPhone":                               {onIPhone + "Mobile/15E148 MicroMessenger/8.0.49(0x18003137) NetType/WIFI Language/zh_CN", "mobile", "WeChat"},
	"WeChat on Android":                                 {"Mozilla/5.0 (Linux; Android 14; 23013RK75C Build/UKQ1.230804.001; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/116.0.0.0 Mobile Safari/537.36 XWEB/1160117 MMWEBSDK/20240404 MMWEBID/4229 MicroMessenger/8.0.49.2600(0x28003133) WeChat/arm64 Weixin NetType/5G Language/zh_CN ABI/arm64", "mobile", "WeChat"},
	"WeChat with QQ's engine":                           {"Mozilla/5.0 (Linux; Android 9; MI 6 Build/PKQ1.190118.001; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/66.0.3359.126 MQQBrowser/6.2 TBS/045008 Mobile Safari/537.36 MicroMessenger/7.0.9.1560", "mobile", "WeChat"},
	"the Google app on an iPhone":                       {onIPhone + "GSA/319.0.640283105 Mobile/15E148 Safari/604.1", "mobile", "Google app"},
	"KakaoTalk on an iPhone":                            {onIPhone + "Mobile/15E148 KAKAOTALK 10.8.5", "mobile", "KakaoTalk"},
	"NAVER on an iPhone":                                {onIPhone + "Mobile/15E148 NAVER(inapp; search; 2000; 12.6.2; 14)", "mobile", "NAVER"},
	"Threads on an iPhone":                              {onIPhone + "Mobile/15E148 Barcelona 334.0.0.30.95 (iPhone15,2; iOS 17_5_1; en_US; en; scale=3.00; 1179x2556; 607)", "mobile", "Threads"},
	"LINE on an iPhone":                                 {onIPhone + "Mobile/15E148 Safari Line/14.9.0", "mobile", "LINE"},
	"LINE on Android":                                   {inPixel + " Line/14.9.1/IAB", "mobile", "LINE"},
	"QQ on Android":                                     {inPixel + " V1_AND_SQ_9.0.56_6372_YYB_D QQ/9.0.56.16830 NetType/WIFI WebP/0.3.0", "mobile", "QQ Browser"},
	"Facebook on an iPad":                               {onIPad + "Mobile/21F90 [FBAN/FBIOS;FBAV/468.0.0.37.98;FBDV/iPad13,4]", "tablet", "Facebook"},
	"Instagram on an iPad that asks for desktop pages":  {onMac + "Mobile/15E148 Instagram 334.0.4.32.98", "tablet", "Instagram"},

	// Tablets.
	"Safari on an iPad, mobile pages":  {onIPad + "Version/17.5 Mobile/15E148 Safari/604.1", "tablet", "Safari"},
	"Chrome on an iPad":                {onIPad + "CriOS/126.0.6478.54 Mobile/15E148 Safari/604.1", "tablet", "Chrome"},
	"Chrome on an Android tablet":      {"Mozilla/5.0 (Linux; Android 13; Lenovo TB128FU) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36", "tablet", "Chrome"},
	"Samsung Internet on a Galaxy Tab": {"Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-X906B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Safari/537.36", "tablet", "Samsung Internet"},
	"Firefox on an Android tablet":     {"Mozilla/5.0 (Android 13; Tablet; rv:127.0) Gecko/127.0 Firefox/127.0", "tablet", "Firefox"},
	"Silk on a Fire tablet":            {"Mozilla/5.0 (Linux; Android 11; KFTRWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/126.2.5 like Chrome/126.0.6478.71 Safari/537.36", "tablet", "Silk"},
	"a WebView on a Galaxy Tab":        {"Mozilla/5.0 (Linux; Android 12; SM-T510 Build/SP1A.210812.016; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.71 Safari/537.36", "tablet", "Android WebView"},

	// Televisions and consoles.
	"a Samsung television": {"Mozilla/5.0 (SMART-TV; LINUX; Tizen 7.0) AppleWebKit/537.36 (KHTML, like Gecko) 94.0.4606.31/7.0 TV Safari/537.36", "tv", "unknown"},
	"an LG television":     {"Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/94.0.4606.128 Safari/537.36 WebAppManager", "tv", "Chrome"},
	"a Sony television":    {"Mozilla/5.0 (Linux; Android 10; BRAVIA 4K VH2 Build/QTG3.200305.006.S292; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.71 Safari/537.36", "tv", "Android WebView"},
	"a Fire TV stick":      {"Mozilla/5.0 (Linux; Android 9; AFTKA) AppleWebKit/537.36 (KHTML, like Gecko) Silk/120.5.6 like Chrome/120.0.6099.283 Safari/537.36", "tv", "Silk"},
	"a Chromecast":         {"Mozilla/5.0 (X11; Linux armv7l) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/90.0.4430.225 Safari/537.36 CrKey/1.56.500000", "tv", "Chrome"},
	"a PlayStation 5":      {"Mozilla/5.0 (PlayStation; PlayStation 5/6.50) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.4 Safari/605.1.15", "console", "unknown"},
	"an Xbox":              {"Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox Series X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "console", "Edge"},
	"a Nintendo Switch":    {"Mozilla/5.0 (Nintendo Switch; WifiWebAuthApplet) AppleWebKit/609.4 (KHTML, like Gecko) NF/6.0.2.20.5 NintendoBrowser/5.1.0.22023", "console", "unknown"},

	// Neither.
	"curl":            {"curl/8.8.0", "unknown", "command line"},
	"wget":            {"Wget/1.21.4", "unknown", "command line"},
	"HTTPie":          {"HTTPie/3.2.2", "unknown", "command line"},
	"python-requests": {"python-requests/2.32.3", "unknown", "command line"},
	"Go":              {"Go-http-client/1.1", "unknown", "command line"},
	"OkHttp":          {"okhttp/4.12.0", "unknown", "command line"},
	"nothing":         {"", "unknown", "unknown"},
	"a dash":          {"-", "unknown", "unknown"},
	"only Mozilla":    {"Mozilla/5.0", "unknown", "unknown"},
	"binary":          {"\x00\xff\xfe(((;;;)))", "unknown", "unknown"},
	"cut off by us: what an app says too late": {onPixel + strings.Repeat("x ", maxAgentBytes/2) + " Instagram 1", "mobile", "unknown"},
}

func TestDevicesAndBrowsersAreToldByTheirUserAgents(t *testing.T) {
	for name, c := range agentCases {
		t.Run(name, func(t *testing.T) {
			info := classify([]byte(c.agent))
			if info.IsBot() || info.Dimensions().Device().String() != c.device || info.Dimensions().Browser().String() != c.browser {
				t.Errorf("%q: got %v, %v and bot == %v, want %v and %v",
					c.agent, info.Dimensions().Device(), info.Dimensions().Browser(), info.IsBot(), c.device, c.browser)
			}
		})
	}
}

// BenchmarkClassify is what a User-Agent costs that is not in the cache.
func BenchmarkClassify(b *testing.B) {
	for _, name := range []string{"Chrome on Windows", "Instagram on Android", "Safari on an iPhone", "curl"} {
		b.Run("agent="+strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			agent := []byte(agentCases[name].agent)
			b.ReportAllocs()
			for b.Loop() {
				classify(agent)
			}
		})
	}
}
