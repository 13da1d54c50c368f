package browser

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"shunt/engine/expect"
)

// This file is about small things that went wrong for people who used the pages for a day.

// Days whose hours are not kept are those of UTC for everybody, and are not shown as moments of the visitor's zone.
func TestADayOfUTCStaysADay(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc"})
	call(d.tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/Los_Angeles"})
	there, err := time.LoadLocation("America/Los_Angeles")
	expect.OK(t, err)
	wantToday := func(period string, zone *time.Location) {
		t.Helper()
		today := func() string {
			return " to " + time.Now().In(zone).Format("2 January 2006") + ", days of " + zone.String() + "."
		}
		before := today()
		d.visit("/_/link/abc?period="+period, http.StatusOK)
		d.until("it says"+before, func() bool { // or the day that began meanwhile
			return strings.Contains(d.text(), before) || strings.Contains(d.text(), today())
		})
	}
	for range 2 { // the second time the server knows the zone
		wantToday("30d", time.UTC)
	}
	wantToday("7d", there)
}

// The pages are English, so no word of another language is in them, whatever the browser's is.
func TestDatesAreInTheLanguageOfThePage(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc", "expires_at": expiry.Format(time.RFC3339)})
	for locale, want := range map[string]string{"de-DE": "6 May 2031, 20:30", "ja-JP": "6 May 2031, 20:30", "en-US": "May 6, 2031, 8:30 PM"} {
		call(d.tab, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: locale})
		d.visit("/_/link/abc", http.StatusOK)
		d.until("it says "+want, func() bool { return strings.Contains(strings.ReplaceAll(d.text(), "\u202f", " "), want) })
		d.visit("/_/account", http.StatusOK)
		d.until("it says how long ago", func() bool { return strings.Contains(d.text(), "ago") || strings.Contains(d.text(), "now") })
	}
	call(d.tab, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "en-GB"})
}

func TestMenusCloseByEscapeAndByAClickElsewhere(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.visit("/_/", http.StatusOK)
	open := func() bool { return eval[bool](d.tab, "document.querySelector('details.account').open") }
	for what, leave := range map[string]func(){
		"Escape": func() { d.key("Escape") },
		"a click elsewhere": func() {
			x, y := d.place("h1")
			d.press(x, y, 1)
		},
	} {
		d.click(button(emails[admin]))
		d.until("the menu is open", open)
		leave()
		d.until("it is closed by "+what, func() bool { return !open() })
	}
	d.click(button(emails[admin]))
	d.follow(link("Account"))
	d.isAt("/_/account")
}

func TestAfterAWrongPasswordItIsTypedAgain(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		b := openTab(d.t, d.base)
		b.visit("/_/sign-in", http.StatusOK)
		b.until("the focus is at the address", func() bool { return read[string](b, "document.activeElement.id") == "email" })
		b.fill(field("E-mail"), emails[admin])
		b.fill(field("Password"), "wrong")
		b.submit(button("Sign in"), http.StatusUnauthorized)
		b.until("the focus is at the password", func() bool { return read[string](b, "document.activeElement.id") == "password" })
	})
}

// On a phone tags are large enough for a finger.
func TestTagsAreLargeEnoughForAFinger(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc", "tags": []string{"one", "two"}})
	d.resize(360)
	for _, path := range []string{"/_/link/abc", "/_/links"} {
		d.visit(path, http.StatusOK)
		heights := eval[[]float64](d.tab, "[...document.querySelectorAll('a.tag')].map(e => e.getBoundingClientRect().height)")
		expect.Equal(t, len(heights), 2, path)
		for _, height := range heights {
			expect.That(t, height >= 24, "%s: a tag is %v px high", path, height)
		}
	}
}

// Leaving a form that was changed asks, and only then: the watcher dismisses the question, so the page stays.
func TestLeavingAChangedFormAsks(t *testing.T) {
	d := openDesk(t, localhost, watchedTab)
	d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc", "title": "first"})
	b := d.tab
	asked := func() (n int) {
		for _, c := range b.watch.complaints() {
			n += strings.Count(c, "dialog, beforeunload")
		}
		return n
	}
	b.visit("/_/link/abc/edit", http.StatusOK)
	b.fill(field("Title"), "second")
	b.click(link("Overview"))
	b.until("it asks", func() bool { return asked() == 1 })
	b.isAt("/_/link/abc/edit")
	b.fill(field("Title"), "first") // as it was
	b.follow(link("Overview"))
	b.visit("/_/link/abc/edit", http.StatusOK)
	b.fill(field("Title"), "third")
	b.follow(button("Save"))
	b.isAt("/_/link/abc")
	b.follow(link("Edit"))
	b.fill(field("Title"), "fourth")
	b.follow(link("Cancel"))
	b.isAt("/_/link/abc")
	b.sees("third")
	expect.Equal(t, asked(), 1, "questions")
}

// A long target or title does not push the figures off the screen.
func TestALongTargetAndTitleLeaveRoomForTheFigures(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		target := "https://example.org/" + strings.Repeat("long/", 1600)
		d.create(d.token, map[string]any{"url": target, "alias": "abc", "title": strings.Repeat("word ", 102)})
		b := d.tab
		for _, width := range []int64{360, 768, 1280} {
			b.resize(width)
			b.visit("/_/link/abc", http.StatusOK)
			b.wantNoSideways(width)
			lines := eval[float64](b, "(e => e.offsetHeight / parseFloat(getComputedStyle(e).lineHeight))(document.querySelector('h1'))")
			expect.That(d.t, lines < 3.2, "at %d px the title has %.1f lines", width, lines)
			top := eval[float64](b, "document.querySelector('dl.figures').getBoundingClientRect().top")
			expect.That(d.t, top < 1500, "at %d px the figures begin after %.0f px", width, top)
		}
		b.click(button("Show all 8,020 characters"))
		b.sees(target)
	})
}

// The ticks of hours are round where the visitor is, whose day does not begin with that of UTC.
func TestTicksOfHoursAreRoundInTheZoneOfTheVisitor(t *testing.T) {
	d := openDesk(t, localhost, openTab)
	d.create(d.token, map[string]any{"url": "https://example.org/", "alias": "abc"})
	d.hit("abc", 3, demoVisitors[0])
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo"} {
		place, err := time.LoadLocation(zone)
		expect.OK(t, err)
		call(d.tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
		for told, least := range []int{6, 6} { // the second time, the server knows the zone
			yesterday := time.Now().In(place).AddDate(0, 0, -1).Format(time.DateOnly)
			period := "from=" + yesterday + "&to=" + yesterday
			d.until("it has hours of "+zone, func() bool {
				d.visit("/_/link/abc?"+period, http.StatusOK)
				return told == 0 || strings.Contains(d.text(), ", hours of "+zone+".")
			})
			ticks := eval[[]string](d.tab, "[...document.querySelectorAll('.dense text')].map(e => e.firstChild.textContent)")
			expect.That(t, len(ticks) >= least-2, "%s, %s: the ticks are %q", zone, period, ticks)
			step := 0
			for i, tick := range ticks {
				hour, _, _ := strings.Cut(tick, ":")
				h, err := strconv.Atoi(hour)
				expect.OK(t, err, tick)
				if i == 1 {
					before, _, _ := strings.Cut(ticks[0], ":")
					b, _ := strconv.Atoi(before)
					step = (h - b + 24) % 24
				}
				expect.That(t, step == 0 || h%step == 0, "%s, %s: the ticks are %q", zone, period, ticks)
			}
		}
	}
}
