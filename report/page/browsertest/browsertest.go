// Package browsertest opens a page in a real browser, for tests.
//
//	p := browsertest.Open(t, "report.html")
//	p.Press(kb.ArrowRight)
//	title := browsertest.Eval[string](p, `document.title`)
//
// Whatever a page must never do fails the test: an error in the console, an
// exception, a request for anything but itself.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long one step may take: a busy machine is slow.
const patience = 2 * time.Minute

// Page is an open page.
type Page struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	problems []string
}

// browsers are the names under which Chromium is installed.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// Open opens a file in a browser of its own. It skips the test where there is no
// browser.
func Open(t *testing.T, file string) *Page {
	t.Helper()
	p := start(t, file)
	p.do(chromedp.Navigate(p.url))
	return p
}

// OpenWithoutScript opens a file in a browser that runs no script of a page.
func OpenWithoutScript(t *testing.T, file string) *Page {
	t.Helper()
	p := start(t, file)
	call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	p.do(chromedp.Navigate(p.url))
	return p
}

func start(t *testing.T, file string) *Page {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "browsertest-")
	if err != nil {
		t.Fatal(err)
	}
	alloc, stop := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(find(t)), chromedp.UserDataDir(dir), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)...)
	ctx, end := chromedp.NewContext(alloc, chromedp.WithLogf(t.Logf), chromedp.WithErrorf(func(string, ...any) {}))
	p := &Page{t: t, ctx: ctx, url: "file://" + path}
	t.Cleanup(func() {
		end()
		stop()
		remove(dir)
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.problems {
			t.Errorf("the page %s", s)
		}
	})
	if err := chromedp.Listen(ctx, p.watch); err != nil {
		t.Fatalf("start a browser: %v", err)
	}
	p.do(chromedp.EmulateViewport(1400, 900))
	return p
}

func find(t *testing.T) string {
	t.Helper()
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium: scripts/setup test installs it")
	return ""
}

// remove waits for the browser's processes, which write there until they end.
func remove(dir string) {
	for range 100 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// watch notes what a page must not do.
func (p *Page) watch(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		p.problems = append(p.problems, fmt.Sprintf("wrote to the console: %s", ev.Type))
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, "threw "+(&chromedp.ExceptionError{ExceptionDetails: ev.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		p.problems = append(p.problems, "logged "+ev.Entry.Text)
	case *network.EventRequestWillBeSent:
		if u := ev.Request.URL; u != p.url && !strings.HasPrefix(u, "about:") {
			p.problems = append(p.problems, "asked for "+u)
		}
	}
}

func (p *Page) do(a chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, a); err != nil {
		p.t.Fatal(err)
	}
}

func call[P any](p *Page, cmd cdp.Command[P, cdp.Empty], params P) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, cmd, params); err != nil {
		p.t.Fatal(err)
	}
}

// Eval evaluates an expression in the page.
func Eval[T any](p *Page, js string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](js))
	if err != nil {
		p.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// Press presses keys, wherever the focus is.
func (p *Page) Press(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
}

// Click clicks the first element of a CSS selector.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(selector))
}

// Media shows the page as in print, or "" as on a screen, with a colour scheme:
// "light" or "dark".
func (p *Page) Media(media, scheme string) {
	p.t.Helper()
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}
