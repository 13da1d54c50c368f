package browser

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"shunt/api/words"
	"shunt/engine/expect"
)

// patience is how long a page may take to show what a test waits for.
const patience = 20 * time.Second

// The programs of the browser. The shell has no windows, so a tab costs it a third; but it hides no tab, keeps no page
// for the way back, and reports fewer faults of forms.
const (
	wholeBrowser = "chromium"
	shellBrowser = "chromium-headless-shell"
)

// usualBrowser returns the program of tests that need no certain one: the shell in the short form.
func usualBrowser() string {
	if short() {
		return shellBrowser
	}
	return wholeBrowser
}

// browsers are those of all tests, by the name of their program, once they are needed.
var browsers struct {
	sync.Mutex
	running map[string]started
}

type started struct {
	ctx    context.Context
	cancel func()
}

// startBrowser starts a program at its first call, and returns its context.
func startBrowser(t *testing.T, program string) context.Context {
	t.Helper()
	browsers.Lock()
	defer browsers.Unlock()
	if b, runs := browsers.running[program]; runs {
		return b.ctx
	}
	path, err := exec.LookPath(program)
	expect.MustThat(t, err == nil, "%v; make browser installs it", err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], // as root, chromedp adds no-sandbox
		chromedp.ExecPath(path),
		chromedp.UserDataDir(filepath.Join(work, program)),
		chromedp.Flag("host-resolver-rules", "MAP "+intranetHost+" 127.0.0.1"),
		chromedp.Flag("ignore-certificate-errors-spki-list", certificate(t).spki),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Env("TZ=UTC", "LANG=C.UTF-8", "TMPDIR="+work),
	)
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		t.Fatalf("%s: %v", program, err)
	}
	if browsers.running == nil {
		browsers.running = make(map[string]started)
	}
	browsers.running[program] = started{ctx, cancel}
	return ctx
}

func closeBrowsers() {
	for _, b := range browsers.running {
		ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
		_ = chromedp.Cancel(ctx) // it is killed otherwise
		cancel()
		b.cancel()
	}
}

// A tab shows pages of one server to one person. It fails its test if a page does what the watcher
// forbids.
type tab struct {
	t      testing.TB
	ctx    context.Context
	base   string
	script bool           // pages may run scripts
	keys   bool           // only the keyboard is used
	words  *words.Catalog // of the language of the pages, into which the names of things are translated; nil: English
	watch  *watcher

	clicks, strokes int // of the mouse and the keys so far: see tasks_test.go
}

// openTab opens a tab without cookies, 1280 px wide, in light colours.
func openTab(t *testing.T, base string) *tab { return openTabOf(t, usualBrowser(), base) }

// openWholeTab does what openTab does, in the browser that has windows.
func openWholeTab(t *testing.T, base string) *tab { return openTabOf(t, wholeBrowser, base) }

func openTabOf(t *testing.T, program, base string) *tab {
	t.Helper()
	b := watchedTabOf(t, program, base)
	t.Cleanup(func() {
		b.settle()
		for _, complaint := range b.watch.complaints() {
			t.Errorf("the page at %s: %s", b.watch.address(), complaint)
		}
	})
	return b
}

// openTabWithoutScript opens a tab in which pages can run no script.
func openTabWithoutScript(t *testing.T, base string) *tab {
	t.Helper()
	b := openTab(t, base)
	b.script = false
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return b
}

// watchedTab opens a tab whose watcher fails no test by itself.
func watchedTab(t *testing.T, base string) *tab { return watchedTabOf(t, usualBrowser(), base) }

func watchedTabOf(t *testing.T, program, base string) *tab {
	t.Helper()
	needBrowser(t)
	b := &tab{t: t, base: base, script: true, watch: newWatcher(base)}
	ctx, cancel := chromedp.NewContext(startBrowser(t, program), chromedp.WithNewBrowserContext(), chromedp.WithListener(b.watch.see))
	b.ctx = ctx
	t.Cleanup(cancel)
	b.watch.dismiss = func() {
		_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) // the tab may be closed
	}
	b.watch.accept = func() {
		_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
	}
	expect.OK(t, chromedp.Do(ctx)) // the tab lives as long as the context of its first call
	call(b, page.Enable, page.EnableParams{})
	call(b, network.Enable, network.EnableParams{})
	call(b, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	call(b, log.Enable, cdp.Empty{})
	call(b, audits.Enable, cdp.Empty{})
	call(b, accessibility.Enable, cdp.Empty{})
	call(b, runtime.AddBinding, runtime.AddBindingParams{Name: reportBinding})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watchScript})
	call(b, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
	b.resize(1280)
	b.colours("light")
	return b
}

// call runs a command of the browser's protocol in the tab.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, command, params)
	expect.OK(b.t, err, command.Method)
	return r
}

// quietly does what call does, but returns no result if the page is gone.
func quietly[P, R any](b *tab, command cdp.Command[P, R], params P) (r R) {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	r, _ = chromedp.Call(ctx, command, params)
	return r
}

// settle waits until the watcher has seen all that the page has done so far.
func (b *tab) settle() {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, _ = chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "0"}) // the test may have failed before
}

// resize sets the width of the page.
func (b *tab) resize(width int64) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 600,
	})
}

// colours sets the scheme, light or dark, that the person prefers.
func (b *tab) colours(scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}
