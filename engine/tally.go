package engine

import "shunt/engine/tally"

// What users of the engine need of package tally, under the names that they know it by.
type (
	Tally      = tally.Tally
	Parts      = tally.Parts
	Sketch     = tally.Sketch
	Class      = tally.Class
	Values     = tally.Values
	Dimension  = tally.Dimension
	Dimensions = tally.Dimensions
	Breakdown  = tally.Breakdown
	ValueHits  = tally.ValueHits
	Agent      = tally.Agent
	Device     = tally.Device
	Browser    = tally.Browser
	Country    = tally.Country
)

// Parts of a tally.
const (
	Visitors   = tally.Visitors
	Breakdowns = tally.Breakdowns
)

// Classes.
const (
	ClassHit      = tally.ClassHit
	ClassBot      = tally.ClassBot
	ClassPrefetch = tally.ClassPrefetch
	ClassHead     = tally.ClassHead
)

// Dimensions.
const (
	Referrers     = tally.Referrers
	Countries     = tally.Countries
	Devices       = tally.Devices
	Browsers      = tally.Browsers
	NumDimensions = tally.NumDimensions
)

// Limits and names of values.
const (
	MaxExactVisitors = tally.MaxExactVisitors
	MaxValues        = tally.MaxValues
	ShownValues      = tally.ShownValues
	MaxReferrerBytes = tally.MaxReferrerBytes
	OtherReferrer    = tally.OtherReferrer
	DirectReferrer   = tally.DirectReferrer
	MaxDevice        = tally.MaxDevice
)

// Devices.
const (
	UnknownDevice = tally.UnknownDevice
	Desktop       = tally.Desktop
	Mobile        = tally.Mobile
	Tablet        = tally.Tablet
	TV            = tally.TV
	Console       = tally.Console
)

// Browsers.
const (
	UnknownBrowser   = tally.UnknownBrowser
	Chrome           = tally.Chrome
	Safari           = tally.Safari
	Firefox          = tally.Firefox
	Edge             = tally.Edge
	Opera            = tally.Opera
	SamsungInternet  = tally.SamsungInternet
	InternetExplorer = tally.InternetExplorer
	Vivaldi          = tally.Vivaldi
	Yandex           = tally.Yandex
	UCBrowser        = tally.UCBrowser
	Brave            = tally.Brave
	DuckDuckGo       = tally.DuckDuckGo
	AndroidWebView   = tally.AndroidWebView
	FacebookApp      = tally.FacebookApp
	InstagramApp     = tally.InstagramApp
	TikTokApp        = tally.TikTokApp
	SnapchatApp      = tally.SnapchatApp
	PinterestApp     = tally.PinterestApp
	LinkedInApp      = tally.LinkedInApp
	XApp             = tally.XApp
	WeChatApp        = tally.WeChatApp
	LineApp          = tally.LineApp
	Whale            = tally.Whale
	QQBrowser        = tally.QQBrowser
	HuaweiBrowser    = tally.HuaweiBrowser
	MiuiBrowser      = tally.MiuiBrowser
	SilkBrowser      = tally.SilkBrowser
	CommandLine      = tally.CommandLine
	IOSWebView       = tally.IOSWebView
	GoogleApp        = tally.GoogleApp
	KakaoTalk        = tally.KakaoTalk
	NaverApp         = tally.NaverApp
	ThreadsApp       = tally.ThreadsApp
	MessengerApp     = tally.MessengerApp
)

// ExactSketch is tally.ExactSketch.
func ExactSketch(sorted []uint64) Sketch { return tally.ExactSketch(sorted) }

// DecodeSketch is tally.DecodeSketch.
func DecodeSketch(b []byte) (Sketch, error) { return tally.DecodeSketch(b) }

// AgentOf is tally.AgentOf.
func AgentOf(d Device, b Browser) Agent { return tally.AgentOf(d, b) }

// CountryOf is tally.CountryOf.
func CountryOf[S string | []byte](code S) Country { return tally.CountryOf(code) }
