package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// reportBinding is the function by which watchScript reports.
const reportBinding = "__shuntWatch"

// watchScript runs before all scripts of a page. It reports violations of a policy, and each
// assignment to __pwned and each call of __pwn, which hostile strings contain.
const watchScript = `(() => {
	const report = globalThis.` + reportBinding + `;
	addEventListener('securitypolicyviolation', e => report('securitypolicyviolation: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample), true);
	addEventListener('unhandledrejection', e => report('unhandled rejection: ' + e.reason));
	Object.defineProperty(globalThis, '__pwned', {get() { return undefined }, set() { report('a hostile string ran: __pwned was set') }});
	Object.defineProperty(globalThis, '__pwn', {value() { report('a hostile string ran: __pwn was called') }});
})()`

// A watcher sees all events of a tab, and keeps what no page may do. Its methods may be called at
// any time.
type watcher struct {
	busy bool // the server may refuse a stream: the test waits until the page has asked again

	host    string // that pages may talk to, with the port
	other   string // another one, in tests of two sites; usually empty
	dismiss func() // closes a dialog
	accept  func() // agrees to what a dialog asks

	mu struct {
		sync.Mutex
		leaves    bool // the tab goes elsewhere by its address, so a page with a changed form may ask
		said      []complaint
		documents map[network.RequestID]bool // requests for pages that were answered below 500
		document  document
		parts     map[network.RequestID]*part // of the present document
		commits   int                         // pages that have taken the place of the one before
		loads     int                         // of these, those up to the last one that has loaded
	}
}

// A complaint is something that a page must not do.
type complaint struct {
	text    string
	request network.RequestID // of a message about an answer, otherwise empty
}

// A document is the page that a tab shows.
type document struct {
	url    string
	status int64
}

// A part is one answer that a page is made of.
type part struct {
	url, kind, encoding string
	kept                bool    // the browser has it at the next visit
	sent                float64 // bytes on the wire, with the head
	loaded              float64 // bytes of the body after decompression
}

func newWatcher(base string) *watcher {
	w := &watcher{}
	if u, err := url.Parse(base); err == nil {
		w.host = u.Host
	}
	w.mu.documents = make(map[network.RequestID]bool)
	w.mu.parts = make(map[network.RequestID]*part)
	return w
}

// see takes in an event of the browser. It must return soon, and call nothing of the browser.
func (w *watcher) see(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noteLocked(event)
	d, dialog := event.(*page.EventJavascriptDialogOpening)
	if dialog && w.mu.leaves && d.Type == page.DialogTypeBeforeunload {
		go w.accept()
		return
	}
	if c := w.judge(event); c.text != "" && !(w.mu.leaves && strings.Contains(c.text, "Blocked attempt to show a 'beforeunload'")) {
		w.mu.said = append(w.mu.said, c)
	}
	if dialog {
		go w.dismiss()
	}
}

// leaving says that the tab goes elsewhere by its address during do.
func (w *watcher) leaving(do func()) {
	set := func(leaves bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.mu.leaves = leaves
	}
	set(true)
	defer set(false)
	do()
}

// judge returns what is wrong with an event, if anything.
func (w *watcher) judge(event any) complaint {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		return complaint{text: fmt.Sprintf("console.%s: %s", e.Type, texts(e.Args))}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		return complaint{text: "exception: " + text}
	case *runtime.EventBindingCalled:
		return complaint{text: e.Payload}
	case *log.EventEntryAdded:
		return complaint{fmt.Sprintf("console, %s %s: %s (%s)", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL), e.Entry.NetworkRequestID}
	case *audits.EventIssueAdded:
		if w.other != "" && e.Issue.Code == audits.InspectorIssueCodeCookieIssue {
			return complaint{} // the cookie of a session does not come from another site
		}
		details, _ := json.Marshal(e.Issue.Details)
		return complaint{text: fmt.Sprintf("issue %s: %s", e.Issue.Code, details)}
	case *page.EventJavascriptDialogOpening:
		return complaint{text: fmt.Sprintf("dialog, %s: %s", e.Type, e.Message)}
	case *page.EventWindowOpen:
		return complaint{text: "window opened: " + e.URL}
	case *network.EventRequestWillBeSent:
		return complaint{text: w.strayed(e.Request.URL)}
	case *network.EventWebSocketCreated:
		return complaint{text: w.strayed(e.URL)}
	case *network.EventWebTransportCreated:
		return complaint{text: w.strayed(e.URL)}
	case *network.EventResponseReceived:
		if e.Response.Status >= 500 {
			return complaint{text: fmt.Sprintf("answer %d: %s", e.Response.Status, e.Response.URL)}
		}
	}
	return complaint{}
}

// strayed returns a complaint about a request that leaves the server.
func (w *watcher) strayed(address string) string {
	u, err := url.Parse(address)
	if err == nil && (u.Host == w.host || w.other != "" && u.Host == w.other || slices.Contains([]string{"data", "blob", "about"}, u.Scheme)) {
		return ""
	}
	return "request to another host: " + address
}

// noteLocked keeps what the page is made of.
func (w *watcher) noteLocked(event any) {
	switch e := event.(type) {
	case *page.EventLoadEventFired:
		w.mu.loads = w.mu.commits
	case *page.EventFrameNavigated:
		if e.Frame.ParentID != "" {
			return
		}
		w.mu.commits++
		if e.Type == page.NavigationTypeBackForwardCacheRestore { // loads nothing
			w.mu.loads = w.mu.commits
			w.mu.document = document{e.Frame.URL, http.StatusOK}
		}
	case *network.EventResponseReceived:
		if e.Type == network.ResourceTypeDocument {
			w.mu.documents[e.RequestID] = e.Response.Status < 500
			w.mu.document = document{e.Response.URL, e.Response.Status}
			clear(w.mu.parts)
		}
		p := &part{url: e.Response.URL, kind: string(e.Type)}
		for name, value := range e.Response.Headers {
			switch text, _ := value.(string); strings.ToLower(name) {
			case "content-encoding":
				p.encoding = text
			case "cache-control":
				p.kept = strings.Contains(text, "max-age=") && !strings.Contains(text, "max-age=0")
			}
		}
		w.mu.parts[e.RequestID] = p
	case *network.EventDataReceived:
		if p := w.mu.parts[e.RequestID]; p != nil {
			p.loaded += float64(e.DataLength)
		}
	case *network.EventLoadingFinished:
		if p := w.mu.parts[e.RequestID]; p != nil {
			p.sent = e.EncodedDataLength
		}
	}
}

// complaints returns what the pages of the tab did wrong. The browser's own message about a page
// that is answered 4xx is not among it: tests compare the status of each page themselves.
func (w *watcher) complaints() (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.mu.said {
		if w.busy && strings.Contains(c.text, "503") && strings.Contains(c.text, "/live") {
			continue
		}
		if c.request == "" || !w.mu.documents[c.request] {
			all = append(all, c.text)
		}
	}
	return all
}

// pages returns how many pages the tab has had. The last one may not have loaded yet.
func (w *watcher) pages() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.commits
}

// hasLoaded reports whether the present page has loaded, and is not among the first n pages.
func (w *watcher) hasLoaded(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.commits > n && w.mu.loads == w.mu.commits
}

// address returns the address of the present page.
func (w *watcher) address() string { return w.present().url }

func (w *watcher) present() document {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.document
}

// parts returns the answers that the present page is made of.
func (w *watcher) parts() (all []part) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.mu.parts {
		all = append(all, *p)
	}
	return all
}

// texts returns the values of a console message.
func texts(args []*runtime.RemoteObject) string {
	var all []string
	for _, a := range args {
		if len(a.Value) > 0 {
			all = append(all, string(a.Value))
		} else {
			all = append(all, a.Description)
		}
	}
	return strings.Join(all, " ")
}
