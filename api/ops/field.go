package ops

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"shunt/api/card"
	"shunt/api/days"
	"shunt/api/domain"
	"shunt/api/jsonbody"
	"shunt/api/jsontext"
	"shunt/api/rules"
	"shunt/engine"
	"shunt/engine/texts"
)

// A row describes a field of a link. The rows determine the fields that POST /shorten, PATCH, POST
// /import and bulks accept, when a repeated request counts as the same one, and the fields of a
// link object.
type row struct {
	name     string
	key      string // the name with a comma before it, in JSON; set by withKeys
	required bool   // it must be sent to create or import a link; in a patch it must not be null

	// read reads and checks the value in a body of POST /shorten or PATCH, imported the value in a
	// body of POST /import. nil: the field is unknown there. Neither is called for null, which
	// leaves the default.
	read, imported jsonbody.Reader[askedLink]

	// given reads and checks the value in a body of PATCH, if POST /shorten does not have the field. It must
	// not be null. nil: read does.
	given jsonbody.Reader[askedLink]

	// merged reads the value in a body of PATCH, of which only some parts may be sent: patch.apply merges them into
	// what the link has. nil: read does.
	merged jsonbody.Reader[askedLink]

	// set puts a draft's value into a link's record, the default if the draft has none. nil: the
	// field cannot be changed, and a patch that names it gets the error text fixed.
	set   func(rec *engine.Record, d *engine.Draft)
	fixed string

	// same reports whether link l already has what draft d asks for. nil: it is not compared.
	same func(d *engine.Draft, l *engine.Detail) bool

	// had returns the largest number that a link object of l has had in the field. nil: it does not only
	// grow.
	had func(l *Link) uint64

	// write appends the value in JSON. nil: a link object does not have the field.
	write func(dst []byte, l *Link) []byte
	// omitted reports whether the link object of l leaves the field out. nil: it never does.
	omitted func(l *Link) bool
}

const (
	fixedCode = "cannot be changed; make another link"
	readOnly  = "is read-only"
)

// table has the fields of a link, in the order of a link object. A new field that is text is in engine/texts/texts.go
// alone; one that is true or false is one more flagField, and the code there that stores it.
var table = withKeys(slices.Concat([]row{
	{
		name: "code", required: true, imported: readImportedCode, fixed: fixedCode, same: sameCode,
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, l.Code) },
	},
	{name: "alias", read: readAlias, fixed: fixedCode, same: sameCode},
	{name: "reuse", read: readReuse, fixed: "is for new links only"}, // of imported links, Bulk.Reusable says so
	{
		name: "short_url", imported: skip, fixed: fixedCode,
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, l.ShortURL) },
	},
	{
		name: "domain", read: readDomainField, imported: readImportedDomain, fixed: fixedCode,
		same:    func(d *engine.Draft, l *engine.Detail) bool { return d.Domain == l.Domain },
		write:   func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, l.Host) },
		omitted: func(l *Link) bool { return l.Host == "" },
	},
	{
		name: "url", required: true, read: readTarget, imported: readImportedTarget,
		set:   func(rec *engine.Record, d *engine.Draft) { rec.Hot.Target = d.Target },
		same:  func(d *engine.Draft, l *engine.Detail) bool { return d.Target == l.Target },
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, l.Target) },
	},
	{
		name: "redirect_status", read: readRedirectStatus, imported: readRedirectStatus,
		set: func(rec *engine.Record, d *engine.Draft) { rec.SetRedirectStatus(d.RedirectStatus) },
		same: func(d *engine.Draft, l *engine.Detail) bool {
			return d.RedirectStatus == l.RedirectStatus
		},
		write: func(dst []byte, l *Link) []byte { return strconv.AppendInt(dst, int64(l.RedirectStatus), 10) },
	},
	{
		name: "state", imported: skip, fixed: "is read-only; it follows from disabled, starts_at, expires_at, max_hits, hits and the block list",
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, string(l.State)) },
	},
	{
		name: "owner", imported: skip, given: readGiven,
		set:   func(*engine.Record, *engine.Draft) {}, // engine.Give does, which must know the owner before
		write: func(dst []byte, l *Link) []byte { return strconv.AppendUint(dst, uint64(l.Owner), 10) },
	},
	{
		name: "created_at", imported: readCreated, fixed: readOnly,
		same: func(d *engine.Draft, l *engine.Detail) bool {
			return d.Import != nil && d.Import.CreatedAt.Equal(l.CreatedAt)
		},
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendTime(dst, l.CreatedAt) },
	},
	{
		name: "updated_at", imported: readUpdated, fixed: readOnly, // not compared, because it changes here
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendTime(dst, l.UpdatedAt) },
	},
	{
		name: "deleted_at", fixed: "is read-only; DELETE and POST /links/{code}/restore change it",
		write:   func(dst []byte, l *Link) []byte { return jsontext.AppendTime(dst, l.DeletedAt) },
		omitted: func(l *Link) bool { return l.DeletedAt.IsZero() },
	},
	{
		name: "starts_at", read: readStart, imported: readStart,
		set:  func(rec *engine.Record, d *engine.Draft) { rec.SetStart(d.StartsAt) },
		same: func(d *engine.Draft, l *engine.Detail) bool { return d.StartsAt.Equal(l.StartsAt) },
		write: func(dst []byte, l *Link) []byte {
			if l.StartsAt.IsZero() {
				return append(dst, "null"...)
			}
			return jsontext.AppendTime(dst, l.StartsAt)
		},
	},
	{
		name: "expires_at", read: readExpiry, imported: readImportedExpiry,
		set:  func(rec *engine.Record, d *engine.Draft) { rec.SetExpiry(d.ExpiresAt) },
		same: func(d *engine.Draft, l *engine.Detail) bool { return d.ExpiresAt.Equal(l.ExpiresAt) },
		write: func(dst []byte, l *Link) []byte {
			if l.ExpiresAt.IsZero() {
				return append(dst, "null"...)
			}
			return jsontext.AppendTime(dst, l.ExpiresAt)
		},
	},
	{
		name: "expired_url", read: readExpiredURL, imported: readImportedExpiredURL,
		set:  func(rec *engine.Record, d *engine.Draft) { rec.SetExpiredURL(d.ExpiredURL) },
		same: func(d *engine.Draft, l *engine.Detail) bool { return d.ExpiredURL == l.ExpiredURL },
		write: func(dst []byte, l *Link) []byte {
			if l.ExpiredURL == "" {
				return append(dst, "null"...)
			}
			return jsontext.AppendString(dst, l.ExpiredURL)
		},
	},
	{
		name: "max_hits", read: readMaxHits, imported: readMaxHits,
		set:  func(rec *engine.Record, d *engine.Draft) { rec.Hot.MaxHits = d.MaxHits },
		same: func(d *engine.Draft, l *engine.Detail) bool { return d.MaxHits == l.MaxHits },
		write: func(dst []byte, l *Link) []byte {
			if l.MaxHits == 0 {
				return append(dst, "null"...)
			}
			return strconv.AppendUint(dst, l.MaxHits, 10)
		},
	},
}, textFields(), []row{
	{
		name: "tags", read: readTags, imported: readTags,
		set:   func(rec *engine.Record, d *engine.Draft) { rec.Cold.Tags = d.Tags },
		same:  func(d *engine.Draft, l *engine.Detail) bool { return slices.Equal(d.Tags, l.Tags) },
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendStrings(dst, l.Tags) },
	},
	{
		name: "folder", read: readFolder, imported: skip,
		set:     func(rec *engine.Record, d *engine.Draft) { rec.Cold.Folder = d.Folder },
		same:    func(d *engine.Draft, l *engine.Detail) bool { return d.Folder == l.Folder },
		write:   func(dst []byte, l *Link) []byte { return strconv.AppendUint(dst, uint64(l.Folder), 10) },
		omitted: func(l *Link) bool { return l.Folder == 0 },
	},
	flagField("forward_query", (*engine.Record).SetForwardQuery,
		func(d *engine.Draft) *bool { return &d.ForwardQuery },
		func(l *engine.Detail) bool { return l.ForwardQuery }),
	{
		name: "query", read: readQuery, imported: readQuery,
		set:   func(rec *engine.Record, d *engine.Draft) { rec.SetQuery(d.Query) },
		same:  func(d *engine.Draft, l *engine.Detail) bool { return d.Query == l.Query },
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, string(l.Query)) },
	},
	flagField("forward_path", (*engine.Record).SetForwardPath,
		func(d *engine.Draft) *bool { return &d.ForwardPath },
		func(l *engine.Detail) bool { return l.ForwardPath }),
	{
		name: "rules", read: readRules, imported: readImportedRules,
		set:     func(rec *engine.Record, d *engine.Draft) { rec.SetRules(d.Rules) },
		same:    func(d *engine.Draft, l *engine.Detail) bool { return rules.Same(d.Rules, l.Rules) },
		write:   func(dst []byte, l *Link) []byte { return rules.Append(dst, l.Rules) },
		omitted: func(l *Link) bool { return len(l.Rules) == 0 },
	},
	{
		name: "split", read: readSplit, imported: readImportedSplit,
		set:     func(rec *engine.Record, d *engine.Draft) { rec.SetSplit(d.Split) },
		same:    func(d *engine.Draft, l *engine.Detail) bool { return rules.SameSplit(d.Split, l.Split) },
		write:   func(dst []byte, l *Link) []byte { return rules.AppendSplit(dst, l.Split) },
		omitted: func(l *Link) bool { return len(l.Split) == 0 },
	},
	{
		name: "password", read: readPassword, fixed: "",
		set:  func(rec *engine.Record, d *engine.Draft) { rec.SetPassword(d.Password) },
		same: func(d *engine.Draft, l *engine.Detail) bool { return d.Password == "" && l.Lock == 0 }, // nobody compares passwords here
	},
	{
		name: "has_password", imported: readHasPassword, fixed: "is read-only; send password",
		write:   func(dst []byte, l *Link) []byte { return strconv.AppendBool(dst, l.Lock != 0) },
		omitted: func(l *Link) bool { return l.Lock == 0 },
	},
	{
		name: "password_hash", imported: readPasswordHash, fixed: "is for imports; send password",
		same:    func(d *engine.Draft, l *engine.Detail) bool { return d.Password == l.Password },
		write:   func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, l.Password) },
		omitted: func(l *Link) bool { return !l.WithHash || l.Password == "" },
	},
	{
		name: "card", read: readCard, imported: readImportedCard, merged: readCardPatch,
		set:     func(rec *engine.Record, d *engine.Draft) { rec.SetCard(d.Card) },
		same:    func(d *engine.Draft, l *engine.Detail) bool { return d.Card == l.Card },
		write:   func(dst []byte, l *Link) []byte { return card.Append(dst, &l.Card) },
		omitted: func(l *Link) bool { return l.Card == engine.Card{} },
	},
	{
		name: "warnings", imported: skip, fixed: "is read-only; it follows from rules",
		write:   func(dst []byte, l *Link) []byte { return rules.AppendWarnings(dst, l.Warnings) },
		omitted: func(l *Link) bool { return len(l.Warnings) == 0 },
	},
	flagField("disabled", (*engine.Record).SetDisabled,
		func(d *engine.Draft) *bool { return &d.Disabled },
		func(l *engine.Detail) bool { return l.Disabled }),
	{
		name: "hits", imported: readHits, fixed: readOnly, // not compared, because it changes here
		had:   func(l *Link) uint64 { return l.Hits },
		write: func(dst []byte, l *Link) []byte { return strconv.AppendUint(dst, l.Hits, 10) },
	},
	{
		name: "daily", imported: readDaily, fixed: "is for imports", // not compared, because it grows here
		write:   func(dst []byte, l *Link) []byte { return days.Append(dst, l.Daily) },
		omitted: func(l *Link) bool { return !l.WithDaily },
	},
	{
		name: "unique", imported: skip, fixed: readOnly,
		had:     func(l *Link) uint64 { return l.Unique },
		write:   func(dst []byte, l *Link) []byte { return strconv.AppendUint(dst, l.Unique, 10) },
		omitted: func(l *Link) bool { return !l.Counted },
	},
}))

// isOf reports whether value is what link has in the field, or, of a number that only grows, had.
func (f *row) isOf(link *Link, value json.RawMessage, now time.Time, domains *domain.Domains) bool {
	switch {
	case f.write == nil:
		return false
	case f.had != nil:
		n, err := jsonbody.Int(value)
		return err == nil && string(value) != "null" && 0 <= n && uint64(n) <= f.had(link)
	case f.same != nil && f.imported != nil:
		a := askedLink{now: now, domains: domains}
		a.policy.Schemes = engine.AnyScheme // what a link leads to was checked when that was written
		err := f.imported(&a, value)
		a.Import = &a.imports
		return err == nil && f.same(&a.Draft, &link.Detail)
	}
	var sent, has any
	return json.Unmarshal(value, &sent) == nil && json.Unmarshal(f.write(nil, link), &has) == nil && reflect.DeepEqual(sent, has)
}

// withKeys sets the keys of rows.
func withKeys(rows []row) []row {
	for i := range rows {
		rows[i].key = `,"` + rows[i].name + `":`
	}
	return rows
}

// textFields returns the rows of all fields that are text for people, which are empty by default.
func textFields() (rows []row) {
	for _, text := range texts.All() {
		rows = append(rows, textField(text))
	}
	return rows
}

func textField(text texts.Text) row {
	read := func(a *askedLink, value json.RawMessage) error {
		given, err := jsonbody.String(value)
		if *a.Draft.Text(text.Name) = given; err != nil {
			return err
		}
		if text.Lines {
			given = strings.ReplaceAll(given, "\n", " ")
		}
		return checkText("", given, text.Max)
	}
	return row{
		name: text.Name, read: read, imported: read,
		set:   func(rec *engine.Record, d *engine.Draft) { *rec.Cold.Text(text.Name) = *d.Text(text.Name) },
		same:  func(d *engine.Draft, l *engine.Detail) bool { return *d.Text(text.Name) == *l.Text(text.Name) },
		write: func(dst []byte, l *Link) []byte { return jsontext.AppendString(dst, *l.Text(text.Name)) },
	}
}

// flagField is the row of a field that is true or false, and false by default.
func flagField(
	name string, set func(*engine.Record, bool), asked func(*engine.Draft) *bool, kept func(*engine.Detail) bool,
) row {
	read := func(a *askedLink, value json.RawMessage) (err error) {
		*asked(&a.Draft), err = jsonbody.Bool(value)
		return err
	}
	return row{
		name: name, read: read, imported: read,
		set:   func(rec *engine.Record, d *engine.Draft) { set(rec, *asked(d)) },
		same:  func(d *engine.Draft, l *engine.Detail) bool { return *asked(d) == kept(l) },
		write: func(dst []byte, l *Link) []byte { return strconv.AppendBool(dst, kept(&l.Detail)) },
	}
}

func sameCode(d *engine.Draft, l *engine.Detail) bool { return d.Alias == l.Code }

// fieldNamed finds a row by its name.
var fieldNamed = func() map[string]*row {
	rows := make(map[string]*row, len(table))
	for i := range table {
		rows[table[i].name] = &table[i]
	}
	return rows
}()

// A Field says what can be done with a field of a link.
type Field struct {
	Name       string
	Creatable  bool   // POST /shorten takes it
	Settable   bool   // PATCH takes it
	Importable bool   // POST /import takes it
	Shown      bool   // a link object has it
	Admins     bool   // only admins may change it
	Secret     bool   // it is Settable, and nobody is shown it
	Fixed      string // if it is not Settable, the error text of a patch that names it
}

// Fields returns the fields of a link, in the order of a link object.
func Fields() []Field {
	fields := make([]Field, len(table))
	for i, f := range table {
		fields[i] = Field{f.name, f.read != nil, f.set != nil, f.imported != nil, f.write != nil, f.given != nil, f.set != nil && f.write == nil, f.fixed}
	}
	return fields
}

// The fields of POST /shorten, PATCH /links/{code} and POST /import.
var (
	createFields = fieldsOf(func(f *row) jsonbody.Reader[askedLink] { return f.read })
	importFields = fieldsOf(func(f *row) jsonbody.Reader[askedLink] { return f.imported })
	patchFields  = fieldsOf(func(f *row) jsonbody.Reader[askedLink] {
		switch {
		case f.set == nil:
			return nil
		case f.given != nil:
			return f.given
		case f.merged != nil:
			return f.merged
		}
		return f.read
	})
)

// fieldsOf returns the fields for which reader finds a reader in the table.
func fieldsOf(reader func(*row) jsonbody.Reader[askedLink]) jsonbody.Fields[askedLink] {
	readers := make(map[string]jsonbody.Reader[askedLink])
	for i := range table {
		if read := reader(&table[i]); read != nil {
			readers[table[i].name] = read
		}
	}
	return jsonbody.NewFields(readers)
}

// sameLink reports whether link l has what draft d asks for in every field that was sent.
func sameLink(d *engine.Draft, sent []string, l *engine.Detail) bool {
	return !slices.ContainsFunc(sent, func(name string) bool {
		same := fieldNamed[name].same
		return same != nil && !same(d, l)
	})
}

// missing returns an error that names the required ones of fields that were not sent; nil if there
// are none.
func missing(fields jsonbody.Fields[askedLink], sent []string) (invalid engine.InvalidError) {
	for _, name := range required {
		if !slices.Contains(sent, name) && fields.Has(name) {
			invalid = append(invalid, jsonbody.FieldError(name, "required", "must be given"))
		}
	}
	return invalid
}

// conflicts returns errors of fields that do not agree: both that say what becomes of the query were sent, and say
// different things; or a link is to be reused, whose code another field chooses, or whose password nobody can compare;
// or a link comes from elsewhere without the hash of its password. In a patch, null says the default.
func conflicts(a *askedLink, sent []string) (invalid engine.InvalidError) {
	if a.Reuse && a.Alias != "" {
		return engine.InvalidError{jsonbody.FieldError("reuse", codeConflict, "must not be sent with an alias, which names the link already")}
	}
	if a.Reuse && a.Password != "" {
		return engine.InvalidError{jsonbody.FieldError("reuse", codeConflict, "must not be sent with a password, which cannot be compared with that of another link")}
	}
	if a.hadPassword && a.Password == "" {
		return engine.InvalidError{errNoHash}
	}
	if !slices.Contains(sent, "query") || !slices.Contains(sent, "forward_query") {
		return nil
	}
	if forwards := a.Query != "" && a.Query != engine.ForwardNone; forwards == a.ForwardQuery {
		return nil
	}
	return engine.InvalidError{jsonbody.FieldError("query", codeConflict, "must agree with forward_query, which says whether it is none")}
}

// codeConflict is the code of an error about two fields that do not agree.
const codeConflict = "conflict"

// required has the names of the required fields.
var required = func() (names []string) {
	for i := range table {
		if table[i].required {
			names = append(names, table[i].name)
		}
	}
	return names
}()
