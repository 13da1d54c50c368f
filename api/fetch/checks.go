package fetch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"shunt/api/account"
	"shunt/api/ops"
	"shunt/api/problem"
)

// Limits of checks. One asks for a target a second, so the longest takes some three hours.
const (
	maxChecks    = 8       // that run at once
	maxKept      = 256     // users whose last check is kept
	maxChecked   = 10_000  // links of a check
	maxDead      = 1_000   // of a check
	maxDeadBytes = 1 << 20 // of a check, of targets and addresses
	checkedAPage = 50
	betweenLinks = time.Second
)

// States of a check.
const (
	noCheck = "none"
	Running = "running"
	done    = "done"
	stopped = "stopped"
	failed  = "failed"
)

// A Check is what a check has found as yet.
type Check struct {
	State     string     `json:"state"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"`
	Checked   int        `json:"checked"`
	Unasked   int        `json:"unasked"` // of these: targets that this server may not ask
	Dead      []Dead     `json:"dead"`
	More      bool       `json:"more"` // there are more links, or more that are dead, than a check has
}

// A Dead is a link whose target does not answer.
type Dead struct {
	Host     string `json:"domain,omitempty"` // of its domain; absent: the default one
	Code     string `json:"code"`
	ShortURL string `json:"short_url"`
	URL      string `json:"url"`
	Reason   string `json:"reason"` // such as answers with status 404
}

// Checks run checks of targets, at most one of each user, and keep the last of each in memory. A check goes on after
// the request that has begun it, until it is over, its user stops it, may not read the links any more, or Close.
type Checks struct {
	*Calls
	links   *ops.Calls
	log     *slog.Logger
	between time.Duration

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wait   sync.WaitGroup // of goroutines

	mu     sync.Mutex
	closed bool              // guarded by mu
	runs   int               // that are under way; guarded by mu
	of     map[uint32]*check // by user; guarded by mu
}

// A check is one that runs, or has.
type check struct {
	found  Check // guarded by Checks.mu
	bytes  int   // of the texts in it
	query  ops.ListQuery
	caller account.Caller
	cancel context.CancelFunc
}

// NewChecks returns checks, which a caller must Close. It starts no goroutine.
func NewChecks(c *Calls, links *ops.Calls, log *slog.Logger) *Checks {
	ctx, cancel := context.WithCancel(context.Background())
	return &Checks{Calls: c, links: links, log: log, between: c.between(), ctx: ctx, cancel: cancel, of: make(map[uint32]*check)}
}

// Close ends all checks, and waits for them.
func (c *Checks) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.wait.Wait()
}

// Start begins a check of the links of a list. If one of the user runs, it returns that.
func (c *Checks) Start(caller account.Caller, p ops.Parameters) (Check, error) {
	q, err := c.links.ParseList(caller, p)
	switch {
	case err != nil:
		return Check{}, err
	case !c.Allowed():
		return Check{}, errOff
	}
	q.Limit, q.Cursor, q.Unique, q.Total = checkedAPage, "", false, false
	if err := c.links.RecheckList(caller, &q, account.LinksWrite)(); err != nil {
		return Check{}, err
	}
	if err := c.begin(&check{query: q, caller: caller}); err != nil {
		return Check{}, err
	}
	return c.Read(caller), nil
}

// begin runs x, unless one of the user runs.
func (c *Checks) begin(x *check) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	user := x.caller.User.ID
	switch before := c.of[user]; {
	case before != nil && before.found.State == Running:
		return nil
	case c.closed, c.runs >= maxChecks:
		return problem.New(problem.Overloaded, "%d checks of targets run already, which is the limit; try again later", c.runs)
	}
	c.forgetOne()
	began := c.now().UTC()
	x.found = Check{State: Running, StartedAt: &began}
	var ctx context.Context
	ctx, x.cancel = context.WithCancel(c.ctx)
	c.of[user] = x
	c.runs++
	c.wait.Add(1)
	go c.run(ctx, x)
	return nil
}

// forgetOne forgets the oldest check that is over, if many are kept. It is called with mu.
func (c *Checks) forgetOne() {
	if len(c.of) < maxKept {
		return
	}
	oldest := uint32(0)
	for user, x := range c.of {
		if x.found.State != Running && (oldest == 0 || x.found.StartedAt.Before(*c.of[oldest].found.StartedAt)) {
			oldest = user
		}
	}
	delete(c.of, oldest)
}

// Read returns the last check of a user, if the caller may read what that has.
func (c *Checks) Read(caller account.Caller) Check {
	none := Check{State: noCheck, Dead: []Dead{}}
	c.mu.Lock()
	x := c.of[caller.User.ID]
	c.mu.Unlock()
	if x == nil || x.query.Whose.Every && !x.caller.Domains.In(caller.Domains) || c.links.RecheckList(caller, &x.query, account.LinksRead)() != nil {
		return none
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found := x.found
	found.Dead = append([]Dead{}, found.Dead...)
	return found
}

// Stop ends the check of a user that runs.
func (c *Checks) Stop(caller account.Caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x := c.of[caller.User.ID]; x != nil {
		x.cancel()
		if x.found.State == Running {
			c.end(x, stopped)
		}
	}
}

// Running returns how many checks run.
func (c *Checks) Running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs
}

// end notes that x is over. It is called with mu.
func (c *Checks) end(x *check, state string) {
	at := c.now().UTC()
	x.found.State, x.found.EndedAt = state, &at
}

func (c *Checks) run(ctx context.Context, x *check) {
	defer c.wait.Done()
	defer x.cancel()
	err := c.walk(ctx, x)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs--
	switch {
	case errors.Is(err, account.ErrUnauthorized): // nobody may read it any more
		if c.of[x.caller.User.ID] == x {
			delete(c.of, x.caller.User.ID)
		}
	case x.found.State != Running:
	case ctx.Err() != nil:
		c.end(x, stopped)
	case err != nil:
		c.log.Error("a check of targets ended early", slog.Any("cause", err))
		c.end(x, failed)
	default:
		c.end(x, done)
	}
}

// walk asks for the targets of all links, page by page, so that no view of the store is kept for hours.
func (c *Checks) walk(ctx context.Context, x *check) error {
	may := c.links.RecheckList(x.caller, &x.query, account.LinksWrite)
	for q, n := x.query, 0; ; {
		links, next, err := c.page(x.caller, q)
		if err != nil {
			return err
		}
		for _, l := range links {
			if n++; n > maxChecked {
				c.note(x, func(found *Check) { found.More = true })
				return nil
			}
			if err := may(); err != nil {
				return err
			}
			if n > 1 && !pause(ctx, c.between) {
				return ctx.Err()
			}
			c.look(ctx, x, l)
		}
		if q.Cursor = next; next == "" {
			return nil
		}
	}
}

// page returns links of a list, and the cursor of the next page.
func (c *Checks) page(caller account.Caller, q ops.ListQuery) (links []Dead, next string, err error) {
	release, err := c.links.BeginHeavyPatiently(caller)
	if err != nil {
		return nil, "", err
	}
	defer release()
	err = c.links.List(caller, q, func(p ops.Page) error {
		for i := range p.Links {
			l := &p.Links[i]
			links = append(links, Dead{Host: l.Host, Code: l.Code, ShortURL: l.ShortURL, URL: l.Target})
		}
		next = p.Next
		return nil
	})
	return slices.Clip(links), next, err
}

// pause waits, and reports whether that was not cut short.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// look asks for the target of a link, and notes what becomes of that.
func (c *Checks) look(ctx context.Context, x *check, l Dead) {
	err := c.client.answers(ctx, l.URL, c.targets.Parse)
	if ctx.Err() != nil {
		return // it was cut short
	}
	c.note(x, func(found *Check) {
		switch found.Checked++; {
		case err == nil:
		case errors.Is(err, errUnasked):
			found.Unasked++
		case len(found.Dead) == maxDead, x.bytes+len(l.URL)+len(l.ShortURL) > maxDeadBytes:
			found.More = true
		default:
			l.Reason = err.Error()
			x.bytes += len(l.URL) + len(l.ShortURL)
			found.Dead = append(found.Dead, l)
		}
	})
}

func (c *Checks) note(x *check, change func(found *Check)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&x.found)
}
