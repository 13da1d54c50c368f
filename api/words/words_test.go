package words

import (
	"bytes"
	"encoding/json"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template/parse"

	"shunt/engine/expect"
)

const some = `{"language": "de", "language name": "Deutsch", "thousands separator": ".",
	"Save": "Speichern", "link": "Link", "links": "Links", "active": "aktiv", "yesterday": "gestern",
	"You have {0} in {1}tags{2}.": "In {1}Tags{2} sind {0}.", "Delete {0}": "{0} löschen", "Search": "„Suche“ \"hier\"",
	"{0} more than {1}": "{0} mehr als {1!}", "It is {0}.": "Er ist {0!}.", "Hits": "Aufrufe", "{0}%": "{0} %", "{0}.{1} %": "{0},{1} %", "1 link is gone.": "1 Link ist weg.", "{0} links are gone by {1}.": "Bis {1} sind {0} Links weg.", "On the disk": "Auf der Platte"}`

func read(t *testing.T, file string) *Catalog {
	t.Helper()
	c, err := Read([]byte(file))
	expect.OK(t, err)
	return c
}

// draw returns a template in the language of c, drawn with data.
func draw(t *testing.T, c *Catalog, text string, data any) string {
	t.Helper()
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"icon": func() string { return "*" }, "say": c.Say, "plural": func(n int, one, many string) string { return c.Say(many) },
	}).Parse(text))
	for _, part := range page.Templates() {
		c.Translate(part.Tree)
	}
	var b bytes.Buffer
	expect.OK(t, page.Execute(&b, data), "%s", text)
	return b.String()
}

func TestTemplatesAreTranslated(t *testing.T) {
	c := read(t, some)
	data := map[string]any{"N": 3, "Path": "/_/tags?a=1&b=2", "Name": "Save", "On": true}
	for text, want := range map[string]string{
		"<p>Save</p>":                            "<p>Speichern</p>",
		"<p>\n\tSave\n</p>":                      "<p> Speichern </p>",
		"<b>Save</b> <i>Save</i>":                "<b>Speichern</b> <i>Speichern</i>",
		"<p>Something else</p>":                  "<p>Something else</p>",
		"<p>{{.Name}}</p>":                       "<p>Save</p>", // what a visitor has called something stays
		"<p>{{say .Name}}</p>":                   "<p>Speichern</p>",
		"<code>Save</code><kbd>Save</kbd>":       "<code>Save</code><kbd>Save</kbd>",
		`<a title="Save" href="Save">a</a>`:      `<a title="Speichern" href="Save">a</a>`,
		`<a aria-label="Delete {{.Name}}">x</a>`: `<a aria-label="Save löschen">x</a>`,
		`<input placeholder="Search">`:           `<input placeholder="„Suche“ &#34;hier&#34;">`,
		`<button>{{icon}}Save</button>`:          `<button>*Speichern</button>`,
		`<p>You have {{.N}} in <a href="{{.Path}}" title="Save">tags</a>.</p>`: `<p>In <a href="/_/tags?a=1&amp;b=2" title="Speichern">Tags</a> sind 3.</p>`,
		`{{if .On}}<p{{if .On}} class="x"{{end}}>Save</p>{{else}}Save{{end}}`:  `<p class="x">Speichern</p>`,
		`{{plural .N "link" "links"}} {{range $i, $n := .}}{{end}}Hits`:        `Links Aufrufe`,
		`<p>It is {{say "active"}}.</p>`:                                       `<p>It is aktiv.</p>`, // the key has another hole: it is found whole only by Say
		`<br>Save<hr>Save`:                                                     `<br>Speichern<hr>Speichern`,
	} {
		if strings.Contains(text, "It is") {
			want = "<p>Er ist aktiv.</p>"
		}
		expect.Equal(t, draw(t, c, text, data), want, "%s", text)
		expect.Equal(t, draw(t, nil, text, data), draw(t, read(t, `{"language": "fr", "language name": "f"}`), text, data), "%s: English, and a language without texts", text)
	}
}

func TestFinishedTextsAreSaid(t *testing.T) {
	c := read(t, some)
	for text, want := range map[string]string{
		"Save": "Speichern", "": "", "Unknown": "Unknown", "Delete a b": "a b löschen", "It is active.": "Er ist aktiv.",
		"1,234 more than yesterday": "1.234 mehr als gestern", "12,34 more than yesterday": "12,34 mehr als gestern",
		"Delete ": "Delete ", "Delete {0}": "{0} löschen", "Delete Save": "Save löschen",
		"5%": "5 %", "<1%": "<1 %", "1,234%": "1.234 %", "2.5 %": "2,5 %", "rabatt-20%": "rabatt-20%", "v1.5 %": "v1.5 %", "20% or 50%": "20% or 50%",
	} {
		expect.Equal(t, c.Say(text), want, "%q", text)
	}
	var english *Catalog
	expect.Equal(t, english.Say("Save"), "Save")
	expect.Equal(t, c.Number("1,234,567")+" "+english.Number("1,234"), "1.234.567 1,234")
}

func TestTheTextOfAKeyHasItsValues(t *testing.T) {
	c := read(t, some)
	expect.Equal(t, c.Text("{0} links are gone by {1}.", "1.234", "heute"), "Bis heute sind 1.234 Links weg.")
	expect.Equal(t, c.Text("1 link is gone.", "1"), "1 Link ist weg.")
	expect.Equal(t, c.Text("{0} and {1} are unknown", "{1}"), "{1} and {1} are unknown", "a value is missing, and one looks like a hole")
	var english *Catalog
	expect.Equal(t, english.Text("{0} links are gone by {1}.", "2", "now"), "2 links are gone by now.")
}

func TestFragmentsAreTranslated(t *testing.T) {
	c := read(t, some)
	for fragment, want := range map[string]string{
		`<th scope=col>Hits<td>1,234`:                           `<th scope=col>Aufrufe<td>1.234`,
		`<svg viewBox="0 0 1 1"><title>Save</title></svg>`:      `<svg viewBox="0 0 1 1"><title>Speichern</title></svg>`,
		`<p title="Save" class="Save"> Save <b>a&amp;b</b></p>`: `<p title="Speichern" class="Save"> Speichern <b>a&amp;b</b></p>`,
		`<p translate="no">Save <b>Save</b></p>Save`:            `<p translate="no">Save <b>Save</b></p>Speichern`,
		`<a href="/x?a=1&amp;b=2">Delete &lt;b&gt;</a>`:         `<a href="/x?a=1&amp;b=2">&lt;b&gt; löschen</a>`,
		`never`: `never`, `<b>12%</b> <td>99.5 %`: `<b>12 %</b> <td>99,5 %`,
		`<time datetime="2026-11-30">2026-11-30</time>`: `<time datetime="2026-11-30">2026-11-30</time>`,
	} {
		expect.Equal(t, string(c.Fragment(template.HTML(fragment))), want, "%s", fragment)
	}
}

func TestFilesThatAreNoCatalog(t *testing.T) {
	for file, want := range map[string]string{
		`[]`: "is not a JSON object of texts", `{"a": 1}`: "is not a JSON object of texts", `{}`: "must say which language it is",
		`{"language": "de"}`: "must say which language it is", `{"language": "d!", "language name": "D"}`: "must say which language it is",
		`{"language": "de", "language name": "D", "a {0}": "{1}"}`:                                   "has a hole {1}",
		`{"language": "de", "language name": "D", "a": "<b>"}`:                                       "has a tag",
		`{"language": "de", "language name": "D", "a": "` + strings.Repeat("x", MaxFileBytes) + `"}`: "has more than 1048576 bytes",
	} {
		_, err := Read([]byte(file))
		expect.That(t, err != nil && strings.HasPrefix(err.Error(), want), "%.60s: got %v, want %s", file, err, want)
	}
	_, err := ReadFile(filepath.Join(t.TempDir(), "none"))
	expect.That(t, os.IsNotExist(err), "got %v", err)
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	expect.OK(t, os.WriteFile(wrong, []byte("{}"), 0o600))
	_, err = ReadFile(wrong)
	expect.That(t, err != nil && strings.HasPrefix(err.Error(), wrong+" must say which language it is"), "got %v", err)
}

func TestTheLanguageIsTheOneThatWasChosenOrSuits(t *testing.T) {
	french := read(t, `{"language": "fr", "language name": "français", "Save": "Enregistrer"}`)
	l := New(french)
	for _, c := range []struct{ chosen, accepted, want string }{
		{"", "", "en"}, {"", "de", "de"}, {"", "de-AT,de;q=0.9,en;q=0.8", "de"}, {"", "en-GB,de;q=0.5", "en"}, {"", "fr-CA", "fr"},
		{"de", "fr", "de"}, {"en", "de", "en"}, {"tlh", "de", "de"}, {"", "ja,de;q=0.1", "de"}, {"", "ja", "en"}, {"", "*", "en"},
		{"", "\x00;;q=,,", "en"}, {"", strings.Repeat("de,", 10_000), "de"}, {"", strings.Repeat("d", 10_000), "en"}, {"\x00", "de", "de"},
	} {
		expect.Equal(t, l.For(c.chosen, c.accepted).Tag(), c.want, "%q %.20q", c.chosen, c.accepted)
	}
	titles := ""
	for _, c := range l.All() {
		titles += c.Title() + " "
	}
	expect.Equal(t, titles, "English Deutsch français ")
	again := read(t, `{"language": "de", "language name": "Neu"}`)
	expect.Equal(t, New(again).For("de", "").Title(), "Neu", "a file of a language that is there")
}

// keysOfPages returns the keys of all templates and of the script.
func keysOfPages(t *testing.T) (keys []string) {
	t.Helper()
	files, err := filepath.Glob("../dashboard/templates/*.html")
	expect.OK(t, err)
	parts, err := filepath.Glob("../dashboard/templates/parts/*.html")
	expect.OK(t, err)
	for _, file := range append(files, parts...) {
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		tree, trees := parse.New(filepath.Base(file)), make(map[string]*parse.Tree)
		tree.Mode = parse.SkipFuncCheck
		_, err = tree.Parse(string(text), "", "", trees)
		expect.OK(t, err, "%s", file)
		for _, one := range trees {
			keys = append(keys, Keys(one)...)
		}
	}
	script, err := os.ReadFile("../dashboard/script.js")
	expect.OK(t, err)
	keys = append(keys, ScriptKeys(string(script))...)
	expect.That(t, len(keys) > 500, "there are %d keys", len(keys))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// sameInGerman are texts that are the same in German.
var sameInGerman = strings.Split(strings.TrimSpace(mustRead("testdata/same.txt")), "\n")

func mustRead(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestGermanIsWhole: every text of templates and of the script is in German. Those that code makes are looked for on
// the pages, by the tests of package api.
func TestGermanIsWhole(t *testing.T) {
	c := New().For("de", "")
	var missing []string
	for _, key := range keysOfPages(t) {
		if !c.Has(key) && !slices.Contains(sameInGerman, key) {
			missing = append(missing, key)
		}
	}
	expect.Equal(t, strings.Join(missing, "\n"), "", "texts without a German one")
	var texts map[string]string
	expect.OK(t, json.Unmarshal(germanTexts, &texts))
	for key, text := range texts {
		joined := strings.HasPrefix(key, ",") // to what stands before it: the text may begin with a space
		expect.That(t, text != "" && (strings.TrimSpace(text) == text || joined) && key == keyOf(key), "%q: %q", key, text)
	}
}

// TestKeysOfPagesAreWholeSentences: a key that goes on with what stands before it, or with what follows it, is in the
// order of English words. Those that have a tag between them and the rest of a sentence are not found by this.
func TestKeysOfPagesAreWholeSentences(t *testing.T) {
	var pieces []string
	for _, key := range keysOfPages(t) {
		last := key[strings.LastIndex(key, " ")+1:]
		if strings.IndexAny(key, ",;:.") == 0 || slices.Contains([]string{"of", "than", "the", "is", "are", "was", "were"}, last) {
			pieces = append(pieces, key)
		}
	}
	expect.Equal(t, strings.Join(pieces, "\n"), "", "pieces of sentences")
}

// A text of a stranger takes a bounded time, however long it is and whatever is in it.
func TestHostileTextsStayAsTheyAre(t *testing.T) {
	c := New().For("de", "")
	for _, text := range []string{
		"https://e.test/" + strings.Repeat(".", 8000), strings.Repeat("a: ", 3000), strings.Repeat("Delete ", 500), strings.Repeat("x", 1001), "\x00{0}\xff",
	} {
		expect.Equal(t, c.Say(text), text, "%.20q", text)
	}
	_, err := Read([]byte(`{"language": "de", "language name": "D", "{0}": "{0!}"}`))
	expect.That(t, err != nil && strings.Contains(err.Error(), "fits any text"), "got %v", err)
	bars := template.HTML(`<bdi translate="no">news<wbr>.example</bdi><b>Save</b>`)
	expect.Equal(t, string(read(t, some).Fragment(bars)), `<bdi translate="no">news<wbr>.example</bdi><b>Speichern</b>`)
}
