package engine

import (
	"cmp"
	"slices"
	"strings"
)

// Dimension is what hits are broken down by. It is part of the tally row's format: a number never changes its meaning.
type Dimension uint8

const (
	Referrers Dimension = iota // host names in lower case; "" is a hit without a referrer
	Countries                  // one byte: Country
	Devices                    // one byte: Device
	Browsers                   // one byte: Browser
	NumDimensions
)

// MaxValues is how many values of one dimension a tally keeps, ShownValues how many are shown.
const (
	MaxValues   = 256
	ShownValues = 50
)

// MaxReferrerBytes is the longest referrer host that is kept by its name: what DNS allows (RFC 1035, 2.3.4).
const MaxReferrerBytes = 253

// ValueHits is one value of a dimension and its hits.
type ValueHits struct {
	Value string // as Dimension says; see Dimension.Name
	Hits  uint64 // at least 1
}

// Breakdown is hits by the values of one dimension: ascending by value, each once, at most MaxValues.
//
// It is a mergeable summary after Misra and Gries (Agarwal, Cormode, Huang, Phillips, Wei, Yi: Mergeable Summaries, PODS
// 2012): exact as long as there were at most MaxValues values; beyond, a value's hits are never too high, and too low by
// at most (hits − sum of the breakdown) / (MaxValues + 1), however tallies were merged. Countries, devices and browsers
// have fewer values, so they are exact. Hits of values that are unknown are in no breakdown.
type Breakdown []ValueHits

// Add adds the hits of c. b is replaced, not changed, and shares no memory with c but strings.
func (b *Breakdown) Add(c Breakdown) {
	if len(c) == 0 {
		return
	}
	if len(*b) == 0 {
		*b = slices.Clone(c)
		return
	}
	sum := make(Breakdown, 0, len(*b)+len(c))
	x, y := *b, c
	for len(x) > 0 && len(y) > 0 {
		switch order := strings.Compare(x[0].Value, y[0].Value); {
		case order < 0:
			sum, x = append(sum, x[0]), x[1:]
		case order > 0:
			sum, y = append(sum, y[0]), y[1:]
		default:
			sum = append(sum, ValueHits{x[0].Value, x[0].Hits + y[0].Hits})
			x, y = x[1:], y[1:]
		}
	}
	*b = append(append(sum, x...), y...).Cut()
}

// Cut returns b, which may be longer than MaxValues, as a summary of at most that many values. It changes b.
func (b Breakdown) Cut() Breakdown {
	if len(b) <= MaxValues {
		return b
	}
	hits := make([]uint64, len(b))
	for i := range b {
		hits[i] = b[i].Hits
	}
	slices.Sort(hits)
	less := hits[len(hits)-MaxValues-1] // the largest that must go takes as much from each that stays
	kept := b[:0]
	for _, v := range b {
		if v.Hits > less {
			kept = append(kept, ValueHits{v.Value, v.Hits - less})
		}
	}
	return kept
}

// Sum returns the hits of all values.
func (b Breakdown) Sum() (sum uint64) {
	for _, v := range b {
		sum += v.Hits
	}
	return sum
}

// Top returns the n values with the most hits, descending; those with equal hits ascend by value.
func (b Breakdown) Top(n int) []ValueHits {
	top := slices.Clone(b)
	slices.SortFunc(top, func(x, y ValueHits) int {
		return cmp.Or(cmp.Compare(y.Hits, x.Hits), strings.Compare(x.Value, y.Value))
	})
	return top[:min(n, len(top))]
}

// Dimensions are hits by all that they are broken down by.
type Dimensions [NumDimensions]Breakdown

// Add adds u to d.
func (d *Dimensions) Add(u *Dimensions) {
	for i := range d {
		d[i].Add(u[i])
	}
}

// Empty tells whether there is no value at all.
func (d *Dimensions) Empty() bool {
	for i := range d {
		if len(d[i]) > 0 {
			return false
		}
	}
	return true
}

// Names of values that are not their own name.
const (
	DirectReferrer = "direct" // a hit without a referrer
	unknownValue   = "unknown"
)

// Name returns a value of d as people read it.
func (d Dimension) Name(value string) string {
	switch {
	case d == Referrers && value == "":
		return DirectReferrer
	case d == Referrers:
		return value
	case len(value) != 1:
		return unknownValue
	case d == Countries:
		return Country(value[0]).String()
	case d == Devices:
		return Device(value[0]).String()
	}
	return Browser(value[0]).String()
}

// Agent is what a User-Agent tells of: a device in bits 0 to 3, a browser in bits 4 to 11, as they stand in the journal.
type Agent uint16

const (
	browserShift = 4
	agentMask    = 0xff<<browserShift | MaxDevice
)

// AgentOf returns the agent of a device, up to MaxDevice, and a browser.
func AgentOf(d Device, b Browser) Agent { return Agent(d&MaxDevice) | Agent(b)<<browserShift }

// Device returns the agent's device.
func (a Agent) Device() Device { return Device(a & MaxDevice) }

// Browser returns the agent's browser.
func (a Agent) Browser() Browser { return Browser(a >> browserShift) }

// Device is the kind of device that a User-Agent tells of. Part of the journal's and the store's format.
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

// MaxDevice is the largest number that the journal has room for.
const MaxDevice = 15

var deviceNames = [numDevices]string{unknownValue, "desktop", "mobile", "tablet", "tv", "console"}

// String returns the device's name.
func (d Device) String() string { return nameIn(deviceNames[:], uint8(d)) }

// Browser is the family of browser that a User-Agent tells of. Part of the journal's and the store's format.
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
	CommandLine // curl and its like
	IOSWebView  // an app on an iPhone or iPad that does not say which
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
	return unknownValue // of a newer version
}

// Country is a country's place in countryCodes, from 1; 0 is unknown. Part of the journal's and the store's format.
type Country uint8

// countryCodes are the codes of ISO 3166-1 alpha-2 as of 2024, and XK (Kosovo, user-assigned). New ones go to the end.
const countryCodes = "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCN" +
	"COCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIO" +
	"IQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNG" +
	"NINLNONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTM" +
	"TNTOTRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSYEYTZAZMZWXK"

var countryNumbers = func() (numbers [26 * 26]Country) {
	for i := 0; i < len(countryCodes); i += 2 {
		numbers[countryPlace(countryCodes[i], countryCodes[i+1])] = Country(i/2 + 1)
	}
	return numbers
}()

func countryPlace(a, b byte) int { return int(a-'A')*26 + int(b-'A') }

// CountryOf returns the country with an ISO 3166-1 alpha-2 code, in either case; 0 if there is none.
func CountryOf[S string | []byte](code S) Country {
	if len(code) != 2 {
		return 0
	}
	a, b := code[0]&^0x20, code[1]&^0x20
	if a < 'A' || a > 'Z' || b < 'A' || b > 'Z' {
		return 0
	}
	return countryNumbers[countryPlace(a, b)]
}

// String returns the country's code.
func (c Country) String() string {
	if c == 0 || int(c) > len(countryCodes)/2 {
		return unknownValue
	}
	end := 2 * int(c)
	return countryCodes[end-2 : end]
}
