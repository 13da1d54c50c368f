package account

import (
	"net/netip"
	"strings"
	"time"

	"shunt/engine"
)

// An Origin is where a request came from, as far as the operator wants it kept. Each request has its
// own: a caller that is known from memory has none until the request fills it in.
type Origin struct {
	RequestID string       // of the X-Request-Id of the answer; empty: the request has none
	Network   netip.Prefix // of the client; zero: not kept
	Local     bool         // by the socket of local commands
}

// By returns c as the audit log keeps who made a change at that time. Whoever owns the data folder
// acts as an admin, but is not that user: the entry says only that the request was local.
func (c Caller) By(now time.Time) engine.By {
	by := engine.By{
		AtMs: now.UnixMilli(), User: c.User.ID, Name: c.User.Name, TokenID: c.TokenID, SessionID: c.SessionID,
		Local: c.Origin.Local && c.credential.kind != byPassword, RequestID: c.Origin.RequestID, Network: c.Origin.Network,
	}
	if by.Local && c.credential.kind == byFolder {
		by.User, by.Name = 0, ""
	}
	return by
}

// auditOfUser returns the fields in which two states of a user differ, for the audit log. A password
// is a change without values.
func auditOfUser(before, after userRecord) []engine.AuditChange {
	var changes []engine.AuditChange
	add := func(field, was, is string) {
		if was != is {
			changes = append(changes, engine.AuditChange{Field: field, Before: was, After: is})
		}
	}
	add("email", before.Name, after.Name)
	add("role", string(before.Role), string(after.Role))
	add("domains", before.Domains.audited(), after.Domains.audited())
	if before.password != after.password {
		changes = append(changes, engine.AuditChange{Field: "password"})
	}
	return changes
}

// auditOfToken returns the fields of a new token, for the audit log.
func auditOfToken(t Token) []engine.AuditChange {
	scopes := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		scopes[i] = string(s)
	}
	changes := []engine.AuditChange{{Field: "name", After: t.Name}, {Field: "scopes", After: strings.Join(scopes, " ")}}
	if t.Domains.Limited() {
		changes = append(changes, engine.AuditChange{Field: "domains", After: t.Domains.audited()})
	}
	if !t.ExpiresAt.IsZero() {
		changes = append(changes, engine.AuditChange{Field: "expires_at", After: t.ExpiresAt.UTC().Format(time.RFC3339)})
	}
	return changes
}

// NoteCopy adds an entry to the audit log: a node of that name gets a copy of the data, without accounts and figures if
// it is an edge. When it returns without an error, the entry is durable. Errors are those of a write.
func (a *Accounts) NoteCopy(node string, edge bool) error {
	lock, err := a.lockWrites()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	has := "everything"
	if edge {
		has = "links"
	}
	lock.note(Caller{}, engine.CopyGiven, 0, engine.AuditChange{Field: "node", After: node}, engine.AuditChange{Field: "copy", After: has}).By.Local = true
	return lock.write(nil, nil)
}
