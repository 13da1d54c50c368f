package ops

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"

	"shunt/api/account"
	"shunt/api/domain"
	"shunt/api/folder"
	"shunt/api/jsonbody"
	"shunt/api/problem"
	"shunt/api/qrorder"
	"shunt/engine"
)

// Parameters are the query parameters of a request, or of a form, in their order. *fasthttp.Args
// implements it.
type Parameters interface {
	Len() int
	All() iter.Seq2[[]byte, []byte] // names and values; valid until the next
}

// MaxParameters limits the parameters that are read, and so the errors in an answer.
const MaxParameters = 32

// maxWhoseBytes is longer than the id of any user, and than the host of any domain.
const maxWhoseBytes = 256

// A parameterReader reads one query parameter into q. Its error is an engine.FieldError without
// Field.
type parameterReader[T any] func(q *T, value string) error

// ParseWhose reads the parameters of a request that has none but owner and domain, and returns whose links the
// request is about: the caller's own without owner; with owner=all or owner=ID, which only admins and viewers may ask
// for, everybody's or that user's. A domain must be one that the caller may use.
func (c *Calls) ParseWhose(caller account.Caller, p Parameters) (Whose, error) {
	return readParameters[struct{}](c, caller, p, nil, nil, maxWhoseBytes)
}

// ParseDelete is ParseWhose for the deletion of a link, which may be one without the trash.
func (c *Calls) ParseDelete(caller account.Caller, p Parameters) (w Whose, purge bool, err error) {
	w, err = readParameters(c, caller, p, &purge, deleteParameters, maxWhoseBytes)
	return w, purge, err
}

var deleteParameters = map[string]parameterReader[bool]{"purge": readYes}

// ParseImport is ParseWhose for an import, which may add domains, or be a dry run.
func (c *Calls) ParseImport(caller account.Caller, p Parameters, b *Bulk) (Whose, error) {
	return readParameters(c, caller, p, b, importParameters, maxWhoseBytes)
}

var importParameters = map[string]parameterReader[Bulk]{
	"create_domains": func(b *Bulk, value string) error { return readYes(&b.CreateDomains, value) },
	"dry_run":        func(b *Bulk, value string) error { return readYes(&b.DryRun, value) },
	"reuse":          func(b *Bulk, value string) error { return readYes(&b.Reusable, value) },
}

// ParseQRCode is ParseWhose for a QR code, of which the parameters say how it looks.
func (c *Calls) ParseQRCode(caller account.Caller, p Parameters, o *qrorder.Order) (Whose, error) {
	w, err := readParameters(c, caller, p, o, qrParameters, maxWhoseBytes)
	if err == nil {
		err = o.Check()
	}
	return w, err
}

// qrParameters are the parameters of a QR code.
var qrParameters = func() map[string]parameterReader[qrorder.Order] {
	readers := make(map[string]parameterReader[qrorder.Order], len(qrorder.Parameters))
	for name, read := range qrorder.Parameters {
		readers[name] = read
	}
	return readers
}()

// ParseNone refuses a request that has a query parameter.
func ParseNone(p Parameters) error {
	for name := range p.All() {
		return UnknownParameter(name)
	}
	return nil
}

// refuseOwner refuses the parameter owner, for requests that have a domain but no owner.
func refuseOwner(p Parameters) error {
	for name := range p.All() {
		if string(name) == "owner" {
			return UnknownParameter(name)
		}
	}
	return nil
}

// UnknownParameter returns the error of a parameter that a request does not have.
func UnknownParameter(name []byte) error {
	return jsonbody.FieldError(string(name), "unknown", "is not a parameter of this request")
}

// readParameters reads the query parameters into q, and returns whose links they are about, as ParseWhose does. No
// parameter may be unknown, or longer than maxBytes; only include may occur twice. It returns all
// errors at once, except for an owner or a domain that the caller may not ask for.
func readParameters[T any](
	c *Calls, caller account.Caller, p Parameters, q *T, readers map[string]parameterReader[T], maxBytes int,
) (Whose, error) {
	whose := c.own(caller)
	var invalid engine.InvalidError
	seen := make(map[string]bool)
	if p.Len() > MaxParameters {
		return whose, problem.New(problem.BadRequest, "there must be at most %d query parameters", MaxParameters)
	}
	for nameBytes, value := range p.All() {
		name := string(nameBytes)
		read, known := readers[name]
		switch {
		case name == "owner" && !caller.ReadsAll():
			return whose, errOwnerNeedsAdmin
		case !known && name != "owner" && name != "domain":
			invalid = jsonbody.AppendError(invalid, name, UnknownParameter(nameBytes))
		case seen[name] && name != "include":
			invalid = append(invalid, jsonbody.FieldError(name, "duplicate", "must not be given twice"))
		case len(value) > maxBytes && (name != codesName || len(value) > maxCodesBytes):
			invalid = append(invalid, jsonbody.FieldError(name, "too_long", "must be at most "+strconv.Itoa(maxBytes)+" bytes"))
		case name == "owner":
			invalid = jsonbody.AppendError(invalid, name, readOwner(&whose, value))
		case name == "domain" && !known:
			invalid = jsonbody.AppendError(invalid, name, c.readDomain(&whose, value))
		default:
			invalid = jsonbody.AppendError(invalid, name, read(q, string(value)))
		}
		seen[name] = true
	}
	switch {
	case !whose.Every && !caller.Domains.Has(whose.Domain):
		return whose, errForeignDomain
	case len(invalid) > 0:
		return whose, invalid
	}
	return whose, nil
}

var (
	errOwnerNeedsAdmin = problem.New(problem.Forbidden, "owner needs the scope %s", account.Admin)
	errViewer          = problem.New(problem.Forbidden, "a viewer changes no links")
)

// readOwner reads the parameter owner: all, or a user's id.
func readOwner(w *Whose, value []byte) error {
	if w.Anybody = string(value) == "all"; w.Anybody {
		return nil
	}
	id, err := strconv.ParseUint(string(value), 10, 32)
	if err != nil || id == 0 || id > engine.MaxUser {
		return jsonbody.FieldError("owner", "range", "must be a user's id or all")
	}
	w.User = uint32(id)
	return nil
}

// readCount reads a number of things, from 1 to most.
func readCount(value string, most int) (int, error) {
	n, err := strconv.ParseUint(value, 10, 16) // ParseUint accepts no sign
	if err != nil || n < 1 || n > uint64(most) {
		return 0, jsonbody.FieldError("", "range", "must be 1 to "+strconv.Itoa(most))
	}
	return int(n), nil
}

// checkTextParameter refuses a value that is not UTF-8, is longer than maxBytes bytes, or has
// control characters.
func checkTextParameter(value string, maxBytes int) error {
	if !utf8.ValidString(value) {
		return jsonbody.FieldError("", "characters", "must be UTF-8")
	}
	return checkText("", value, maxBytes)
}

// Whose says whose links a call is about, and of which domain.
type Whose struct {
	User    uint32
	Anybody bool          // an admin or a viewer: User is not looked at
	Domain  engine.Domain // of the link that the call names, of its tag, or of all links of a list or of figures
	Every   bool          // a list, or figures of several links, are of all domains of the caller; Domain is not looked at
}

// own returns whose the links of the caller are. A call that names one link means the only domain that the caller may
// use, or else the default one.
func (c *Calls) own(caller account.Caller) Whose {
	w := Whose{User: caller.User.ID, Every: true}
	if home := c.Home(caller); home != nil {
		w.Domain = home.Number
	}
	return w
}

// Home returns the domain that the caller means without a name: the only one that the caller may use, or else the
// default one, or nil if that is not among several.
func (c *Calls) Home(caller account.Caller) *domain.Domain {
	if !caller.Domains.Limited() {
		return c.o.Domains.Default()
	}
	switch may := c.DomainsOf(caller); {
	case len(may) == 1 || len(may) > 1 && may[0].Number == engine.DefaultDomain:
		return may[0]
	}
	return nil
}

// key returns the key of the link that a call names.
func (w Whose) key(code string) engine.Key { return engine.Key{Domain: w.Domain, Code: code} }

// owner returns the owner whose link a call names.
func (w Whose) owner() uint32 { return engine.OwnerIn(w.Domain, w.User) }

// guard returns what the engine compares a link with.
func (w Whose) guard() engine.Guard { return engine.Guard{Owner: w.owner(), AnyOwner: w.Anybody} }

// has reports whether a link of an owner may be meant.
func (w Whose) has(owner uint32) bool { return w.Anybody || owner == w.owner() }

// mayUse refuses links of others, unless the caller may read those of all, and links of a domain that the caller may
// not use. Every call checks whose links it is about with it or with mayName, wherever that came from; one that changes
// links with mayChange or mayChangeNamed.
func mayUse(caller account.Caller, w Whose) error {
	switch {
	case (w.Anybody || w.User != caller.User.ID) && !caller.ReadsAll():
		return errOwnerNeedsAdmin
	case !w.Every && !caller.Domains.Has(w.Domain):
		return errForeignDomain
	}
	return nil
}

// mayName is mayUse for a call that names a link or a tag, and so is about one domain.
func (c *Calls) mayName(caller account.Caller, w Whose) error {
	if err := mayUse(caller, w); err != nil || caller.Domains.Has(w.Domain) {
		return err
	}
	if len(c.DomainsOf(caller)) == 0 {
		return engine.ErrNotFound
	}
	return errWhichDomain
}

// mayChange refuses a change of links to a caller who may only read them. Of calls of the API the scope refuses such a
// caller before, and of pages their row.
func mayChange(caller account.Caller) error {
	if caller.User.Role == account.RoleViewer {
		return errViewer
	}
	return nil
}

// mayChangeNamed is mayName for a call that changes a link or a tag.
func (c *Calls) mayChangeNamed(caller account.Caller, w Whose) error {
	if err := mayChange(caller); err != nil {
		return err
	}
	return c.mayName(caller, w)
}

var (
	errForeignDomain = problem.New(problem.Forbidden, "this domain is not one that you may use")
	errNoDomain      = problem.New(problem.Forbidden, "you may use no domain: those to which you are limited were removed")
	errWhichDomain   = jsonbody.FieldError("domain", "required", "must be given, because you may use several domains")
)

// DomainsOf returns the domains that the caller may use and that are there, in the order of Domains.All.
func (c *Calls) DomainsOf(caller account.Caller) []*domain.Domain {
	all := c.o.Domains.All()
	if !caller.Domains.Limited() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(d *domain.Domain) bool { return !caller.Domains.Has(d.Number) })
}

// DomainNamed returns the domain of the server with a host, if the caller may use it, or domain.ErrNoDomain.
func (c *Calls) DomainNamed(caller account.Caller, host string) (*domain.Domain, error) {
	d, err := c.o.Domains.Named(host)
	if err != nil || !caller.Domains.Has(d.Number) {
		return nil, domain.ErrNoDomain
	}
	return d, nil
}

// readDomain reads the parameter domain: a host of this server.
func (c *Calls) readDomain(w *Whose, value []byte) error {
	d, err := c.o.Domains.Named(string(value))
	if err != nil {
		return unknownDomain(string(value))
	}
	w.Domain, w.Every = d.Number, false
	return nil
}

// unknownCode is the code of the error of a host that is not a domain.
const unknownCode = "unknown"

// unknownDomain returns the error of a parameter or a field domain: it names the host, because a bulk or a command may
// have several.
func unknownDomain(host string) error {
	return jsonbody.FieldError("domain", unknownCode, named(host)+"is not a domain of this server")
}

// named returns a host as the beginning of an error, in quotes; what is longer than any host is left out.
func named(host string) string {
	if len(host) > maxWhoseBytes {
		return ""
	}
	return strconv.Quote(host) + " "
}

// HostIn returns the host of a domain, as link objects have it: empty for the default one.
func (c *Calls) HostIn(n engine.Domain) string {
	if n == engine.DefaultDomain {
		return ""
	}
	if d := c.o.Domains.Numbered(n); d != nil {
		return d.Host
	}
	return "" // it was removed a moment ago
}

// Domains returns the domains of the server.
func (c *Calls) Domains() *domain.Domains { return c.o.Domains }

// linkOwners returns the ranges of owners whose links w is about; any: all. Of every domain are those that are in may.
func (c *Calls) linkOwners(may account.Domains, w Whose) (ranges []engine.OwnerRange, any bool, err error) {
	switch {
	case w.Anybody && w.Every && !may.Limited():
		return nil, true, nil
	case w.Anybody && !w.Every:
		return []engine.OwnerRange{engine.AllIn(w.Domain)}, false, nil
	case w.Anybody:
		for _, n := range may.Numbers() {
			ranges = append(ranges, engine.AllIn(n))
		}
		return ranges, false, nil
	case c.oneOwner(may, w):
		return engine.OneOwner(w.owner()), false, nil
	}
	owners, err := c.o.Engine.Owners(engine.AllOwners, w.User)
	for _, owner := range owners {
		if may.Has(engine.DomainOf(owner)) {
			ranges = append(ranges, engine.OneOwner(owner)...)
		}
	}
	return ranges, false, err
}

// oneOwner reports whether w, which is not of everybody, is about one owner: a user in one domain.
func (c *Calls) oneOwner(may account.Domains, w Whose) bool {
	return !w.Every || !c.o.Domains.Several() && !may.Limited()
}

// maxReportedOwners is the largest number of owners, users in a domain, whose figures are added up in one answer.
const maxReportedOwners = 2_000

// figureOwners returns the owners whose figures w is about: those that have or had links. Of every domain are those
// that are in may.
func (c *Calls) figureOwners(may account.Domains, w Whose) (owners []uint32, err error) {
	if !w.Anybody && c.oneOwner(may, w) {
		return []uint32{w.owner()}, nil
	}
	in, user := engine.AllOwners, w.User
	if !w.Every {
		in = engine.AllIn(w.Domain)
	}
	if w.Anybody {
		user = 0
	}
	owners, err = c.o.Engine.TalliedOwners(in.First, in.Last, user)
	owners = slices.DeleteFunc(owners, func(owner uint32) bool { return !may.Has(engine.DomainOf(owner)) })
	if err == nil && len(owners) > maxReportedOwners {
		return nil, jsonbody.FieldError("owner", "too_many", "more than 2,000 users have or had links; ask for one of them, or for one domain")
	}
	return slices.Clip(owners), err
}

// mayPut reports whether a user with those scopes may put links into a folder.
func (c *Calls) mayPut(user uint32, scopes []account.Scope, n uint32) bool {
	f := c.o.Folders.Numbered(n)
	return f != nil && (f.Right(user) == folder.Edit || slices.Contains(scopes, account.Admin))
}

// mover returns a function that reports whether the caller may put a link into a folder. Only its owner and admins move
// it: a member who may edit it would share it with others, and keep it when he is a member no more.
func (c *Calls) mover(caller account.Caller) func(rec *engine.Record, n uint32) bool {
	return func(rec *engine.Record, n uint32) bool {
		mine := engine.UserOf(rec.Hot.Owner) == caller.User.ID || caller.Has(account.Admin)
		return mine && c.mayPut(caller.User.ID, caller.Scopes, n)
	}
}

// isMember reports whether folders count for what the caller asks for: who asks for the links of a user, or of all,
// gets no others.
func (c *Calls) isMember(caller account.Caller, w Whose) bool {
	return c.o.Folders != nil && !w.Anybody && w.User == caller.User.ID
}

// sharedRight returns what the caller may do with a link of somebody else because it is in a folder.
func (c *Calls) sharedRight(caller account.Caller, w Whose, in uint32) folder.Right {
	if in == 0 || !c.isMember(caller, w) {
		return folder.None
	}
	return c.o.Folders.Right(in, caller.User.ID)
}

// guardOfMember is Whose.guard, which admits the links of folders, too, that the caller may edit.
func (c *Calls) guardOfMember(caller account.Caller, w Whose) engine.Guard {
	g := w.guard()
	if c.isMember(caller, w) {
		g.InFolder = func(in uint32) bool { return c.o.Folders.Right(in, caller.User.ID) == folder.Edit }
	}
	return g
}

// MayEdit reports whether the caller may change a link that Read has returned.
func (c *Calls) MayEdit(caller account.Caller, w Whose, l *Link) bool {
	if mayChange(caller) != nil {
		return false
	}
	return w.Anybody || w.User == l.Owner || c.sharedRight(caller, w, l.Folder) == folder.Edit
}

// FolderFor returns a folder whose links the caller may list: of members, and of all for those who may read the links
// of all. For others it is not there.
func (c *Calls) FolderFor(caller account.Caller, n uint32) (*folder.Folder, error) {
	f := c.o.Folders.Numbered(n)
	if f == nil || f.Right(caller.User.ID) == folder.None && !caller.ReadsAll() {
		return nil, folder.ErrNoFolder
	}
	return f, nil
}

// mayList refuses a list of a folder that the caller may not read, or with what its rows cannot be chosen by.
func (c *Calls) mayList(caller account.Caller, q *ListQuery) error {
	return c.mayReadFolder(caller, q.Whose, q.Folder, q.Tag)
}

// mayReadFolder refuses a folder whose links the caller may not list, and what does not go with it.
func (c *Calls) mayReadFolder(caller account.Caller, w Whose, n uint32, tag string) error {
	switch {
	case tag != "":
		return jsonbody.FieldError("tag", codeConflict, "cannot be combined with folder")
	case !w.Anybody && w.User != caller.User.ID:
		return jsonbody.FieldError("owner", codeConflict, "cannot be combined with folder, whose links are those of all")
	}
	_, err := c.FolderFor(caller, n)
	return err
}

// RecheckList is Recheck for a list, which may be of a folder.
func (c *Calls) RecheckList(caller account.Caller, q *ListQuery, scope account.Scope) func() error {
	return func() error {
		now, err := c.recheck(caller, q.Whose, scope)
		if err != nil || q.Folder == 0 {
			return err
		}
		return c.mayList(now, q)
	}
}

// IsFolderEmpty reports whether no link is in a folder. It reads one row, so it may be called while others wait.
func (c *Calls) IsFolderEmpty(n uint32) (bool, error) {
	asked := engine.LinkQuery{Limit: 1}
	asked.AnyOwner, asked.Folder = true, n
	page, err := c.o.Engine.ListLinks(context.Background(), asked)
	return len(page.Links) == 0, err
}

// CountInFolder counts the links in a folder, for those who manage it.
func (c *Calls) CountInFolder(caller account.Caller, n uint32) (uint64, error) {
	asked := engine.LinkQuery{Limit: 1, Total: true}
	asked.AnyOwner, asked.Folder = true, n
	page, err := c.o.Engine.ListLinksInTurns(context.Background(), asked, c.turns(caller))
	return page.Total, err
}

// Folders returns the folders in which the caller has a right, by name; all: every one, for those who may read the
// links of all.
func (c *Calls) Folders(caller account.Caller, all bool) ([]*folder.Folder, error) {
	if all && !caller.ReadsAll() {
		return nil, errOwnerNeedsAdmin
	}
	if all {
		return c.o.Folders.All(), nil
	}
	return c.o.Folders.Of(caller.User.ID), nil
}
