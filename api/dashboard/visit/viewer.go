package visit

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/page"
	"shunt/api/words"
	"shunt/engine/zone"
)

// Cookies of the dashboard. Their path is that of its pages, so that browsers do not send them with redirects.
const (
	ToldZone   = "shunt_zone"    // the zone of the browser, which the script tells
	ChosenZone = "shunt_my_zone" // the zone that the visitor has chosen, which comes first
	LastSpan   = "shunt_span"    // the span that was chosen last
	Language   = page.LanguageCookie
)

// Remember has the browser remember a value for age; 0: until it is closed, and less than that: no longer. The value
// must have no character that means something in a cookie.
func (r *Request) Remember(name, value string, age time.Duration) {
	cookie := fmt.Sprintf("%s=%s; Path=%s; HttpOnly; SameSite=Strict", name, value, strings.TrimSuffix(Root, "/"))
	if age != 0 {
		cookie += fmt.Sprintf("; Max-Age=%d", int(max(0, age.Seconds())))
	}
	if strings.HasPrefix(r.BaseURL, "https:") {
		cookie += "; Secure"
	}
	r.Ctx.Response.Header.Add(fasthttp.HeaderSetCookie, cookie)
}

// Remembered returns what the browser remembers, "" if it does not.
func (r *Request) Remembered(name string) string { return string(r.Ctx.Request.Header.Cookie(name)) }

// Language returns the language of the pages for this visitor.
func (r *Request) Language() *words.Catalog {
	return r.Languages.For(r.Remembered(Language), string(r.Ctx.Request.Header.Peek(fasthttp.HeaderAcceptLanguage)))
}

// Zone returns the zone of the visitor's days; nil: it is not known, or figures by the hour cannot be added up to its
// days.
func (r *Request) Zone() *zone.Zone {
	if z := r.zones.load(r.Remembered(ChosenZone)); z != nil {
		return z
	}
	return r.zones.load(r.Remembered(ToldZone))
}

// Place returns where the visitor's days are: where he is, or else where those of the store are.
func (r *Request) Place() *time.Location {
	if z := r.Zone(); z != nil {
		return z.Place()
	}
	return r.Engine.Zone().Place()
}

// zones keeps the zones of visitors, because loading one reads a file.
type zones struct {
	mu   *sync.Mutex
	kept map[string]*zone.Zone // nil: its days do not begin on the hour
}

// maxZones bounds zones. IANA has 600 names, some 10 KB each here.
const maxZones = 64

func newZones() zones { return zones{new(sync.Mutex), make(map[string]*zone.Zone)} }

func (z *zones) load(name string) *zone.Zone {
	if name == "" || len(name) > zone.MaxNameBytes {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if found, ok := z.kept[name]; ok {
		return found
	}
	found, err := zone.Load(name)
	if err != nil {
		found = nil
	}
	if len(z.kept) >= maxZones {
		clear(z.kept)
	}
	z.kept[name] = found
	return found
}
