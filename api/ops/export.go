package ops

import (
	"context"

	"shunt/api/account"
	"shunt/engine"
)

// Limits of exports. Each keeps a snapshot of the store open, so that links deleted since stay on
// disk, and a page of links in memory: about 100 KB, or 2 MB if their targets are as long as
// possible.
const (
	maxExports       = 16
	maxExportsCaller = 2
	exportPage       = 256
)

// An Export reads all links that existed when it began, the newest first, page by page. The hits,
// visitors and states of links are those of the moment at which their page was read. It belongs to
// one goroutine.
type Export struct {
	calls   *Calls
	caller  account.Caller
	asked   ListQuery
	query   engine.LinkQuery // of the next page
	list    *engine.LinkList
	recheck func() error // nil until the first page was read
}

// Export begins an export, which the caller must close. It returns an error if too many are open.
func (c *Calls) Export(caller account.Caller, q ListQuery) (*Export, error) {
	asked, err := c.linkQuery(caller, &q)
	if err != nil {
		return nil, err
	}
	if err := c.exports.Take(KeyOf(caller)); err != nil {
		return nil, err
	}
	list, err := c.o.Engine.OpenList(context.Background())
	if err != nil {
		c.exports.Leave(KeyOf(caller))
		return nil, err
	}
	asked.Limit = exportPage
	return &Export{calls: c, caller: caller, asked: q, query: asked, list: list}, nil
}

// Page reads a page, in turn with other costly work, and calls write with each of its links. more
// reports whether another page follows. From the second page on it first checks that the caller may
// still see the links.
func (x *Export) Page(write func(*Link)) (more bool, err error) {
	if x.recheck == nil {
		scope := account.LinksRead
		if x.asked.Hashes {
			scope = account.Admin
		}
		x.recheck = x.calls.Recheck(x.caller, x.asked.Whose, scope)
	} else if err := x.recheck(); err != nil {
		return false, err
	}
	err = x.calls.InTurn(x.caller, func() error {
		page, err := x.list.Page(context.Background(), x.query)
		if err != nil {
			return err
		}
		for i := range page.Links {
			if l, ok := x.calls.listed(&x.asked, &page.Links[i]); ok {
				write(&l)
			}
		}
		x.query.After = page.Next
		return nil
	})
	return x.query.After != nil, err
}

// Close ends the export, whether or not it was read to its end.
func (x *Export) Close() error {
	defer x.calls.exports.Leave(KeyOf(x.caller))
	return x.list.Close()
}

// Recheck returns a function that checks that the caller may still use w and calls that need scope:
// the token may have been revoked, the session may have ended, or the user may have been demoted
// since, or limited to fewer domains. The function returns account.ErrUnauthorized, or an error of reading accounts.
func (c *Calls) Recheck(caller account.Caller, w Whose, scope account.Scope) func() error {
	return func() error {
		now, err := c.o.Accounts.Recheck(caller)
		fewer := w.Every && !caller.Domains.In(now.Domains)
		if err == nil && (!now.Has(scope) || fewer || mayUse(now, w) != nil) {
			err = account.ErrUnauthorized
		}
		return err
	}
}
