package ops

import (
	"cmp"
	"log/slog"
	"time"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/api/password"
	"shunt/api/turnstile"
	"shunt/engine"
	"shunt/engine/index"
)

// Options are what Calls need. All but Folders, BeginScan, Countries and Logger are required.
type Options struct {
	Engine    *engine.Engine
	Accounts  *account.Accounts
	Domains   *domain.Domains
	Folders   *folder.Folders // nil: there are none
	Targets   engine.TargetPolicy
	Passwords *password.Hasher     // of links
	Cores     *turnstile.Turnstile // shared with all other work that keeps a core busy

	State     func(*engine.Detail) engine.State            // of a link, block list included
	StateNow  func(l index.Link, nowMs int64) engine.State // the same of a link in memory; takes no lock
	Missed    MissedFunc                                   // the codes that were missed most
	Wrote     func(op string, n int, err error)            // counts n writes of links that returned err
	BeginScan func() (end func())                          // an export begins; nil: nobody need know
	Now       func() time.Time

	Countries bool // it is known where requests come from

	Logger *slog.Logger // default: discards
}

// Calls are the operations on links, their figures, and users and tokens. Any number of goroutines may use them at
// once.
type Calls struct {
	o Options

	cursors cursors
	exports *Places
	heavy   *Places
	issues  *Places // for requests that make a token
	retags  *Places // for changes of tags and of several links
}

// New returns the calls. It starts no goroutine.
func New(o Options) *Calls {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.BeginScan == nil {
		o.BeginScan = func() func() { return func() {} }
	}
	return &Calls{
		o:       o,
		cursors: newCursors(o.Engine.VisitorKey()),
		exports: NewPlaces("exports", maxExports, maxExportsCaller),
		heavy:   NewPlaces("lists and figures", maxHeavy, maxHeavyCaller),
		issues:  NewPlaces("requests for tokens", maxIssues, MaxIssuesCaller),
		retags:  NewPlaces("changes of many links", maxRetags, maxRetagsCaller),
	}
}
