package ops

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/api/when"
	"shunt/engine"
)

// Limits of a page of the audit log. A page that has looked at auditScanned entries ends, however
// few it has found, and its cursor goes on: so a filter that finds little costs little at a time.
const (
	maxAuditValueBytes = 256 // of a parameter
	defaultAudited     = 50
	maxAudited         = 1000
	auditScanned       = 10_000
	auditStepped       = 500 // entries after which others take their turn
	maxActorBytes      = 254 // of an e-mail address
	maxStampsBefore    = ^uint64(0)
)

// cursorLink stands between the two numbers of a cursor of a code's history: a stamp, and the link that had the code.
const cursorLink = "-"

// An AuditQuery is a query for a page of the audit log.
type AuditQuery struct {
	Actor    string // a user's number or e-mail address, or the id of a token; empty: any
	Code     string // of a link; empty: any
	Domain   engine.Domain
	Every    bool // entries of all domains, and those of none; of a code, the default domain is meant
	From, To time.Time
	Limit    int    // 0: defaultAudited
	Before   uint64 // the stamp after which the page goes on; 0: from the newest on

	// The link that had Code at Before, as far as it is known; its id is 0 if there was none. Several links that were
	// made at once are an entry of that link only if it is one of them.
	linkKnown bool
	link      uint64
}

// An AuditPage is a page of the audit log, the newest entry first.
type AuditPage struct {
	Data       []AuditEntry `json:"data"`
	NextCursor *string      `json:"next_cursor"`
}

// An AuditEntry is an entry of the audit log as the API shows it.
type AuditEntry struct {
	ID        string          `json:"id"`
	At        time.Time       `json:"at"`
	Action    string          `json:"action"`
	Actor     AuditActor      `json:"actor"`
	Domain    string          `json:"domain,omitempty"`     // of that code; absent: the default one
	Code      string          `json:"code,omitempty"`       // of a link, or the first of several
	LastCode  string          `json:"last_code,omitempty"`  // of several
	User      uint32          `json:"user,omitempty"`       // that was changed
	TokenID   string          `json:"token_id,omitempty"`   // that was made or revoked
	Before    json.RawMessage `json:"before,omitempty"`     // the fields that changed, an object
	After     json.RawMessage `json:"after,omitempty"`      // the same
	Counts    *AuditCounts    `json:"counts,omitempty"`     // of several links
	RequestID string          `json:"request_id,omitempty"` // X-Request-Id
	Network   string          `json:"network,omitempty"`    // of the client, if it is kept
}

// An AuditActor is who made a change.
type AuditActor struct {
	User    uint32 `json:"user,omitempty"`
	Email   string `json:"email,omitempty"` // at that time
	Via     string `json:"via"`             // token, session, local, or none: a setup link, or a password that came with the request
	TokenID string `json:"token_id,omitempty"`
}

// AuditCounts says what became of the links of one request.
type AuditCounts struct {
	Created  uint32 `json:"created"`
	Existing uint32 `json:"existing"`
	Failed   uint32 `json:"failed"`
}

// auditActions are the names of actions.
var auditActions = map[engine.AuditAction]string{
	engine.LinkCreated: "link.created", engine.LinkEdited: "link.edited", engine.LinkDeleted: "link.deleted",
	engine.LinksCreated: "links.created", engine.LinksImported: "links.imported",
	engine.UserAdded: "user.added", engine.UserEdited: "user.edited", engine.UserDeleted: "user.deleted",
	engine.TokenIssued: "token.issued", engine.TokenRevoked: "token.revoked",
	engine.SetupLinkMade: "setup_link.made", engine.SetupLinkUsed: "setup_link.used", engine.SessionsEnded: "sessions.ended",
	engine.CopyGiven: "copy.given", engine.LinkReset: "link.reset",
	engine.DomainAdded: "domain.added", engine.DomainEdited: "domain.edited", engine.DomainDeleted: "domain.deleted",
	engine.CertificateTried: "domain.certificate", engine.LinkRestored: "link.restored", engine.LinkPurged: "link.purged",
	engine.FolderAdded: "folder.added", engine.FolderEdited: "folder.edited", engine.FolderDeleted: "folder.deleted",
}

var auditParameters = map[string]parameterReader[AuditQuery]{
	"cursor": func(q *AuditQuery, value string) (err error) {
		before, link, linkKnown := strings.Cut(value, cursorLink)
		q.Before, err = strconv.ParseUint(before, 10, 64)
		if q.linkKnown = linkKnown; linkKnown && err == nil {
			q.link, err = strconv.ParseUint(link, 10, 64)
		}
		if value != "" && (err != nil || q.Before == 0) {
			return jsonbody.FieldError("", "invalid", "is not a cursor of this list; start again without a cursor")
		}
		return nil
	},
	"actor": func(q *AuditQuery, value string) error {
		q.Actor = value
		return checkTextParameter(value, maxActorBytes)
	},
	"code": func(q *AuditQuery, value string) error {
		if q.Code = engine.NormalCode(value); value != "" && !engine.ValidCode([]byte(q.Code)) {
			return jsonbody.FieldError("", "invalid", "is not a code")
		}
		return nil
	},
	"from": func(q *AuditQuery, value string) (err error) {
		q.From, err = readMoment(value, when.Begin)
		return err
	},
	"to": func(q *AuditQuery, value string) (err error) {
		q.To, err = readMoment(value, when.End)
		return err
	},
	"limit": func(q *AuditQuery, value string) (err error) {
		q.Limit, err = readCount(value, maxAudited)
		return err
	},
}

// ParseAudit reads the parameters of a list of the audit log. It has no owner: the log is everybody's.
func (c *Calls) ParseAudit(caller account.Caller, p Parameters) (q AuditQuery, err error) {
	if err := refuseOwner(p); err != nil {
		return q, err
	}
	whose, err := readParameters(c, caller, p, &q, auditParameters, maxAuditValueBytes)
	q.Domain, q.Every = whose.Domain, whose.Every
	if err == nil && !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		err = jsonbody.FieldError("from", "reversed", "must be before to")
	}
	return q, err
}

// Audit returns a page of the audit log. The handler must take a place with BeginHeavy before.
func (c *Calls) Audit(caller account.Caller, q AuditQuery) (page AuditPage, err error) {
	if q.Limit == 0 {
		q.Limit = defaultAudited
	}
	if err = c.findAudited(&q); err != nil {
		return AuditPage{}, err
	}
	from, before := q.stamps()
	page.Data = []AuditEntry{}
	more := true
	for scanned := 0; more && scanned < auditScanned && len(page.Data) < q.Limit; {
		step := 0
		more = false
		err = c.InTurn(caller, func() error {
			return c.o.Engine.Audit(from, before, func(e *engine.AuditEntry) bool {
				if more = len(page.Data) == q.Limit || step == auditStepped; more {
					return false
				}
				step, before = step+1, e.Stamp
				if q.wants(e) {
					page.Data = append(page.Data, c.auditEntry(e))
				}
				return true
			})
		})
		if err != nil {
			return AuditPage{}, err
		}
		scanned += step
	}
	if more {
		cursor := strconv.FormatUint(before, 10)
		if q.linkKnown {
			cursor += cursorLink + strconv.FormatUint(q.link, 10)
		}
		page.NextCursor = &cursor
	}
	return page, nil
}

// stamps returns the part of the log that q asks for: stamps of at least from and below before.
func (q *AuditQuery) stamps() (from, before uint64) {
	before = maxStampsBefore
	if !q.From.IsZero() {
		from = engine.AuditStamp(q.From.UnixMilli())
	}
	if !q.To.IsZero() {
		before = engine.AuditStamp(q.To.UnixMilli())
	}
	if q.Before != 0 {
		before = min(before, q.Before)
	}
	return from, before
}

// findAudited finds the link that has the code of q now. Which one had it at an earlier time is known only once an
// entry of its own has come: until then, all requests that may have made it are listed.
func (c *Calls) findAudited(q *AuditQuery) error {
	if q.Code == "" || q.linkKnown || !q.To.IsZero() || q.Before != 0 {
		return nil
	}
	id, _, err := c.o.Engine.Made(q.key())
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return err
	}
	q.linkKnown, q.link = true, id
	return nil
}

// key returns the key of the link that q asks about.
func (q *AuditQuery) key() engine.Key { return engine.Key{Domain: q.Domain, Code: q.Code} }

// isIn reports whether e is about links of a domain.
func isIn(e *engine.AuditEntry, d engine.Domain) bool {
	switch {
	case e.Before != nil:
		return e.Before.Hot.Domain == d
	case e.After != nil:
		return e.After.Hot.Domain == d
	}
	return e.First.Code != "" && e.First.Domain <= d && d <= e.Last.Domain
}

// wants reports whether e is by the actor and about the code of q. It must be called for each entry from the newest on.
func (q *AuditQuery) wants(e *engine.AuditEntry) bool {
	return q.isAbout(e) && (q.Actor == "" || strings.EqualFold(q.Actor, e.By.Name) || q.Actor == e.By.TokenID ||
		e.By.User != 0 && q.Actor == strconv.FormatUint(uint64(e.By.User), 10))
}

// isAbout reports whether e is about the code of q, and keeps which link had that before e.
func (q *AuditQuery) isAbout(e *engine.AuditEntry) bool {
	key := q.key()
	switch {
	case q.Code == "":
		return q.Every || isIn(e, q.Domain)
	case e.Before != nil:
		if e.Before.Hot.Key == key {
			q.linkKnown, q.link = true, e.Before.Hot.ID // figures that are reset give it a new id
		}
		return e.Before.Hot.Key == key
	case e.After != nil:
		if e.After.Hot.Key == key {
			q.linkKnown, q.link = true, 0
		}
		if e.Action == engine.LinkRestored && e.After.Hot.Key == key {
			q.link = e.After.Hot.ID
		}
		return e.After.Hot.Key == key
	}
	spans := e.First.Code != "" && e.First.Compare(key) <= 0 && key.Compare(e.Last) <= 0
	return spans && (!q.linkKnown || e.Made(q.link))
}

func (c *Calls) auditEntry(e *engine.AuditEntry) AuditEntry {
	x := AuditEntry{
		ID: strconv.FormatUint(e.Stamp, 10), At: e.At(), Action: auditActions[e.Action], Actor: auditActor(&e.By),
		Code: e.First.Code, LastCode: e.Last.Code, User: e.User, TokenID: e.TokenID, RequestID: e.By.RequestID,
	}
	if e.By.Network.IsValid() {
		x.Network = e.By.Network.String()
	}
	switch {
	case e.Action == engine.LinksCreated || e.Action == engine.LinksImported:
		x.Counts, x.Domain = &AuditCounts{e.Created, e.Existing, e.Failed}, c.HostIn(e.First.Domain)
	case e.Before != nil || e.After != nil:
		var key engine.Key
		key, x.Before, x.After = c.auditLink(e)
		x.Code, x.Domain = key.Code, c.HostIn(key.Domain)
	default:
		x.Before, x.After = c.auditChanges(e)
	}
	return x
}

func auditActor(by *engine.By) AuditActor {
	a := AuditActor{User: by.User, Email: by.Name, TokenID: by.TokenID, Via: "none"}
	switch {
	case by.TokenID != "":
		a.Via = "token"
	case by.SessionID != "":
		a.Via = "session"
	case by.Local:
		a.Via = "local"
	}
	return a
}

// auditLink returns the key of a link, and its fields that changed, as link objects show them:
// those that can be changed, and the owner. A creation shows the ones that are not the default, a
// deletion too.
func (c *Calls) auditLink(e *engine.AuditEntry) (key engine.Key, before, after json.RawMessage) {
	none := engine.Record{}
	was, is := &none, &none
	if e.Before != nil {
		was, key = e.Before, e.Before.Hot.Key
	}
	if e.After != nil {
		is, key = e.After, e.After.Hot.Key
	}
	now := c.o.Now()
	x, y := c.shown(was.Detail(now)), c.shown(is.Detail(now))
	for i := range table {
		f := &table[i]
		if f.set == nil && f.name != "owner" || f.write == nil {
			continue
		}
		if a, b := f.write(nil, &x), f.write(nil, &y); !bytes.Equal(a, b) {
			before, after = appendMember(before, f.name, audited(a)), appendMember(after, f.name, audited(b))
		}
	}
	switch {
	case x.Lock == y.Lock:
	case y.Lock == 0 && e.After != nil:
		after = appendMember(after, "password", []byte(`"removed"`))
	case e.After != nil:
		after = appendMember(after, "password", []byte(`"changed"`)) // as that of a user: it has no values
	}
	return key, endObject(before, e.Before != nil), endObject(after, e.After != nil)
}

// Undoing returns the patch that makes a link what it was; nil: nothing can be given back. A password cannot, because
// nobody has it.
func Undoing(was, is *Link) (patch json.RawMessage) { return undoing(was, is, false) }

// undoing is Undoing; given: fields that a patch only gives, such as the owner, are given back, too.
func undoing(was, is *Link, given bool) (patch json.RawMessage) {
	for i := range table {
		f := &table[i]
		if f.set == nil || f.write == nil || f.given != nil && !given {
			continue
		}
		before := f.write(nil, was)
		if bytes.Equal(before, f.write(nil, is)) {
			continue
		}
		if f.omitted != nil && f.omitted(was) {
			before = []byte("null")
		}
		patch = appendMember(patch, f.name, before)
	}
	return endObject(patch, len(patch) > 0)
}

// Restorable returns the patch that gives a link the value that a field had before an edit, as an entry shows it; nil:
// a patch cannot, or the entry does not show all of it.
func Restorable(before json.RawMessage, name string) (patch json.RawMessage) {
	var members map[string]json.RawMessage
	f := fieldNamed[name]
	if json.Unmarshal(before, &members) != nil || f == nil || f.set == nil || f.write == nil || f.given != nil {
		return nil
	}
	value := members[name]
	none := Link{}
	switch shown := f.write(nil, &none); {
	case value == nil, shown[0] == '[' && value[0] != '[': // only how long it was
		return nil
	case f.omitted != nil && bytes.Equal(value, shown):
		value = []byte("null")
	}
	return endObject(appendMember(nil, name, value), true)
}

// maxAuditedBytes bounds what an entry shows of rules and of a split, so that a page of entries is not much larger than
// one of links. All tags of a link are shorter.
const maxAuditedBytes = 4 << 10

// audited returns a value of a field as an entry shows it: of a long array only how long it is.
func audited(value []byte) []byte {
	if value[0] != '[' || len(value) <= maxAuditedBytes {
		return value
	}
	items, _ := jsonbody.Array(value, len(value))
	return fmt.Appendf(nil, `"%d items of %d bytes"`, len(items), len(value))
}

// auditChanges returns the fields of an account that changed. A password has no values: it is true
// where it changed. Domains have the hosts that they have now.
func (c *Calls) auditChanges(e *engine.AuditEntry) (before, after json.RawMessage) {
	for _, change := range e.Changes {
		if change.Field == "domains" {
			change.Before, change.After = c.auditHosts(change.Before), c.auditHosts(change.After)
			if e.Action == engine.UserEdited {
				change.Before, change.After = cmp.Or(change.Before, "all"), cmp.Or(change.After, "all")
			}
		}
		if change.Before == "" && change.After == "" {
			after = appendMember(after, change.Field, []byte(`"changed"`))
			continue
		}
		if change.Before != "" {
			before = appendMember(before, change.Field, jsontext.AppendString(nil, change.Before))
		}
		if change.After != "" {
			after = appendMember(after, change.Field, jsontext.AppendString(nil, change.After))
		}
	}
	return endObject(before, len(before) > 0), endObject(after, len(after) > 0)
}

// auditHosts returns the hosts of domains whose numbers an entry has; of one that was removed, its number.
func (c *Calls) auditHosts(text string) string {
	numbers, _ := account.AuditedDomains(text)
	hosts := make([]string, len(numbers))
	for i, n := range numbers {
		if d := c.o.Domains.Numbered(n); d != nil {
			hosts[i] = d.Host
		} else {
			hosts[i] = "removed domain " + strconv.Itoa(int(n))
		}
	}
	return strings.Join(hosts, ", ")
}

func appendMember(dst []byte, name string, value []byte) []byte {
	separator := byte('{')
	if len(dst) > 0 {
		separator = ','
	}
	return append(append(append(append(dst, separator, '"'), name...), `":`...), value...)
}

// endObject ends the object that appendMember has begun, and returns nil if there is none.
func endObject(dst []byte, there bool) []byte {
	switch {
	case !there:
		return nil
	case len(dst) == 0:
		return []byte("{}")
	}
	return append(dst, '}')
}
