package browser

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// This file uses pages with the keyboard only.

// maxStops bounds how often Tab is pressed on one page.
const maxStops = 400

// keyCodes are the codes of keys that are not letters, and what they write.
var keyCodes = map[string]struct {
	code int64
	text string
}{
	"Tab": {9, ""}, "Enter": {13, "\r"}, "Escape": {27, ""}, " ": {32, " "}, "Delete": {46, ""},
	"End": {35, ""}, "Home": {36, ""}, "ArrowLeft": {37, ""}, "ArrowUp": {38, ""}, "ArrowRight": {39, ""}, "ArrowDown": {40, ""},
}

// key presses a key, or gives an editing command by one.
func (b *tab) key(name string, commands ...string) {
	b.t.Helper()
	b.strokes++
	k := keyCodes[name]
	down := input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Key: name, Code: name, WindowsVirtualKeyCode: k.code, Commands: commands,
	}
	if k.text != "" {
		down.Type, down.Text = input.DispatchKeyEventTypeKeyDown, k.text
	}
	if name == " " {
		down.Code = "Space"
	}
	call(b, input.DispatchKeyEvent, down)
	call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeKeyUp, Key: name, Code: down.Code, WindowsVirtualKeyCode: k.code,
	})
}

// A stop is an element that has the focus.
type stop struct {
	thing
	at   string // its tag, id, class and text, for messages
	seen bool   // inside the window, and not covered by something else
	ring bool   // visibly in focus
}

// onPage reports whether the page has the focus, and not the browser's own bars.
func (s stop) onPage() bool { return s.at != "" }

// focus returns the element that has the focus. It is no stop if that is the page as a whole.
func (b *tab) focus() (s stop) {
	b.t.Helper()
	active := call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: "document.activeElement"}).Result
	if active.ObjectID == "" {
		return s
	}
	look := onObject[struct {
		At         string
		Seen, Ring bool
	}](b, active.ObjectID, focusLook)
	if look.At == "" {
		return s
	}
	s = stop{at: look.At, seen: look.Seen, ring: look.Ring}
	nodes := call(b, accessibility.GetPartialAXTree, accessibility.GetPartialAXTreeParams{ObjectID: active.ObjectID, FetchRelatives: ptr(false)}).Nodes
	if len(nodes) > 0 {
		s.thing = thing{[]string{said(nodes[0].Role)}, strings.TrimSpace(said(nodes[0].Name))}
	}
	return s
}

// focusLook compares how an element looks with and without focus. Its neighbours count too: a
// hidden checkbox may show its focus at its label. A field of date or time has a stop for each part
// and would forget which has the focus; the browser itself marks the part.
const focusLook = `function() {
	if (this === document.body || this === document.documentElement) return {};
	const looks = () => [this, this.parentElement, this.nextElementSibling].filter(Boolean).map(e => {
		const s = getComputedStyle(e);
		const outline = s.outlineStyle === 'none' || parseFloat(s.outlineWidth) === 0 ? '' : s.outlineStyle + s.outlineWidth + s.outlineColor;
		return [outline, s.boxShadow, s.borderColor, s.borderWidth, s.backgroundColor, s.stroke, s.strokeWidth].join();
	}).join(';');
	const r = this.getBoundingClientRect();
	const x = Math.min(Math.max(r.x + r.width / 2, 0), innerWidth - 1), y = Math.min(Math.max(r.y + r.height / 2, 0), innerHeight - 1);
	const top = document.elementFromPoint(x, y);
	const seen = r.width > 0 && r.height > 0 && r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth &&
		this.checkVisibility({opacityProperty: true, visibilityProperty: true}) &&
		(!top || this.contains(top) || top.contains(this) || [...(this.labels || [])].some(l => l.contains(top)));
	let ring = this.matches('input[type=date], input[type=time], input[type=datetime-local]');
	if (!ring) {
		const focused = looks();
		this.blur();
		ring = looks() !== focused;
		this.focus({focusVisible: true, preventScroll: true});
	}
	const at = [this.tagName.toLowerCase(), this.id && '#' + this.id, this.className.baseVal ?? this.className, (this.textContent || '').trim().slice(0, 40)];
	return {At: at.filter(Boolean).join(' '), Seen: seen, Ring: ring};
}`

// untilDrawn waits until the page was drawn. Before, Tab leads into what is folded, if the machine is busy.
func (b *tab) untilDrawn() {
	b.t.Helper()
	if !b.script { // promises wait for ever
		call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &page.Viewport{Width: 1, Height: 1, Scale: 1}})
		return
	}
	const drawn = `new Promise(done => { setTimeout(done, 2000); requestAnimationFrame(() => requestAnimationFrame(done)) })`
	call(b, runtime.Evaluate, runtime.EvaluateParams{Expression: drawn, AwaitPromise: ptr(true)})
}

// is reports whether the stop is e.
func (s stop) is(e thing) bool {
	return s.onPage() && s.name == e.name && slices.Contains(e.roles, s.roles[0])
}

// tabTo presses Tab until e has the focus, and checks each stop on the way.
func (b *tab) tabTo(e thing) {
	b.t.Helper()
	e.name = b.words.Say(e.name)
	if b.focus().is(e) {
		return // the page put it there
	}
	b.untilDrawn()
	var passed []string
	for range maxStops {
		b.key("Tab")
		s := b.focus()
		if !s.onPage() {
			passed = append(passed, "(the end of the page)")
			continue
		}
		b.check(s)
		if s.is(e) {
			return
		}
		if passed = slices.Compact(append(passed, s.String())); strings.Count(strings.Join(passed, " "), "(the end") > 1 {
			break
		}
	}
	b.t.Fatalf("%s: Tab never leads to %v, but to %s", b.watch.address(), e, strings.Join(passed, ", "))
}

// check complains about a stop that a person at the keyboard cannot see or cannot name.
func (b *tab) check(s stop) {
	b.t.Helper()
	for complaint, wrong := range map[string]bool{
		"is not to be seen":            !s.seen,
		"looks as it does without it":  !s.ring,
		"has no name for its listener": s.name == "",
	} {
		if wrong {
			b.t.Errorf("%s: <%s> (%v) has the focus, but %s", b.watch.address(), s.at, s.thing, complaint)
		}
	}
}

// stops presses Tab through the whole page, checks each stop, and returns them.
func (b *tab) stops() (all []stop) {
	b.t.Helper()
	for range maxStops {
		b.key("Tab")
		s := b.focus()
		if !s.onPage() {
			return all
		}
		b.check(s)
		all = append(all, s)
	}
	b.t.Errorf("%s: there are over %d stops of the Tab key", b.watch.address(), maxStops)
	return all
}

func (s stop) String() string { return fmt.Sprintf("%v", s.thing) }
