package api

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"
	"golang.org/x/net/html"
)

// A plainBrowser asks for pages and sends their forms, as one without script does.
type plainBrowser struct {
	st     *site
	cookie string
	at     *fasthttputil.InmemoryListener
}

// browse returns a browser in which a user has signed in.
func (st *site) browse(email string) *plainBrowser {
	st.t.Helper()
	return &plainBrowser{st, st.logIn(email), st.publicAt}
}

// A shown is a page that a browser shows.
type shown struct {
	reply
	t    testing.TB
	path string
	doc  *html.Node
}

func (b *plainBrowser) ask(method, path, body string) *shown {
	b.st.t.Helper()
	lines := []string{b.cookie, ownPage}
	if method == "POST" {
		lines = append(lines, "Content-Type: application/x-www-form-urlencoded")
	}
	r := send(b.st.t, b.at, method, requestText(method, path, body, lines...))
	if r.status >= 500 && r.status != 503 {
		b.st.t.Errorf("%s %s: got %d %s", method, path, r.status, r.body)
	}
	doc, err := html.Parse(strings.NewReader(r.body))
	if err != nil {
		b.st.t.Fatal(err)
	}
	return &shown{r, b.st.t, path, doc}
}

func (b *plainBrowser) get(path string) *shown {
	b.st.t.Helper()
	return b.ask("GET", path, "")
}

// open gets a page that must be there.
func (b *plainBrowser) open(path string) *shown {
	b.st.t.Helper()
	p := b.get(path)
	if p.status != 200 {
		b.st.t.Fatalf("GET %s: got %d %s", path, p.status, p.text())
	}
	return p
}

// submit sends a form.
func (b *plainBrowser) submit(f *htmlForm) *shown {
	b.st.t.Helper()
	return b.ask("POST", f.action, f.values.Encode())
}

// follow sends a form that must be answered with a redirect, and gets that page.
func (b *plainBrowser) follow(f *htmlForm) *shown {
	b.st.t.Helper()
	p := b.submit(f)
	if p.status != 303 {
		b.st.t.Fatalf("POST %s: got %d %s, want 303", f.action, p.status, p.text())
	}
	return b.open(p.header.Get("Location"))
}

// An htmlForm is a form of a page, with the values that its fields have.
type htmlForm struct {
	action string
	values url.Values
}

// with returns the form with other values. An empty value is one that was deleted.
func (f *htmlForm) with(pairs ...string) *htmlForm {
	filled := &htmlForm{f.action, make(url.Values)}
	for name, values := range f.values {
		filled.values[name] = slices.Clone(values)
	}
	for i := 0; i < len(pairs); i += 2 {
		filled.values.Set(pairs[i], pairs[i+1])
	}
	return filled
}

// form returns the form that is sent to action.
func (p *shown) form(action string) *htmlForm {
	p.t.Helper()
	for n := range p.doc.Descendants() {
		if n.Data == "form" && n.Type == html.ElementNode && attribute(n, "action") == action {
			f := &htmlForm{action, make(url.Values)}
			for field := range n.Descendants() {
				f.add(field)
			}
			return f
		}
	}
	p.t.Fatalf("%s: no form is sent to %s:\n%s", p.path, action, p.body)
	return nil
}

// add adds the value of a field.
func (f *htmlForm) add(field *html.Node) {
	name := attribute(field, "name")
	switch {
	case field.Type != html.ElementNode || name == "":
	case field.Data == "textarea":
		f.values.Set(name, strings.ReplaceAll(textOf(field), "\n", "\r\n"))
	case field.Data == "select":
		for option := range field.Descendants() {
			if option.Data == "option" && (has(option, "selected") || !f.values.Has(name)) {
				f.values.Set(name, attribute(option, "value"))
			}
		}
	case field.Data != "input" || attribute(field, "type") == "checkbox" && !has(field, "checked"):
	default:
		f.values.Set(name, attribute(field, "value"))
	}
}

// element returns the element with that id; nil if there is none.
func (p *shown) element(id string) *html.Node {
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && attribute(n, "id") == id {
			return n
		}
	}
	return nil
}

// at returns the text of the element with that id.
func (p *shown) at(id string) string {
	if n := p.element(id); n != nil {
		return strings.TrimSpace(textOf(n))
	}
	return ""
}

// all returns the elements of that name and class.
func (p *shown) all(name, class string) (found []*html.Node) {
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == name && slices.Contains(strings.Fields(attribute(n, "class")), class) {
			found = append(found, n)
		}
	}
	return found
}

// link returns the address of the link with that text; "": there is none.
func (p *shown) link(text string) string {
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "a" && strings.TrimSpace(textOf(n)) == text {
			return attribute(n, "href")
		}
	}
	return ""
}

// text returns the words of the page's main part.
func (p *shown) text() string {
	if main := p.element("main"); main != nil {
		return strings.Join(strings.Fields(textOf(main)), " ")
	}
	return p.body
}

// want checks that the page says all of texts.
func (p *shown) want(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.text(), text) {
			p.t.Errorf("%s (%d) does not say %q: %s", p.path, p.status, text, p.text())
		}
	}
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
