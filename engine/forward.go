package engine

import (
	"shunt/engine/caps"
	"shunt/engine/index"
	"shunt/engine/internal/ascii"
	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
	"shunt/engine/journal"
	"shunt/engine/seen"
	"shunt/engine/tally"
	"shunt/engine/target"
)

// This file names what packages above the engine use of the rooms below it. It exists because the
// engine's contract is made of these types: Create takes a target that a TargetPolicy passed,
// Resolve returns a Link, a View yields a Tally, and errors are InvalidErrors. So a caller imports
// one package and meets one set of names, and a room can be split or moved without a change in the
// API, the storage or the commands. Limits are here because others cannot import an internal room.
// A caller that needs only a room and not the engine imports the room, as commands do with plural.
// Inside the engine and its rooms the rooms are named directly.

// Limits of a link's fields: see engine/internal/limits.
const (
	MaxCodeBytes    = limits.MaxCodeBytes
	MaxTargetBytes  = limits.MaxTargetBytes
	MaxTitleBytes   = limits.MaxTitleBytes
	MaxTags         = limits.MaxTags
	MaxTagBytes     = limits.MaxTagBytes
	MaxImportedHits = limits.MaxImportedHits
	TombstoneDays   = limits.TombstoneDays
)

// Caps of links in a cluster: see engine/caps.
type (
	Cap       = caps.Cap
	CapAsk    = caps.Ask
	CapAnswer = caps.Answer
)

// MaxCapAsks is caps.MaxAsks.
const MaxCapAsks = caps.MaxAsks

// Errors in the fields of a request: see engine/invalid.
type (
	FieldError   = invalid.FieldError
	InvalidError = invalid.Error
)

// The time that a store has seen passing: see engine/seen.
type (
	SeenClock = seen.Clock
	SeenRun   = seen.Run
	SeenJump  = seen.Jump
)

// MaxSeenRuns bounds the runs of a SeenClock.
const MaxSeenRuns = seen.MaxRuns

// Links in memory and their codes: see engine/index.
type (
	Link    = index.Link
	Flags   = index.Flags
	HotView = index.HotView
)

const (
	FlagForwardQuery = index.FlagForwardQuery
	FlagExpires      = index.FlagExpires
	FlagCapped       = index.FlagCapped
	FlagTombstone    = index.FlagTombstone
	DurableFlags     = index.DurableFlags

	DrawnCodeBytes = index.DrawnCodeBytes
)

// StatusFlags is index.StatusFlags.
func StatusFlags(status int) (Flags, bool) { return index.StatusFlags(status) }

// ValidCode is index.ValidCode.
func ValidCode(b []byte) bool { return index.ValidCode(b) }

// ValidateAlias is index.ValidateAlias.
func ValidateAlias(alias string) error { return index.ValidateAlias(alias) }

// Which targets are valid: see engine/target.
type (
	TargetPolicy = target.Policy
	BlockList    = target.BlockList
	LineError    = target.LineError
	Origins      = target.Origins
)

const (
	BlockedTarget = target.CodeBlocked
	MaxBlocked    = target.MaxBlocked
)

// ParseOrigins is target.ParseOrigins.
func ParseOrigins(addresses ...string) Origins { return target.ParseOrigins(addresses...) }

// AppendASCII is ascii.Append.
func AppendASCII(dst, address []byte) []byte { return ascii.Append(dst, address) }

// ToASCII is ascii.Rewrite.
func ToASCII(buf []byte, at int) []byte { return ascii.Rewrite(buf, at) }

// InOwnNetwork is target.InOwnNetwork.
func InOwnNetwork(authority string) bool { return target.InOwnNetwork(authority) }

// LoopbackHost is target.LoopbackHost.
func LoopbackHost(authority string) bool { return target.LoopbackHost(authority) }

// HostName is target.HostName.
func HostName(authority string) (string, error) { return target.HostName(authority) }

// SameOrigin is target.SameOrigin.
func SameOrigin(origin, address string) bool { return target.SameOrigin(origin, address) }

// The files that hits are recorded in: see engine/journal.
type (
	Visit         = journal.Visit
	JournalReport = journal.Report
)

// Tallies and their parts: see engine/tally.
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
