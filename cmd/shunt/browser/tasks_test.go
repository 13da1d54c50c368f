package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"

	"shunt/api/dashboard/visit"
	"shunt/api/words"
	"shunt/engine/expect"
)

// maxClicks bounds the clicks of each task of a day, which begins at the overview. Choosing in a select or a file takes
// two.
const maxClicks = 6

// dailyTasks are what people come for most. Each begins at the overview.
var dailyTasks = []struct {
	name string
	do   func(*desk)
}{
	{"create a link with an alias", (*desk).createWithAlias},
	{"find a link of last week", (*desk).findLastWeeks},
	{"change a target", (*desk).changeTarget},
	{"see the sources of last month", (*desk).seeSources},
	{"compare two links", (*desk).compareTwo},
	{"take a QR code to the printer", (*desk).printQR},
	{"disable a link", (*desk).disable},
	{"revoke a token that leaked", (*desk).revokeLeaked},
	{"make a folder that a colleague reads", (*desk).makeFolder},
	{"give a colleague read access to a link", (*desk).share},
	{"make 200 links with aliases", (*desk).make200},
	{"take figures to a spreadsheet", (*desk).takeFigures},
	{"undo a deletion", (*desk).undoDeletion},
}

// TestDailyTasksTakeFewClicks does each task by mouse, without script, and by keyboard alone, and counts.
func TestDailyTasksTakeFewClicks(t *testing.T) {
	needBrowser(t)
	for _, hand := range []string{"mouse", "no script", "keyboard", "German"} {
		if short() && hand == "no script" {
			continue
		}
		t.Run(hand, func(t *testing.T) {
			open := openTab
			if hand == "no script" {
				open = openTabWithoutScript
			}
			d := openDesk(t, localhost, open)
			d.keys = hand == "keyboard"
			if hand == "German" {
				d.speak("de")
			}
			d.fillWeeks()
			for _, task := range dailyTasks {
				d.visit("/_/", http.StatusOK)
				d.clicks, d.strokes = 0, 0
				task.do(d)
				t.Logf("%s: %d clicks, %d keystrokes", task.name, d.clicks, d.strokes)
				expect.That(t, d.clicks <= maxClicks, "%s: %d clicks, want at most %d", task.name, d.clicks, maxClicks)
			}
		})
	}
}

// speak has the pages in a language.
func (b *tab) speak(language string) {
	b.t.Helper()
	b.words = words.New().For(language, "")
	call(b, network.SetCookie, network.SetCookieParams{URL: b.base + "/_/", Name: visit.Language, Value: language, Path: "/_"})
}

// fillWeeks makes links of several weeks, and hits on two of them.
func (d *desk) fillWeeks() {
	d.t.Helper()
	var file strings.Builder
	for i := 59; i >= 0; i-- {
		made := time.Now().AddDate(0, 0, -i)
		fmt.Fprintf(&file, `{"code":"day%d","url":"https://example.org/%d","title":"Offer number %d","created_at":%q}`+"\n", i, i, i, made.UTC().Format(time.RFC3339))
	}
	request, err := http.NewRequest(http.MethodPost, d.base+"/api/v1/import", strings.NewReader(file.String()))
	expect.OK(d.t, err)
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("Authorization", "Bearer "+d.token)
	response, text := d.send(request)
	expect.MustThat(d.t, response.StatusCode == http.StatusOK, "got %d: %s", response.StatusCode, text)
	d.run("", "token", "add", "--name", "leaked", "--user", emails[admin])
	d.addUser(d.token, emails[member], "member")
	for code, hits := range map[string]int{"day8": 5, "day9": 3} {
		d.hit(code, hits, demoVisitors[0])
	}
}

func (d *desk) createWithAlias() {
	d.fill(field("Target"), "https://example.org/menu")
	d.unfold("Alias, title, tags and more", field("Alias"))
	d.fill(field("Alias"), "menu")
	d.follow(button("Create the link"))
	d.sees(d.base + "/menu")
}

func (d *desk) findLastWeeks() {
	d.follow(link("Links"))
	d.unfold("Filters and order", field("Created from (UTC)"))
	d.fill(field("Created from (UTC)"), time.Now().UTC().AddDate(0, 0, -9).Format(time.DateOnly))
	d.look("offer 8", link("Offer number 8"))
	d.follow(link("Offer number 8"))
	d.isAt("/_/link/day8")
}

// look searches for words, which a script does as one types.
func (d *desk) look(words string, wanted thing) {
	d.t.Helper()
	d.fill(field("Search"), words)
	if !d.script {
		d.loading(http.StatusOK, func() { d.key("Enter") })
	}
	d.find(wanted)
	d.until("nothing else is found", func() bool { return read[int](d.tab, "document.querySelectorAll('table.rows tbody tr').length") == 1 })
}

func (d *desk) changeTarget() {
	d.follow(link("Links"))
	d.look("day9", button("More for day9"))
	d.click(button("More for day9"))
	d.follow(link("Edit"))
	d.fill(field("Target"), "https://example.org/changed")
	d.follow(button("Save"))
	d.sees("https://example.org/changed")
}

func (d *desk) undoDeletion() {
	d.follow(link("Links"))
	d.look("day9", button("More for day9"))
	d.click(button("More for day9"))
	d.follow(link("Delete"))
	d.follow(button("Delete day9"))
	d.follow(button("Undo"))
	d.sees("The link day9 is back, with its hits.")
}

func (d *desk) printQR() {
	folder := d.downloads()
	d.follow(link("Links"))
	d.click(button("More for day3"))
	d.follow(link("QR code"))
	d.fill(field("Side in mm"), "25")
	d.follow(button("Show"))
	d.click(link("PDF"))
	text := d.downloaded(folder, "*.pdf")
	expect.Contains(d.t, text, "/MediaBox[0 0 70.8", "a side of 25 mm, in points")
}

func (d *desk) makeFolder() {
	d.follow(link("Folders"))
	d.fill(field("Name"), "Fair")
	d.fill(field("Who may read"), emails[member])
	d.follow(button("Make the folder"))
	d.sees("The folder “Fair” is made. Links are put there on the pages that create and edit them.")
}

func (d *desk) share() {
	d.follow(link("Links"))
	d.click(button("More for day1"))
	d.follow(link("Edit"))
	d.fill(field("Folder"), "Fair")
	d.follow(button("Save"))
	d.sees("The link is saved.")
}

func (d *desk) disable() {
	d.follow(link("Links"))
	d.click(button("More for day2"))
	d.follow(button("Disable"))
	d.sees("The link is disabled: it does not redirect any more.")
}

func (d *desk) revokeLeaked() {
	d.follow(link("Tokens"))
	d.follow(link("Revoke leaked"))
	d.follow(button("Revoke the token"))
	d.sees("The token “leaked” is revoked. It no longer works.")
}

func (d *desk) seeSources() {
	d.follow(link("Last month"))
	d.find(heading("Referrers"))
	d.find(heading("Countries"))
}

func (d *desk) compareTwo() {
	d.follow(link("Links"))
	d.click(field("Select day8"))
	d.click(field("Select day9"))
	chosen := "With links"
	if d.script { // it counts them
		chosen = d.words.Say("{0} selected")
		chosen = strings.Replace(chosen, "{0}", "2 "+d.words.Say("links"), 1)
	}
	d.fill(field(chosen), "Compare figures")
	d.follow(button("Apply to selected"))
	d.isAt("/_/compare")
	d.find(heading("Compare links"))
	for _, code := range []string{"day8", "day9"} {
		d.find(link(code))
	}
}

func (d *desk) make200() {
	var sheet strings.Builder
	sheet.WriteString("url,alias\n")
	for i := range 200 {
		fmt.Fprintf(&sheet, "https://example.org/many/%d,many%d\n", i, i)
	}
	d.follow(link("Links"))
	d.follow(link("Import many"))
	d.choose("file", writeFile(d.t, "many.csv", []byte(sheet.String())))
	d.follow(button("Create the links"))
	d.sees("200 links are ready.")
}

func (d *desk) takeFigures() {
	folder := d.downloads()
	d.follow(link("Last month"))
	d.click(link("CSV"))
	expect.Contains(d.t, d.downloaded(folder, "*.csv"), "hits", "the file")
}

// downloaded waits until one file of a pattern is in the folder, and returns it.
func (d *desk) downloaded(folder, pattern string) string {
	d.t.Helper()
	var text []byte
	d.until("the file is there", func() bool {
		files, _ := filepath.Glob(filepath.Join(folder, pattern))
		if len(files) == 1 {
			text, _ = os.ReadFile(files[0])
		}
		return len(text) > 0
	})
	return string(text)
}
