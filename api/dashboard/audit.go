package dashboard

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/changes"
	"shunt/api/dashboard/undo"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/problem"
)

// auditPath is the page of the audit log.
const auditPath = Root + "audit"

// auditView is what the page of the audit log shows.
type auditView struct {
	Search  auditSearch
	Errors  map[string]string // at fields of the search; empty: it is right
	Domains *visit.DomainChoice
	Error   string         // why there is no list, apart from Errors
	Subject []visit.Option // the pages of the link and the user that the list is of, as far as they exist
	Rows    []auditRow
	Newest  string // address of the first page; empty: this is it
	Older   string // address of the next page; empty: there is none

	GiveBack string // where the forms of the rows are sent; empty: the list is not of a link that is there
	Whose    visit.Whose
}

// An auditSearch is what the log is searched for, as it was typed.
type auditSearch struct{ Actor, Code, Domain, From, To string }

// Empty reports whether the list is of everything.
func (s *auditSearch) Empty() bool { return *s == auditSearch{} }

// address returns the address of the page that goes on at a cursor; empty: the first one.
func (s *auditSearch) address(cursor string) string {
	return visit.Address(auditPath, "actor", s.Actor, "code", s.Code, "domain", s.Domain, "from", s.From, "to", s.To, "cursor", cursor)
}

// An auditRow is an entry of the log in words.
type auditRow struct {
	ops.AuditEntry
	What    string // was done
	Who     any    // a text, or a visit.Name
	Via     string
	ByActor string // address of the list of all that the actor did; empty: none
	OfCode  string // address of the list of all that was done to the link; empty: none
	Fields  []auditField
}

// An auditField is a field that was changed.
type auditField struct {
	Name, Label   string
	Before, After *auditValue // nil: it had no value, or has none
	Restorable    bool        // the link that the page is of can get the value back that it had
}

// An auditValue is a value of a field: a time, words of ours, or else a text that somebody typed.
type auditValue struct {
	At   time.Time
	Said []string
	Text string
}

// Several reports whether the entry is of several links.
func (e *auditRow) Several() bool { return e.LastCode != "" && e.LastCode != e.Code }

// auditWords says what actions do, after the name of who did it.
var auditWords = map[string]string{
	"link.created": "created a link", "link.edited": "edited a link", "link.deleted": "deleted a link",
	"link.reset":   "reset the figures of a link",
	"folder.added": "added a folder", "folder.edited": "edited a folder", "folder.deleted": "deleted a folder",
	"domain.added": "added a domain", "domain.edited": "edited a domain", "domain.deleted": "removed a domain",
	"domain.certificate": "asked for the certificate of a domain",
	"links.created":      "created several links", "links.imported": "imported links",
	"user.added": "added a user", "user.edited": "edited a user", "user.deleted": "deleted a user",
	"token.issued": "created a token", "token.revoked": "revoked a token",
	"setup_link.made": "created a setup link", "setup_link.used": "used a setup link", "sessions.ended": "ended sessions",
	"copy.given": "gave a copy of the data to a node", "link.restored": "restored a link", "link.purged": "deleted a link for good",
}

// Say returns how many entries the page has, to be read aloud while somebody searches.
func (v *auditView) Say() string {
	if v.Error != "" {
		return v.Error
	}
	return visit.Plural(uint64(len(v.Rows)), "change", "changes")
}

// auditPage is GET /_/audit: who changed what, and when.
func (r *request) auditPage() error {
	asked := func(name string) string { return strings.TrimSpace(r.Query(name)) }
	view := auditView{Search: auditSearch{Actor: asked("actor"), Code: asked("code"), Domain: asked("domain"), From: asked("from"), To: asked("to")}}
	if domains := r.Calls.Domains(); domains.Several() && view.Search.Code != "" && view.Search.Domain == "" {
		view.Search.Domain = domains.Default().Host // which is the one that is meant
	}
	view.Domains = r.DomainsOfList(view.Search.Domain, true)
	if r.Query("cursor") != "" {
		view.Newest = view.Search.address("")
	}
	q, err := r.auditQuery(&view)
	if err != nil {
		return err
	}
	if view.Error != "" || len(view.Errors) > 0 {
		return r.Show(fasthttp.StatusUnprocessableEntity, "audit", "Audit log", &view)
	}
	if err := r.listChanges(&view, q); err != nil {
		return err
	}
	if err := r.findSubject(&view); err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "audit", "Audit log", &view)
}

// auditQuery returns the query of the page. What is wrong with it is in the view.
func (r *request) auditQuery(view *auditView) (ops.AuditQuery, error) {
	s := &view.Search
	from, to, wrong := s.period()
	q, err := r.Calls.ParseAudit(r.Caller, parameters("actor", s.Actor, "code", s.Code, "domain", s.Domain, "from", from, "to", to,
		"cursor", r.Query("cursor"), "limit", listed))
	view.Errors = wrong
	if p, known := problem.Of(err); err == nil || !known || p.Kind != problem.Invalid {
		return q, err
	}
	at, general, _ := visit.FieldErrors(err, "actor", "code", "domain", "cursor")
	for _, name := range []string{"actor", "code"} {
		if at[name] != "" {
			wrong[name] = visit.Sentence(at[name])
		}
	}
	view.Error = visit.Sentence(cmp.Or(labelled("The address of this page", at["cursor"]), labelled("The domain", at["domain"]), general))
	return q, nil
}

// period returns the bounds of the search as the call takes them: from is in it, to is not, but the
// last day that was typed is. wrong has the errors by field; there are no bounds then.
func (s *auditSearch) period() (from, to string, wrong map[string]string) {
	wrong = make(map[string]string)
	days := map[string]time.Time{}
	for name, text := range map[string]string{"from": s.From, "to": s.To} {
		day, ok := visit.ParseDate(text)
		if days[name] = day; !ok && text != "" {
			wrong[name] = "Must be a date such as 2026-11-21."
		}
	}
	if s.From != "" && s.To != "" && len(wrong) == 0 && days["from"].After(days["to"]) {
		wrong["to"] = "Must not be before the first day."
	}
	if len(wrong) > 0 {
		return "", "", wrong
	}
	if s.To != "" {
		to = dayAfter(days["to"])
	}
	return s.From, to, wrong
}

// dayAfter returns the day after a day. The last day that can be written has none: nothing is after it,
// so it is no bound.
func dayAfter(day time.Time) string {
	const lastYear = 9999
	next := day.AddDate(0, 0, 1)
	if next.Year() > lastYear {
		return ""
	}
	return next.Format(time.RFC3339)
}

// listChanges reads the entries of the page.
func (r *request) listChanges(view *auditView, q ops.AuditQuery) error {
	return r.Heavily(func() error {
		page, err := r.Calls.Audit(r.Caller, q)
		for i := range page.Data {
			view.Rows = append(view.Rows, auditRowOf(&page.Data[i]))
		}
		if page.NextCursor != nil {
			view.Older = view.Search.address(*page.NextCursor)
		}
		return err
	})
}

// findSubject finds the pages of the link and the user that the list is of.
func (r *request) findSubject(view *auditView) error {
	if code := view.Search.Code; code != "" {
		all := visit.Whose{Owner: "all", Domain: view.Search.Domain}
		everybody, err := r.Asked(all)
		if err != nil {
			return err
		}
		l, err := r.Calls.Read(r.Caller, code, everybody)
		switch _, _, ok := visit.FieldErrors(err); {
		case err == nil:
			view.Subject = append(view.Subject, visit.Option{Name: "Open the link " + l.Code, Path: linkPath(l.Code, all)})
			view.GiveBack, view.Whose = undo.EditPath(l.Code), all
			view.offerValues(&l)
		case !ok:
			return err
		}
	}
	if view.Search.Actor == "" {
		return nil
	}
	users, err := r.allUsers()
	at := slices.IndexFunc(users, func(u account.User) bool {
		return strings.EqualFold(view.Search.Actor, u.Name) || view.Search.Actor == strconv.FormatUint(uint64(u.ID), 10)
	})
	if at >= 0 {
		view.Subject = append(view.Subject, visit.Option{Name: "Open the user " + users[at].Name, Path: userPath(users[at].ID)})
	}
	return err
}

// offerValues offers the values back that a link had before its edits. Earlier entries are of other links that had its
// code.
func (v *auditView) offerValues(l *ops.Link) {
	for i := range v.Rows {
		row := &v.Rows[i]
		if row.Action != "link.edited" || row.At.Before(l.CreatedAt) {
			continue
		}
		for j := range row.Fields {
			row.Fields[j].Restorable = ops.Restorable(row.Before, row.Fields[j].Name) != nil
		}
	}
}

func auditRowOf(e *ops.AuditEntry) auditRow {
	row := auditRow{AuditEntry: *e, What: auditWords[e.Action], Who: visit.Name(e.Actor.Email)}
	for _, f := range changes.Of(e.Before, e.After) {
		row.Fields = append(row.Fields, auditField{
			Name: f.Name, Label: visit.Label(f.Name),
			Before: auditValueOf(f.Name, f.Before, f.BeforeWord), After: auditValueOf(f.Name, f.After, f.AfterWord),
		})
	}
	switch e.Actor.Via {
	case "token":
		row.Via = "with token " + e.Actor.TokenID
	case "session":
		row.Via = "in the dashboard"
	case "local":
		row.Who, row.Via = "Somebody on the server", "by a local command"
	case "none":
		if e.Action == "setup_link.used" {
			row.Via = "with a setup link"
		}
	}
	switch {
	case e.Actor.User != 0:
		row.ByActor = (&auditSearch{Actor: strconv.FormatUint(uint64(e.Actor.User), 10)}).address("")
	case row.Who == visit.Name(""):
		row.Who = "Somebody"
	}
	if e.Code != "" && !row.Several() {
		row.OfCode = (&auditSearch{Code: e.Code, Domain: e.Domain}).address("")
	}
	return row
}

// auditWordsOf has the fields whose values nobody types, with the words for some of these; any other is said as it is.
var auditWordsOf = map[string]map[string]string{
	"password": {}, "role": {}, "certificate": {"acme": "the server gets it (ACME)", "files": "from the files of the settings"},
	"query": {"none": "not passed on", "append": "added to the target", "override": "added, in place of the same names in the target", "keep": "added, but for names that the target has"},
	"copy":  {}, "case": {"fold": "make none", "sensitive": "make a difference"}, "trim": {"true": "are ignored", "false": "count"},
	"unicode_codes": {"true": "of all scripts", "false": "from a to z"},
}

// auditValueOf returns a value of a field; nil: it is none. word: the text is one of ours.
func auditValueOf(field, text string, word bool) *auditValue {
	if text == "" {
		return nil
	}
	words, ours := auditWordsOf[field]
	v := &auditValue{Text: text}
	switch {
	case word && text == "none":
		v.Said = []string{"not set"}
	case word && text == "true":
		v.Said = []string{"yes"}
	case word && text == "false":
		v.Said = []string{"no"}
	case word || ours:
		v.Said = []string{cmp.Or(words[text], text)}
	case field == "members":
		for member := range strings.SplitSeq(text, ", ") {
			user, may, _ := strings.Cut(member, " ")
			v.Said = append(v.Said, "user "+user+": "+may)
		}
	case field == "scopes":
		for scope := range strings.FieldsSeq(text) {
			v.Said = append(v.Said, cmp.Or(scopeWords[account.Scope(scope)].name, scope))
		}
	case field == "starts_at" || field == "expires_at":
		v.At, _ = time.Parse(time.RFC3339, text) // else it is shown as it is
	}
	return v
}

// foldedText returns the first most characters of a text that is longer, whose rest is behind a fold; "": it is not.
func foldedText(most int, text string) string {
	shown := 0
	for i := range text {
		if shown == most {
			return text[:i] + "…"
		}
		shown++
	}
	return ""
}
