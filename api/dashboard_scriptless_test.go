package api

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"shunt/api/account"
)

// A scriptless is a browser without script that is signed in.
type scriptless struct {
	*site
	t      *testing.T
	cookie string
}

// scriptlessOf signs a new user in.
func scriptlessOf(t *testing.T, st *site, email string, role account.Role) *scriptless {
	t.Helper()
	st.person(email, role)
	return &scriptless{st, t, st.logIn(email)}
}

// A shownPage is a page as the browser has it.
type shownPage struct {
	reply
	root *html.Node
}

func (b *scriptless) read(r reply) shownPage {
	b.t.Helper()
	root, err := html.Parse(strings.NewReader(r.body))
	if err != nil {
		b.t.Fatal(err)
	}
	p := shownPage{r, root}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.Data == "script" && n.FirstChild != nil || n.Data == "style" || n.Data == "img" || attrOf(n, "style") != "") {
			b.t.Errorf("<%s> must not be in a page:\n%s", n.Data, r.body)
		}
	}
	return p
}

// open asks for a page, and follows redirects.
func (b *scriptless) open(path string) shownPage {
	b.t.Helper()
	for range 3 {
		r := b.get(path, b.cookie, ownPage)
		if r.status != 303 {
			return b.read(r)
		}
		path = r.header.Get("Location")
	}
	b.t.Fatal("redirects have no end")
	return shownPage{}
}

// wantOpen is open for a page that must be there.
func (b *scriptless) wantOpen(path string) shownPage {
	b.t.Helper()
	p := b.open(path)
	if p.status != 200 {
		b.t.Fatalf("%s: got %d %s", path, p.status, p.body)
	}
	return p
}

// post sends a form, and returns the answer.
func (b *scriptless) postForm(path, contentType, body string) reply {
	b.t.Helper()
	return send(b.t, b.publicAt, "POST", requestText("POST", path, body, b.cookie, ownPage, "Content-Type: "+contentType))
}

// submit sends the form of a page with that action, with some values changed ("": left out), and
// follows the redirect.
func (b *scriptless) submit(p shownPage, action string, changes ...string) shownPage {
	b.t.Helper()
	r := b.postForm(action, "application/x-www-form-urlencoded", p.form(b.t, action, changes...).Encode())
	if r.status == 303 {
		return b.open(r.header.Get("Location"))
	}
	return b.read(r)
}

// form returns what a browser sends for the form with that action. Changes are names and values in
// turn; the name of a box to tick ends in "+", and that of one to untick in "-".
func (p shownPage) form(t *testing.T, action string, changes ...string) url.Values {
	t.Helper()
	values := url.Values{}
	found := false
	for n := range p.root.Descendants() {
		if n.Data == "form" && attrOf(n, "action") == action {
			found = true
			for field := range n.Descendants() {
				addField(values, field)
			}
		}
	}
	if !found {
		t.Fatalf("no form is sent to %s:\n%s", action, p.body)
	}
	for i := 0; i < len(changes); i += 2 {
		name, value := changes[i], changes[i+1]
		switch name[len(name)-1] {
		case '+':
			values.Add(name[:len(name)-1], value)
		case '-':
			values.Del(name[:len(name)-1])
		default:
			values.Set(name, value)
		}
	}
	return values
}

func addField(values url.Values, n *html.Node) {
	name := attrOf(n, "name")
	switch kind := attrOf(n, "type"); {
	case n.Type != html.ElementNode || name == "" || kind == "file":
	case n.Data == "input" && (kind == "checkbox" || kind == "radio"):
		if hasAttr(n, "checked") {
			values.Add(name, attrOf(n, "value"))
		}
	case n.Data == "input":
		values.Add(name, attrOf(n, "value"))
	case n.Data == "textarea":
		values.Add(name, wordsOf(n))
	case n.Data == "select":
		chosen := ""
		for o := range n.Descendants() {
			if o.Data == "option" && (chosen == "" || hasAttr(o, "selected")) {
				chosen = attrOf(o, "value")
			}
		}
		values.Add(name, chosen)
	}
}

func attrOf(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// wordsOf returns the text of a node, with single spaces.
func wordsOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// text returns what a person reads.
func (p shownPage) text() string { return wordsOf(p.root) }

// of returns the text of the element with an id, "" if there is none.
func (p shownPage) of(id string) string {
	for n := range p.root.Descendants() {
		if attrOf(n, "id") == id {
			return wordsOf(n)
		}
	}
	return ""
}

// wantText checks that a page has these texts.
func (b *scriptless) wantText(p shownPage, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.text(), text) {
			b.t.Errorf("the page does not say %q:\n%s", text, p.text())
		}
	}
}
