package domains

import (
	"errors"
	"net/url"

	"github.com/valyala/fasthttp"

	"shunt/api/dashboard/visit"
	"shunt/api/domain"
	"shunt/api/domains"
)

// path is the page with all domains.
const path = visit.Root + "domains"

// listView is what the page with all domains shows.
type listView struct {
	Domains []listed
	Total   uint64
	Pager   visit.CutPager
	Form    *form
}

// A listed is a domain in the table.
type listed struct {
	domains.Object
	Path string // of its page
}

// pathOf returns the path of the page of a domain.
func pathOf(host string) string { return path + "/" + url.PathEscape(host) }

// List is GET /_/domains.
func List(r *visit.Request) error { return showList(r, fasthttp.StatusOK, newForm(r, path, nil)) }

func showList(r *visit.Request, status int, f *form) error {
	all := r.Calls.Domains().All()
	view := listView{Form: f, Total: uint64(len(all))}
	all, view.Pager = visit.Cut(r, all)
	for _, d := range all {
		view.Domains = append(view.Domains, listed{r.Domains.Shown(d), pathOf(d.Host)})
	}
	return r.Show(status, "domains", "Domains", view)
}

// Add is POST /_/domains.
func Add(r *visit.Request) error {
	f := newForm(r, path, nil)
	err := r.SeeOnce(func() (string, error) {
		body, err := f.body(false)
		if err != nil {
			return "", err
		}
		o, err := r.Domains.AddDomain(r.Caller, body)
		if err != nil {
			return "", err
		}
		r.Say("done", "The domain "+o.Host+" is added. Its links redirect once its DNS leads to this server.")
		return pathOf(o.Host), nil
	})
	if err == nil {
		return nil
	}
	status, ok := f.refuse(err)
	if !ok {
		return err
	}
	return showList(r, status, f)
}

// oneView is what the page of a domain shows.
type oneView struct {
	domains.Object
	Form                 *form
	Checked              []domains.HostCheck // how the hosts answered just now
	Links, Delete, Check string              // addresses
}

// asked returns the domain of the {host} of the path, or that the page is missing.
func asked(r *visit.Request) (o domains.Object, err error) {
	host, err := url.PathUnescape(r.Segment("host"))
	if err != nil {
		return o, r.Missing()
	}
	d, err := r.Calls.Domains().Named(host)
	if err != nil {
		return o, r.Missing()
	}
	return r.Domains.Shown(d), nil
}

// One is GET /_/domains/{host}.
func One(r *visit.Request) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	return showOne(r, fasthttp.StatusOK, &o, newForm(r, pathOf(o.Host), &o), nil)
}

// Check is POST /_/domains/{host}/check: the page shows how the hosts answered.
func Check(r *visit.Request) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	d, err := r.Calls.Domains().Named(o.Host)
	if err != nil {
		return r.Missing()
	}
	found, err := r.Domains.CheckDomain(r.Caller, d)
	if err != nil {
		return err
	}
	o = r.Domains.Shown(d)
	return showOne(r, fasthttp.StatusOK, &o, newForm(r, pathOf(o.Host), &o), found.Data)
}

func showOne(r *visit.Request, status int, o *domains.Object, f *form, checked []domains.HostCheck) error {
	all := visit.Whose{Owner: "all", Domain: o.Host}
	view := oneView{Object: *o, Form: f, Links: all.Address(visit.Root + "links"), Delete: pathOf(o.Host) + "/delete", Check: pathOf(o.Host) + "/check", Checked: checked}
	return r.Show(status, "domain", visit.Name(o.Host), view)
}

// Save is POST /_/domains/{host}.
func Save(r *visit.Request) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	f := newForm(r, pathOf(o.Host), &o)
	body, err := f.body(true)
	var after domains.Object
	if err == nil {
		after, err = r.Domains.EditDomain(r.Caller, o.Host, body)
	}
	if err == nil {
		r.Say("done", "The domain is saved.")
		return r.SeeOther(pathOf(after.Host))
	}
	status, ok := f.refuse(err)
	if !ok || errors.Is(err, domain.ErrNoDomain) {
		return err
	}
	return showOne(r, status, &o, f, nil)
}

// removeView is what the page shows that asks before a domain is removed.
type removeView struct {
	domains.Object
	Page, Action, Links string
	Error               string
}

// AskToRemove is GET /_/domains/{host}/delete. The default domain has no such page.
func AskToRemove(r *visit.Request) error {
	o, err := asked(r)
	if err != nil {
		return err
	}
	return showRemove(r, fasthttp.StatusOK, &o, "")
}

func showRemove(r *visit.Request, status int, o *domains.Object, wrong string) error {
	if o.Default {
		return r.Missing()
	}
	all := visit.Whose{Owner: "all", Domain: o.Host}
	page := pathOf(o.Host)
	view := removeView{Object: *o, Page: page, Action: page + "/delete", Links: all.Address(visit.Root + "links"), Error: wrong}
	return r.Show(status, "domain-delete", "Remove "+o.Host, view)
}

// Remove is POST /_/domains/{host}/delete.
func Remove(r *visit.Request) error {
	var o domains.Object
	err := r.SeeOnce(func() (page string, err error) {
		if o, err = asked(r); err != nil || o.Default {
			return "", errors.Join(err, r.Missing())
		}
		if err := r.Domains.RemoveDomain(r.Caller, o.Host); err != nil {
			return "", err
		}
		r.Say("done", "The domain "+o.Host+" is removed.")
		return path, nil
	})
	_, general, ok := visit.FieldErrors(err)
	if err == nil || !ok || visit.StatusOf(err) == fasthttp.StatusNotFound {
		return err
	}
	return showRemove(r, visit.StatusOf(err), &o, visit.Sentence(general))
}
