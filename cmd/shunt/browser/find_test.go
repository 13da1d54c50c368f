package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"

	"shunt/engine/expect"
)

// This file finds elements as people and screen readers do, by role and accessible name, and uses
// them with the mouse, or with the keyboard if the tab has keys. Without script it works the same.

// A thing is an element, by its roles and its name.
type thing struct {
	roles []string
	name  string
}

func (e thing) String() string { return fmt.Sprintf("%s %q", strings.Join(e.roles, "/"), e.name) }

func button(name string) thing {
	return thing{[]string{"button", "DisclosureTriangle", "DisclosureTriangleGrouped"}, name}
}
func link(name string) thing    { return thing{[]string{"link"}, name} }
func heading(name string) thing { return thing{[]string{"heading"}, name} }
func field(name string) thing {
	return thing{[]string{
		"textbox", "searchbox", "combobox", "listbox", "checkbox", "radio", "switch", "spinbutton", "Date", "DateTime", "InputTime",
	}, name}
}

// all returns the elements of the page that are e.
func (b *tab) all(e thing) (found []cdp.BackendNodeID) {
	b.t.Helper()
	e.name = b.words.Say(e.name)
	// Another page may replace the document meanwhile; then there is nothing yet.
	document := quietly(b, runtime.Evaluate, runtime.EvaluateParams{Expression: "document"}).Result
	if document == nil {
		return nil
	}
	for _, n := range quietly(b, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{ObjectID: document.ObjectID}).Nodes {
		if !n.Ignored && slices.Contains(e.roles, said(n.Role)) && strings.TrimSpace(said(n.Name)) == e.name {
			found = append(found, n.BackendDOMNodeID)
		}
	}
	return found
}

// said returns a value of the accessibility tree.
func said(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text) // not all values are text
	}
	return text
}

// find waits until the page has exactly one e, and returns it.
func (b *tab) find(e thing) cdp.BackendNodeID {
	b.t.Helper()
	var found []cdp.BackendNodeID
	b.until(fmt.Sprintf("it has one %v", e), func() bool {
		found = b.all(e)
		return len(found) == 1
	})
	return found[0]
}

// has reports whether the page has an e now.
func (b *tab) has(e thing) bool {
	b.t.Helper()
	return len(b.all(e)) > 0
}

// click clicks e, which loads no page.
func (b *tab) click(e thing) {
	b.t.Helper()
	if b.keys {
		b.tabTo(e)
		b.key(keyOf(e))
		return
	}
	b.clicks++
	node := b.find(e)
	call(b, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: node})
	quads := call(b, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: node}).Quads
	if len(quads) == 0 {
		b.t.Fatalf("%s: %v takes no room on the page", b.watch.address(), e)
	}
	x, y := middle(quads[0])
	b.point(x, y)
	b.press(x, y, 1)
}

// point moves the mouse.
func (b *tab) point(x, y float64) {
	b.t.Helper()
	call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y})
}

// press presses the button of the mouse; it is the nth time in a quick row.
func (b *tab) press(x, y float64, nth int64) {
	b.t.Helper()
	for _, action := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: action, X: x, Y: y, Button: input.MouseButtonLeft, ClickCount: nth})
	}
}

// place returns the middle of the element that a selector finds first, which it scrolls into view.
func (b *tab) place(selector string) (x, y float64) {
	b.t.Helper()
	at := eval[[]float64](b, `(e => {
		e.scrollIntoView({block: 'center'});
		const r = e.getClientRects()[0];
		return [r.x + r.width / 2, r.y + r.height / 2];
	})(document.querySelector(`+jsonOf(selector)+"))")
	return at[0], at[1]
}

// keyOf returns the key that uses an element as a click does.
func keyOf(e thing) string {
	if slices.Contains(e.roles, "checkbox") {
		return " "
	}
	return "Enter"
}

// middle returns the middle of a quadrangle.
func middle(q dom.Quad) (x, y float64) {
	for i := 0; i+1 < len(q); i += 2 {
		x, y = x+q[i]/4, y+q[i+1]/4
	}
	return x, y
}

// follow clicks e, which loads a page that is answered 200.
func (b *tab) follow(e thing) {
	b.t.Helper()
	b.submit(e, http.StatusOK)
}

// submit clicks e, which loads a page, at the end of all redirects, that is answered with status.
func (b *tab) submit(e thing, status int) {
	b.t.Helper()
	b.loading(status, func() { b.click(e) })
}

// fill puts text into a field, in place of what is there. A select takes the text of an option, a
// field of date or time its value as HTML has it.
func (b *tab) fill(e thing, text string) {
	b.t.Helper()
	node := b.find(e)
	if !b.typesInto(node) {
		b.set(node, text)
		return
	}
	if b.keys {
		b.tabTo(e)
	} else if !on[bool](b, node, "function() { return document.activeElement === this }") {
		b.clicks++
		call(b, dom.Focus, dom.FocusParams{BackendNodeID: node})
	}
	b.key("a", "selectAll")
	if text == "" {
		b.key("Delete", "delete")
		return
	}
	b.strokes += utf8.RuneCountInString(text)
	call(b, input.InsertText, input.InsertTextParams{Text: text})
}

// typesInto reports whether a field takes text as it is typed.
func (b *tab) typesInto(node cdp.BackendNodeID) bool {
	b.t.Helper()
	return on[bool](b, node, `function() {
		return this.matches('textarea, input:not([type=date], [type=time], [type=datetime-local], [type=month], [type=week], [type=color], [type=range])')
	}`)
}

// set gives a field its value, and tells the page.
func (b *tab) set(node cdp.BackendNodeID, text string) {
	b.t.Helper()
	text = b.words.Say(text)
	if b.strokes += len(text); !b.keys {
		b.clicks += 2 // it opens, and a value is chosen
	}
	got := on[string](b, node, `function(text) {
		const option = [...(this.options || [])].find(o => o.text.trim() === text);
		this.value = option ? option.value : text;
		this.dispatchEvent(new Event('input', {bubbles: true}));
		this.dispatchEvent(new Event('change', {bubbles: true}));
		return option ? option.text.trim() : this.value;
	}`, text)
	if got != text {
		b.t.Fatalf("%s: a field takes %q as %q", b.watch.address(), text, got)
	}
}

// value returns what a field contains.
func (b *tab) value(e thing) string {
	b.t.Helper()
	return on[string](b, b.find(e), "function() { return this.value }")
}

// on calls a function with node as this, and returns its result.
func on[T any](b *tab, node cdp.BackendNodeID, function string, args ...string) (result T) {
	b.t.Helper()
	object := call(b, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node}).Object.ObjectID
	return onObject[T](b, object, function, args...)
}

func onObject[T any](b *tab, object runtime.RemoteObjectID, function string, args ...string) (result T) {
	b.t.Helper()
	var arguments []*runtime.CallArgument
	for _, a := range args {
		value, _ := json.Marshal(a)
		arguments = append(arguments, &runtime.CallArgument{Value: value})
	}
	r := call(b, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: function, ObjectID: object, Arguments: arguments, ReturnByValue: ptr(true),
	})
	if r.ExceptionDetails != nil {
		b.t.Fatalf("calling %.200s: %s %+v", function, r.ExceptionDetails.Text, r.ExceptionDetails.Exception)
	}
	if len(r.Result.Value) > 0 {
		expect.OK(b.t, json.Unmarshal(r.Result.Value, &result), "calling %.200s", function)
	}
	return result
}
