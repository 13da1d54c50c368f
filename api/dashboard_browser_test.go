package api

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shunt/api/account"
	"shunt/engine/expect"
)

// formType is the media type of a form.
const formType = "application/x-www-form-urlencoded"

// A plainBrowser asks for pages and sends their forms, as one without script does. It checks of each
// page that it has nothing inline, and of each answer that it has the header fields of pages.
type plainBrowser struct {
	st     *site
	cookie string   // the line of the session; "": nobody is signed in
	lines  []string // sent with each request
	at     dialer

	remembered map[string]string // other cookies; nil: none yet
}

// visitor returns a browser in which nobody is signed in.
func (st *site) visitor() *plainBrowser {
	return &plainBrowser{st, "", []string{ownPage}, st.publicAt, nil}
}

// browse returns a browser in which a user has signed in.
func (st *site) browse(email string) *plainBrowser {
	st.t.Helper()
	b := st.visitor()
	b.cookie = st.logIn(email)
	return b
}

// browseAs returns a browser in which a new user has signed in.
func (st *site) browseAs(email string, role account.Role) *plainBrowser {
	st.t.Helper()
	st.person(email, role)
	return st.browse(email)
}

// A shown is a page that a browser shows.
type shown struct {
	reply
	t    testing.TB
	path string
	doc  *html.Node
}

// ask sends a request, and keeps the cookie of the answer.
func (b *plainBrowser) ask(method, path, contentType, body string) *shown {
	b.st.t.Helper()
	lines := slices.Clone(b.lines)
	cookies := make([]string, 0, 1+len(b.remembered))
	if b.cookie != "" {
		cookies = append(cookies, strings.TrimPrefix(b.cookie, "Cookie: "))
	}
	for name, value := range b.remembered {
		cookies = append(cookies, name+"="+value)
	}
	if len(cookies) > 0 {
		lines = append(lines, "Cookie: "+strings.Join(cookies, "; "))
	}
	if contentType != "" {
		lines = append(lines, "Content-Type: "+contentType)
	}
	r := send(b.st.t, b.at, method, requestText(method, path, body, lines...))
	expect.That(b.st.t, r.status < 500 || r.status == 503, "%s %s: got %d %s", method, path, r.status, r.body)
	b.keepCookie(r)
	doc, err := html.Parse(strings.NewReader(r.body))
	expect.OK(b.st.t, err)
	p := &shown{r, b.st.t, path, doc}
	p.wantGuarded()
	return p
}

func (b *plainBrowser) keepCookie(r reply) {
	if b.remembered == nil {
		b.remembered = make(map[string]string)
	}
	for _, cookie := range r.header.Values("Set-Cookie") {
		line, _, _ := strings.Cut(cookie, ";")
		name, value, _ := strings.Cut(line, "=")
		switch session := strings.HasSuffix(name, "shunt_session"); {
		case !session && value == "":
			delete(b.remembered, name)
		case !session:
			expect.That(b.st.t, strings.Contains(cookie, "; Path=/_; HttpOnly; SameSite=Strict"), "redirects would get %s", cookie)
			b.remembered[name] = value
		case value == "":
			b.cookie = ""
		default:
			b.cookie = "Cookie: " + line
			b.st.secret(value)
		}
	}
}

// wantGuarded checks what every answer of a page must have.
func (p *shown) wantGuarded() {
	p.t.Helper()
	if !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
		return
	}
	images := "'self'"
	for n := range p.doc.Descendants() {
		if isFetchedIcon(n) { // the only answer that may have an image in it
			images = "'self' data:"
		}
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src " + images + "; connect-src 'self'; " +
			"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		expect.Equal(p.t, p.header.Get(name), want, "%s (%d): got %s", p.path, p.status, name)
	}
	for n := range p.doc.Descendants() {
		if n.Type == html.ElementNode {
			p.wantNothingInline(n)
		}
	}
}

// isFetchedIcon reports whether an element is the icon of a target that was fetched.
func isFetchedIcon(n *html.Node) bool {
	return n.Type == html.ElementNode && n.Data == "img" && attribute(n, "class") == "icon" && strings.HasPrefix(attribute(n, "src"), "data:image/png;base64,")
}

// wantNothingInline checks that an element has no script, style or handler, and loads and sends
// only to this server.
func (p *shown) wantNothingInline(n *html.Node) {
	p.t.Helper()
	bad := n.Data == "style" || n.Data == "script" && n.FirstChild != nil || slices.Contains([]string{"iframe", "object", "embed", "base"}, n.Data)
	for _, a := range n.Attr {
		own := strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//")
		switch {
		case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
			bad = true
		case a.Key == "src" && isFetchedIcon(n):
		case a.Key == "src" || a.Key == "action" || a.Key == "formaction" || a.Key == "href" && n.Data == "link":
			bad = bad || !own
		case a.Key == "href" && (strings.HasPrefix(a.Val, "data:") && has(n, "download") || strings.HasPrefix(a.Val, "javascript:") && attribute(n, "id") == "bookmarklet"):
			// A file that is saved, and a bookmark that is dragged away: the policy lets neither run here.
		case a.Key == "href" && !own:
			bad = bad || !strings.HasPrefix(a.Val, "#") && !strings.HasPrefix(a.Val, "?") && !strings.HasPrefix(a.Val, "http://") && !strings.HasPrefix(a.Val, "https://")
		}
	}
	expect.That(p.t, !bad, "%s (%d) has <%s %v>", p.path, p.status, n.Data, n.Attr)
}

// get asks for a page, which need not be there.
func (b *plainBrowser) get(path string) *shown {
	b.st.t.Helper()
	return b.ask("GET", path, "", "")
}

// open gets a page that must be there.
func (b *plainBrowser) open(path string) *shown {
	b.st.t.Helper()
	p := b.get(path)
	expect.MustEqual(b.st.t, p.status, 200, "GET %s %s", path, p.text())
	return p
}

// post sends a body to path.
func (b *plainBrowser) post(path, contentType, body string) *shown {
	b.st.t.Helper()
	return b.ask("POST", path, contentType, body)
}

// submit sends a form.
func (b *plainBrowser) submit(f *htmlForm) *shown {
	b.st.t.Helper()
	return b.post(f.action, formType, f.values.Encode())
}

// fill sends the form of a page that is sent to action, with other values (see with), and follows
// the redirect if there is one.
func (b *plainBrowser) fill(p *shown, action string, pairs ...string) *shown {
	b.st.t.Helper()
	answer := b.submit(p.form(action).with(pairs...))
	if answer.status == 303 {
		return b.get(answer.header.Get("Location"))
	}
	return answer
}

// follow sends a form that must be answered with a redirect, and gets that page.
func (b *plainBrowser) follow(f *htmlForm) *shown {
	b.st.t.Helper()
	p := b.submit(f)
	expect.MustEqual(b.st.t, p.status, 303, "POST %s %s", f.action, p.text())
	return b.open(p.header.Get("Location"))
}

// An htmlForm is a form of a page, with the values that its fields have.
type htmlForm struct {
	action string
	values url.Values
}

// with returns the form with other values. An empty value is one that was deleted; a name that ends
// in "-" is of a box that is not ticked any more.
func (f *htmlForm) with(pairs ...string) *htmlForm {
	filled := &htmlForm{f.action, make(url.Values)}
	for name, values := range f.values {
		filled.values[name] = slices.Clone(values)
	}
	for i := 0; i < len(pairs); i += 2 {
		if name, unticked := strings.CutSuffix(pairs[i], "-"); unticked {
			filled.values.Del(name)
		} else {
			filled.values.Set(name, pairs[i+1])
		}
	}
	return filled
}

// form returns the first form that is sent to action.
func (p *shown) form(action string) *htmlForm {
	p.t.Helper()
	all := p.forms(action)
	if len(all) == 0 {
		p.t.Fatalf("%s: no form is sent to %s:\n%s", p.path, action, p.body)
	}
	return all[0]
}

// forms returns all forms that are sent to action.
func (p *shown) forms(action string) (all []*htmlForm) {
	for n := range p.doc.Descendants() {
		if n.Data == "form" && n.Type == html.ElementNode && attribute(n, "action") == action {
			f := &htmlForm{action, make(url.Values)}
			f.addAll(n)
			all = append(all, f)
		}
	}
	return all
}

// addAll adds the values of the fields below n.
func (f *htmlForm) addAll(n *html.Node) {
	for field := range n.Descendants() {
		f.add(field)
	}
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
	case field.Data != "input" || attribute(field, "type") == "file":
	case (attribute(field, "type") == "checkbox" || attribute(field, "type") == "radio") && !has(field, "checked"):
	default:
		f.values.Add(name, attribute(field, "value"))
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
		return wordsOf(n)
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
		return wordsOf(main)
	}
	return p.body
}

// want checks that the page says all of texts.
func (p *shown) want(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		expect.That(p.t, strings.Contains(p.text(), text), "%s (%d) does not say %q: %s", p.path, p.status, text, p.text())
	}
}

// textOf returns the text of a node as it is.
func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// wordsOf returns what a person reads: the text of a node with single spaces, also between elements
// that stand apart on the page.
func wordsOf(n *html.Node) string {
	var b strings.Builder
	writeWords(&b, n)
	return strings.Join(strings.Fields(b.String()), " ")
}

var inline = []string{"a", "b", "code", "em", "i", "small", "strong", "time", "wbr"}

func writeWords(b *strings.Builder, n *html.Node) {
	for c := range n.ChildNodes() {
		switch {
		case c.Type == html.TextNode:
			b.WriteString(c.Data)
		case slices.Contains(inline, c.Data):
			writeWords(b, c)
		default:
			b.WriteByte(' ')
			writeWords(b, c)
			b.WriteByte(' ')
		}
	}
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
