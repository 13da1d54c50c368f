package ops

import (
	"context"
	"errors"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/password"
	"shunt/engine"
)

// The engine gets a background context, because a write must not end with the request that asked
// for it.

// A Manner is how a door for the clients of another link shortener creates, whose rules differ from those of the API.
// The zero Manner is the API's.
type Manner struct {
	Reusable bool     // later requests with reuse may find the link, although this one has no reuse
	Apart    []string // fields that a link which is reused need not have as they were sent
}

// Create creates the link that body describes, for the caller. existed reports that the caller
// already had a link with the same fields. With a key, a repeat of the request gets the answer to
// the first, before its body is examined.
func (c *Calls) Create(caller account.Caller, key Key, body jsonbody.Body) (l *Link, existed bool, err error) {
	return c.CreateAs(Manner{}, caller, key, body)
}

// CreateAs is Create in a manner.
func (c *Calls) CreateAs(m Manner, caller account.Caller, key Key, body jsonbody.Body) (l *Link, existed bool, err error) {
	read := func() (engine.Draft, error) {
		if err := body.WantJSON(); err != nil {
			return engine.Draft{}, err
		}
		now := c.o.Now()
		draft, err := c.parseDraft(body.Text, caller, m.Apart, now)
		draft.By, draft.TakesDeleted, draft.Reusable = byAt(caller, now), caller.Has(account.Admin), m.Reusable
		return draft, err
	}
	d, existed, err := c.create(caller, key.request(caller, "/shorten", body), read)
	if err == nil && !caller.Domains.Has(d.Domain) { // a repeat, since the caller was limited
		err = errForeignDomain
	}
	if err != nil {
		return nil, false, err
	}
	l = new(Link)
	c.show(l, &d)
	c.warn(l)
	return l, existed, nil
}

// hashPassword puts the hash of a password that was typed in its place; none has none.
func (c *Calls) hashPassword(caller account.Caller, text *string) (err error) {
	if *text != "" {
		*text, err = c.o.Passwords.Hash(KeyOf(caller), *text)
	}
	return err
}

// maxPasswords is how many different passwords the links of one request may have: each takes 40 ms of a core.
const maxPasswords = 16

// typedPasswords are the passwords of a request's links as they were typed, each with the links that get it.
type typedPasswords map[string][]*engine.Draft

// takePasswords takes the passwords out of items, and leaves the hash of none in their place: whether they must be
// hashed is known once the engine has found no receipt of the request. It refuses links with one password too many.
func takePasswords(items []engine.BulkItem) (typed typedPasswords) {
	for i := range items {
		item := &items[i]
		text := item.Draft.Password
		if item.Refused != nil || text == "" {
			continue
		}
		if typed == nil {
			typed = make(typedPasswords)
		}
		if typed[text] == nil && len(typed) == maxPasswords {
			item.Refused = engine.InvalidError{jsonbody.FieldError("password", "too_many", "the links of one request may have 16 different passwords")}
			continue
		}
		typed[text], item.Draft.Password = append(typed[text], &item.Draft), password.OfNobody()
	}
	return typed
}

// hashPasswords gives links the hashes of their passwords.
func (c *Calls) hashPasswords(caller account.Caller, typed typedPasswords) error {
	for text, drafts := range typed {
		hash := text
		if err := c.hashPassword(caller, &hash); err != nil {
			return err
		}
		for _, d := range drafts {
			d.Password = hash
		}
	}
	return nil
}

// by returns the caller as who makes a change, for the audit log.
func (c *Calls) by(caller account.Caller) *engine.By { return byAt(caller, c.o.Now()) }

// byAt is by at a time that is known.
func byAt(caller account.Caller, now time.Time) *engine.By {
	by := caller.By(now)
	return &by
}

// create creates the link of the draft that read returns, or finds the one that exists.
func (c *Calls) create(caller account.Caller, request *engine.Request, read func() (engine.Draft, error)) (engine.Detail, bool, error) {
	if request == nil {
		draft, err := read()
		if err == nil {
			err = c.hashPassword(caller, &draft.Password)
		}
		if err != nil {
			return engine.Detail{}, false, err
		}
		d, existed, err := c.o.Engine.Create(context.Background(), draft)
		c.o.Wrote("create", 1, err)
		return d, existed, err
	}
	var readErr error
	var typed, hash string
	for {
		d, existed, err := c.o.Engine.CreateOnce(context.Background(), *request, func() (draft engine.Draft, _ error) {
			if draft, readErr = read(); readErr == nil && draft.Password != typed {
				typed, readErr = draft.Password, errHashFirst
			}
			draft.Password = hash
			return draft, readErr
		})
		switch {
		case readErr == nil:
			c.o.Wrote("create", 1, err)
		case readErr == errHashFirst:
			hash = typed
			if err = c.hashPassword(caller, &hash); err == nil {
				continue
			}
		}
		return d, existed, err
	}
}

// errHashFirst ends the first try of a create under a key, if a link has a password: a hash waits for its turn, and
// nobody else may wait for it meanwhile. A request that has a receipt needs none.
var errHashFirst = errors.New("passwords must be hashed first")
