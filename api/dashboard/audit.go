package dashboard

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/changes"
	"shunt/api/ops"
	"shunt/api/problem"
)

// auditPath is the page of the audit log.
const auditPath = Root + "audit"

// auditView is what the page of the audit log shows.
type auditView struct {
	Search auditSearch
	Rows   []auditRow
	Error  string // why there is no list
	Newest string // address of the first page; empty: this is it
	Older  string // address of the next page; empty: there is none
}

// An auditSearch is what the log is searched for, as it was typed.
type auditSearch struct{ Actor, Code, From, To string }

// Empty reports whether the list is of everything.
func (s *auditSearch) Empty() bool { return *s == auditSearch{} }

// address returns the address of the page that goes on at a cursor; empty: the first one.
func (s *auditSearch) address(cursor string) string {
	values := url.Values{}
	for name, value := range map[string]string{"actor": s.Actor, "code": s.Code, "from": s.From, "to": s.To, "cursor": cursor} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return auditPath
	}
	return auditPath + "?" + values.Encode()
}

// An auditRow is an entry of the log in words.
type auditRow struct {
	ops.AuditEntry
	What    string // was done
	Who     string
	Via     string
	ByActor string // address of the list of all that the actor did; empty: none
	OfCode  string // address of the list of all that was done to the link; empty: none
	Fields  []changes.Field
}

// auditWords says what actions do, after the name of who did it.
var auditWords = map[string]string{
	"link.created": "created a link", "link.edited": "edited a link", "link.deleted": "deleted a link",
	"links.created": "created several links", "links.imported": "imported links",
	"user.added": "added a user", "user.edited": "edited a user", "user.deleted": "deleted a user",
	"token.issued": "made a token", "token.revoked": "revoked a token",
	"setup_link.made": "made a setup link", "setup_link.used": "used a setup link", "sessions.ended": "ended sessions",
}

// Several reports whether the entry is of several links.
func (e *auditRow) Several() bool { return e.LastCode != "" && e.LastCode != e.Code }

// Say returns how many entries the page has, to be read aloud while somebody searches.
func (v *auditView) Say() string {
	if v.Error != "" {
		return v.Error
	}
	return plural(uint64(len(v.Rows)), "change", "changes")
}

// auditPage is GET /_/audit: who changed what, and when.
func (r *request) auditPage() error {
	s := auditSearch{
		Actor: strings.TrimSpace(r.query("actor")), Code: strings.TrimSpace(r.query("code")), From: r.query("from"), To: r.query("to"),
	}
	view := auditView{Search: s}
	status, err := r.listChanges(&view)
	if err != nil {
		return err
	}
	return r.show(status, "audit", "Audit log", &view)
}

// listChanges reads the entries of the page. An error of what was searched for is one of the page.
func (r *request) listChanges(view *auditView) (status int, err error) {
	s, cursor := &view.Search, r.query("cursor")
	if cursor != "" {
		view.Newest = s.address("")
	}
	q, err := ops.ParseAudit(r.caller, parameters("actor", s.Actor, "code", s.Code, "from", s.From, "to", dayAfter(s.To),
		"cursor", cursor, "limit", listed))
	var page ops.AuditPage
	if err == nil {
		err = r.heavily(func() (err error) {
			page, err = r.calls.Audit(r.caller, q)
			return err
		})
	}
	if p, known := problem.Of(err); known && p.Kind == problem.Invalid {
		at, general, _ := fieldErrors(err, "actor", "code", "from", "to", "cursor")
		view.Error = sentence(firstOf(labelled("Who", at["actor"]), labelled("The link", at["code"]), labelled("From", at["from"]),
			labelled("To", at["to"]), labelled("The address of this page", at["cursor"]), general))
		return fasthttp.StatusUnprocessableEntity, nil
	}
	if err != nil {
		return 0, err
	}
	for i := range page.Data {
		view.Rows = append(view.Rows, auditRowOf(&page.Data[i]))
	}
	if page.NextCursor != nil {
		view.Older = s.address(*page.NextCursor)
	}
	return fasthttp.StatusOK, nil
}

// dayAfter returns the day after a date, so that the last day that was typed is included. A text that
// is no date remains, and is refused elsewhere.
func dayAfter(text string) string {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	return day.AddDate(0, 0, 1).Format(time.DateOnly)
}

func auditRowOf(e *ops.AuditEntry) auditRow {
	row := auditRow{AuditEntry: *e, What: auditWords[e.Action], Who: e.Actor.Email, Fields: changes.Of(e.Before, e.After)}
	switch e.Actor.Via {
	case "token":
		row.Via = "by token " + e.Actor.TokenID
	case "local":
		row.Who, row.Via = "Somebody on the server", "by a local command"
	}
	switch {
	case e.Actor.User != 0:
		row.ByActor = (&auditSearch{Actor: strconv.FormatUint(uint64(e.Actor.User), 10)}).address("")
	case row.Who == "":
		row.Who = "Somebody"
	}
	if e.Code != "" && !row.Several() {
		row.OfCode = (&auditSearch{Code: e.Code}).address("")
	}
	return row
}
