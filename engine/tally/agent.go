package tally

// unknownValue is the name of a value that is not known.
const unknownValue = "unknown"

// Agent is a device in bits 0 to 3 and a browser in bits 4 to 11, as in the journal.
type Agent uint16

const (
	browserShift = 4

	// AgentMask has the 12 bits that an agent may use.
	AgentMask = 0xff<<browserShift | MaxDevice
)

// AgentOf returns the agent of a device, at most MaxDevice, and a browser.
func AgentOf(d Device, b Browser) Agent { return Agent(d&MaxDevice) | Agent(b)<<browserShift }

// Device returns the agent's device.
func (a Agent) Device() Device { return Device(a & MaxDevice) }

// Browser returns the agent's browser.
func (a Agent) Browser() Browser { return Browser(a >> browserShift) }

// Device is a kind of device. Its numbers are part of the journal's and the store's formats.
type Device uint8

const (
	UnknownDevice Device = iota
	Desktop
	Mobile
	Tablet
	TV
	Console
	numDevices
)

// MaxDevice is the largest device number that fits into the journal.
const MaxDevice = 15

var deviceNames = [numDevices]string{unknownValue, "desktop", "mobile", "tablet", "tv", "console"}

// String returns the device's name.
func (d Device) String() string { return nameIn(deviceNames[:], uint8(d)) }

// Browser is a family of browsers. Its numbers are part of the journal's and the store's formats.
type Browser uint8

const (
	UnknownBrowser Browser = iota
	Chrome
	Safari
	Firefox
	Edge
	Opera
	SamsungInternet
	InternetExplorer
	Vivaldi
	Yandex
	UCBrowser
	Brave
	DuckDuckGo
	AndroidWebView
	FacebookApp
	InstagramApp
	TikTokApp
	SnapchatApp
	PinterestApp
	LinkedInApp
	XApp
	WeChatApp
	LineApp
	Whale
	QQBrowser
	HuaweiBrowser
	MiuiBrowser
	SilkBrowser
	CommandLine // curl and similar tools
	IOSWebView  // an app on an iPhone or iPad that does not name itself
	GoogleApp
	KakaoTalk
	NaverApp
	ThreadsApp
	MessengerApp
	numBrowsers
)

var browserNames = [numBrowsers]string{
	unknownValue, "Chrome", "Safari", "Firefox", "Edge", "Opera", "Samsung Internet", "Internet Explorer", "Vivaldi",
	"Yandex", "UC Browser", "Brave", "DuckDuckGo", "Android WebView", "Facebook", "Instagram", "TikTok", "Snapchat",
	"Pinterest", "LinkedIn", "X", "WeChat", "LINE", "Whale", "QQ Browser", "Huawei Browser", "MIUI Browser", "Silk",
	"command line", "iOS WebView", "Google app", "KakaoTalk", "NAVER", "Threads", "Messenger",
}

// String returns the browser's name.
func (b Browser) String() string { return nameIn(browserNames[:], uint8(b)) }

func nameIn(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return unknownValue // written by a newer version
}
