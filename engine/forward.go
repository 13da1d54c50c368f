package engine

import (
	"net/netip"
	"time"

	"shunt/engine/caps"
	"shunt/engine/extras"
	"shunt/engine/hit"
	"shunt/engine/index"
	"shunt/engine/internal/ascii"
	"shunt/engine/internal/errs"
	"shunt/engine/internal/limits"
	"shunt/engine/internal/settings"
	"shunt/engine/invalid"
	"shunt/engine/journal"
	"shunt/engine/link"
	"shunt/engine/seen"
	"shunt/engine/tally"
	"shunt/engine/target"
	"shunt/engine/texts"
)

// This file names what packages above the engine use of the rooms below it. It exists because the
// engine's contract is made of these types: Create takes a target that a TargetPolicy passed,
// Resolve returns a Link, a View yields a Tally, and errors are InvalidErrors. So a caller imports
// one package and meets one set of names, and a room can be split or moved without a change in the
// API, the storage or the commands. Limits are here because others cannot import an internal room.
// A caller that needs only a room and not the engine imports the room, as commands do with plural.
// Inside the engine and its rooms the rooms are named directly.
// index.Link has no name here: the compiler inlines its methods only in packages that import index, and a redirect
// calls five of them.

// Limits of a link's fields: see engine/internal/limits.
const (
	MaxCodeBytes   = limits.MaxCodeBytes
	MaxTargetBytes = limits.MaxTargetBytes
	MaxTags        = limits.MaxTags
	MaxTagBytes    = limits.MaxTagBytes

	MaxPasswordHashBytes = limits.MaxPasswordHashBytes
	TombstoneDays        = limits.TombstoneDays
	TrashDays            = limits.TrashDays

	MaxCardTitleBytes       = link.MaxCardTitleBytes
	MaxCardDescriptionBytes = link.MaxCardDescriptionBytes
	MaxCardImageBytes       = link.MaxCardImageBytes
)

// A link: see engine/link.
type (
	Hot          = link.Hot
	Cold         = link.Cold
	Texts        = texts.Texts
	Card         = link.Card
	Record       = link.Record
	State        = link.State
	Detail       = link.Detail
	Draft        = link.Draft
	Import       = link.Import
	Guard        = link.Guard
	By           = link.By
	Mutation     = link.Mutation
	Bulk         = link.Bulk
	BulkItem     = link.BulkItem
	BulkResult   = link.BulkResult
	Receipt      = link.Receipt
	ReceiptItem  = link.ReceiptItem
	Request      = link.Request
	RequestKey   = link.RequestKey
	Outcome      = link.Outcome
	TakenError   = link.TakenError
	LinkQuery    = link.LinkQuery
	Forwarding   = link.Forwarding
	LinkPage     = link.LinkPage
	LinkList     = link.LinkList
	LinkEntry    = link.LinkEntry
	Order        = link.Order
	Choice       = link.Choice
	Part         = link.Part
	ListRange    = link.ListRange
	OwnerRange   = link.OwnerRange
	Listing      = link.Listing
	TagCount     = link.TagCount
	TagScan      = link.TagScan
	TagQuery     = link.TagQuery
	TagEdit      = link.TagEdit
	Deletion     = link.Deletion
	Purge        = link.Purge
	TrashChange  = link.TrashChange
	TrashPlace   = link.TrashPlace
	TrashQuery   = link.TrashQuery
	ReceiptSweep = link.ReceiptSweep
	Learned      = link.Learned
	ImportedHits = link.ImportedHits
	Freed        = link.Freed
	Progress     = link.Progress
	AuditAction  = link.AuditAction
	AuditEntry   = link.AuditEntry
	AuditChange  = link.AuditChange
	IDRun        = link.IDRun
	CapChange    = link.CapChange
	CapNodes     = link.CapNodes
)

// States of a link.
const (
	StateActive    = link.StateActive
	StateScheduled = link.StateScheduled
	StateDisabled  = link.StateDisabled
	StateExpired   = link.StateExpired
	StateExhausted = link.StateExhausted
	StateBlocked   = link.StateBlocked
	StateDeleted   = link.StateDeleted
)

// What a mutation does to the trash.
const (
	TrashPurged   = link.TrashPurged
	TrashRestored = link.TrashRestored
)

// What becomes of the query after the code of a link.
const (
	ForwardNone     = link.ForwardNone
	ForwardAppend   = link.ForwardAppend
	ForwardOverride = link.ForwardOverride
	ForwardKeep     = link.ForwardKeep
)

// Limits of requests and of answers.
const (
	MaxBulk              = link.MaxBulk
	MaxListed            = link.MaxListed
	Unsure               = link.Unsure
	Wanted               = link.Wanted
	Unwanted             = link.Unwanted
	ByID                 = link.ByID
	ByCreation           = link.ByCreation
	ByUpdate             = link.ByUpdate
	ByHits               = link.ByHits
	ByRelevance          = link.ByRelevance
	ByVisitors           = link.ByVisitors
	ByLastHit            = link.ByLastHit
	ByCode               = link.ByCode
	MaxListedTags        = link.MaxListedTags
	MaxAuditChanges      = link.MaxAuditChanges
	MaxAuditTextBytes    = link.MaxAuditTextBytes
	CommitTimeout        = link.CommitTimeout
	ReceiptLife          = link.ReceiptLife
	ReceiptSweepInterval = link.ReceiptSweepInterval
)

// Outcomes in a receipt.
const (
	OutcomeCreated = link.OutcomeCreated
	OutcomeExisted = link.OutcomeExisted
	OutcomeTaken   = link.OutcomeTaken
	OutcomeRefused = link.OutcomeRefused
	NumOutcomes    = link.NumOutcomes
)

// Actions in the audit log.
const (
	LinkCreated      = link.LinkCreated
	LinkEdited       = link.LinkEdited
	LinkDeleted      = link.LinkDeleted
	LinksCreated     = link.LinksCreated
	LinksImported    = link.LinksImported
	UserAdded        = link.UserAdded
	UserEdited       = link.UserEdited
	UserDeleted      = link.UserDeleted
	TokenIssued      = link.TokenIssued
	TokenRevoked     = link.TokenRevoked
	SetupLinkMade    = link.SetupLinkMade
	SetupLinkUsed    = link.SetupLinkUsed
	SessionsEnded    = link.SessionsEnded
	CopyGiven        = link.CopyGiven
	LinkReset        = link.LinkReset
	DomainAdded      = link.DomainAdded
	DomainEdited     = link.DomainEdited
	DomainDeleted    = link.DomainDeleted
	CertificateTried = link.CertificateTried
	LinkRestored     = link.LinkRestored
	LinkPurged       = link.LinkPurged
	FolderAdded      = link.FolderAdded
	FolderEdited     = link.FolderEdited
	FolderDeleted    = link.FolderDeleted
)

// States is link.States.
func States() []State { return link.States() }

// Forwardings is link.Forwardings.
func Forwardings() []Forwarding { return link.Forwardings() }

// EachLink is link.EachLink.
func EachLink(fn func(HotView) error) func([]HotView) error { return link.EachLink(fn) }

// AuditStamp is link.AuditStamp.
func AuditStamp(atMs int64) uint64 { return link.AuditStamp(atMs) }

// StampTime is link.StampTime.
func StampTime(stamp uint64) time.Time { return link.StampTime(stamp) }

// FoldTag is link.FoldTag.
func FoldTag(tag string) string { return link.FoldTag(tag) }

// HasTag is link.HasTag.
func HasTag(tags []string, tag string) bool { return link.HasTag(tags, tag) }

// DistinctTags is link.DistinctTags.
func DistinctTags(tags []string) []string { return link.DistinctTags(tags) }

// NewTagCount is link.NewTagCount.
func NewTagCount(folded, name string, links uint64) TagCount {
	return link.NewTagCount(folded, name, links)
}

// Hits: see engine/hit.
type (
	Query        = hit.Query
	Subset       = hit.Subset
	Ranking      = hit.Ranking
	Interval     = hit.Interval
	Report       = hit.Report
	Stats        = hit.Stats
	LinkHits     = hit.LinkHits
	TargetHits   = hit.TargetHits
	TopLinks     = hit.TopLinks
	Metrics      = hit.Metrics
	PulledHits   = hit.PulledHits
	Positions    = hit.Positions
	FlushBatch   = hit.FlushBatch
	RollUpLimits = hit.RollUpLimits
	Span         = hit.Span
	View         = hit.View
)

// Series of a report, and limits.
const (
	NoSeries        = hit.NoSeries
	Hourly          = hit.Hourly
	Daily           = hit.Daily
	MaxScannedLinks = hit.MaxScannedLinks
	Endless         = hit.Endless
)

// NewHistory is hit.NewHistory.
func NewHistory(p Positions) Positions { return hit.NewHistory(p) }

// FoldJournal is hit.FoldJournal.
func FoldJournal(store Store, o Options) error { return hit.FoldJournal(store, store.Identity(), o) }

// ReplayJournal is hit.ReplayJournal.
func ReplayJournal(store Store, o Options) error {
	return hit.ReplayJournal(store, store.Identity(), o)
}

// CheckJournal is hit.CheckJournal.
func CheckJournal(dir string, id Identity, p Positions, live bool, faults *Faults) (JournalReport, error) {
	return hit.CheckJournal(dir, id, p, live, faults)
}

// Settings: see engine/internal/settings.
type (
	Options  = settings.Options
	Identity = settings.Identity
)

// Defaults and limits of Options.
const (
	DefaultFlushInterval  = settings.DefaultFlushInterval
	DefaultKeptHours      = settings.DefaultKeptHours
	DefaultKeptDays       = settings.DefaultKeptDays
	DefaultKeptAuditDays  = settings.DefaultKeptAuditDays
	DefaultClockSettles   = settings.DefaultClockSettles
	DefaultRings          = settings.DefaultRings
	DefaultRingRecords    = settings.DefaultRingRecords
	DefaultCloseTimeout   = settings.DefaultCloseTimeout
	DefaultPendingEntries = settings.DefaultPendingEntries
	MaxKeptHours          = settings.MaxKeptHours
	MaxKeptDays           = settings.MaxKeptDays
)

// The errors that callers tell apart: see engine/internal/errs.
var (
	ErrNotFound        = errs.ErrNotFound
	ErrTaken           = errs.ErrTaken
	ErrVersion         = errs.ErrVersion
	ErrLoading         = errs.ErrLoading
	ErrOutcomeUnknown  = errs.ErrOutcomeUnknown
	ErrClosed          = errs.ErrClosed
	ErrBehind          = errs.ErrBehind
	ErrFlushTooLarge   = errs.ErrFlushTooLarge
	ErrStalled         = errs.ErrStalled
	ErrReadOnly        = errs.ErrReadOnly
	ErrMismatch        = errs.ErrMismatch
	ErrTooManyReceipts = errs.ErrTooManyReceipts
	ErrDeleted         = errs.ErrDeleted
	ErrRefused         = errs.ErrRefused
	ErrOwnerGone       = errs.ErrOwnerGone
	ErrDomainGone      = errs.ErrDomainGone
	ErrOwnsLinks       = errs.ErrOwnsLinks
	ErrNotLeader       = errs.ErrNotLeader
	ErrOverloaded      = errs.ErrOverloaded
	ErrFull            = errs.ErrFull
)

// Caps of links in a cluster: see engine/caps.
type (
	Cap       = caps.Cap
	CapAsk    = caps.Ask
	CapAnswer = caps.Answer
	CapVisit  = caps.Visit
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
	Domain  = index.Domain
	Key     = index.Key
	KeyView = index.KeyView
	Flags   = index.Flags
	HotView = index.HotView
)

const (
	FlagForwardQuery = index.FlagForwardQuery
	FlagExpires      = index.FlagExpires
	FlagCapped       = index.FlagCapped
	FlagTombstone    = index.FlagTombstone
	FlagDisabled     = index.FlagDisabled
	DurableFlags     = index.DurableFlags

	DefaultDomain  = index.DefaultDomain
	MaxDomain      = index.MaxDomain
	MaxUser        = index.MaxUser
	DrawnCodeBytes = index.DrawnCodeBytes
)

// HashTarget is link.HashTarget.
func HashTarget(target string) uint64 { return link.HashTarget(target) }

// AppendSearched is link.AppendSearched.
func AppendSearched(dst []byte, h *Hot, c *Cold) []byte { return link.AppendSearched(dst, h, c) }

// OwnerIn is index.OwnerIn.
func OwnerIn(d Domain, user uint32) uint32 { return index.OwnerIn(d, user) }

// UserOf is index.UserOf.
func UserOf(owner uint32) uint32 { return index.UserOf(owner) }

// DomainOf is index.DomainOf.
func DomainOf(owner uint32) Domain { return index.DomainOf(owner) }

// OneOwner is link.OneOwner.
func OneOwner(owner uint32) []OwnerRange { return link.OneOwner(owner) }

// AllIn is link.AllIn.
func AllIn(d Domain) OwnerRange { return link.AllIn(d) }

// AllOwners is link.AllOwners.
var AllOwners = link.AllOwners

// StatusFlags is index.StatusFlags.
func StatusFlags(status int) (Flags, bool) { return index.StatusFlags(status) }

// ValidCode is index.ValidCode.
func ValidCode(b []byte) bool { return index.ValidCode(b) }

// NormalCode is index.NormalCode.
func NormalCode(text string) string { return index.NormalCode(text) }

// OnlyASCII is index.OnlyASCII.
func OnlyASCII(code string) bool { return index.OnlyASCII(code) }

// Reserved is index.Reserved.
func Reserved(code []byte) bool { return index.Reserved(code) }

// ValidateAlias is index.ValidateAlias.
func ValidateAlias(alias string) error { return index.ValidateAlias(alias) }

// Which targets are valid: see engine/target.
type (
	TargetPolicy  = target.Policy
	TargetSchemes = target.Schemes
	BlockList     = target.BlockList
	LineError     = target.LineError
	Origins       = target.Origins
)

const (
	BlockedTarget = target.CodeBlocked
	MaxBlocked    = target.MaxBlocked
)

// PublicAddr is target.PublicAddr.
func PublicAddr(addr netip.Addr) bool { return target.PublicAddr(addr) }

// IsPasswordHash is extras.IsPasswordHash.
func IsPasswordHash(hash string) bool { return extras.IsPasswordHash(hash) }

// AnyScheme and WebSchemes are those of package target.
var (
	AnyScheme  = target.AnyScheme
	WebSchemes = target.WebSchemes
)

// HasHost is target.HasHost.
func HasHost(address []byte) bool { return target.HasHost(address) }

// ParseTargetSchemes is target.ParseSchemes.
func ParseTargetSchemes(list string) (TargetSchemes, error) { return target.ParseSchemes(list) }

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

// KindOf is tally.KindOf.
func KindOf(c Class, target uint8) Kind { return tally.KindOf(c, target) }

// TargetID is tally.TargetID.
func TargetID(link uint64, target uint8) uint64 { return tally.TargetID(link, target) }

// SplitID is tally.SplitID.
func SplitID(id uint64) (link uint64, target uint8) { return tally.SplitID(id) }

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
	Kind       = tally.Kind
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
	WithNext   = tally.WithNext
)

// Classes, and how many numbers of targets there are.
const (
	ClassHit      = tally.ClassHit
	ClassBot      = tally.ClassBot
	ClassPrefetch = tally.ClassPrefetch
	ClassHead     = tally.ClassHead
	NumTargets    = tally.NumTargets
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
	ScanReferrer     = tally.ScanReferrer
	ScanName         = tally.ScanName
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

// DenseSketch is tally.DenseSketch.
func DenseSketch(united []byte) Sketch { return tally.DenseSketch(united) }

// DecodeSketch is tally.DecodeSketch.
func DecodeSketch(b []byte) (Sketch, error) { return tally.DecodeSketch(b) }

// AgentOf is tally.AgentOf.
func AgentOf(d Device, b Browser) Agent { return tally.AgentOf(d, b) }

// CountryOf is tally.CountryOf.
func CountryOf[S string | []byte](code S) Country { return tally.CountryOf(code) }
