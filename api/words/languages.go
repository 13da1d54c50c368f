package words

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

//go:embed de.json
var germanTexts []byte

// Languages are the languages of pages: English, German, and others from files.
type Languages struct {
	catalogs []*Catalog // English first, which is nil
	matcher  language.Matcher
}

// English is the language of the texts in the code.
const English = "en"

// New returns the languages of the program with those of files. A file of a language that the program has replaces its
// texts.
func New(files ...*Catalog) *Languages {
	l := &Languages{catalogs: []*Catalog{nil}}
	for _, c := range append([]*Catalog{german()}, files...) {
		if i := l.index(c.Language); i > 0 {
			l.catalogs[i] = c
		} else {
			l.catalogs = append(l.catalogs, c)
		}
	}
	var tags []language.Tag
	for _, c := range l.catalogs {
		tags = append(tags, language.Make(c.Tag()))
	}
	l.matcher = language.NewMatcher(tags)
	return l
}

// german is read once: there is one Catalog of it, by which its pages are found.
var german = sync.OnceValue(func() *Catalog {
	c, err := Read(germanTexts)
	if err != nil {
		panic(fmt.Sprintf("de.json: %v", err)) // TestGermanIsWhole
	}
	return c
})

// Tag returns the language of c as pages and browsers name it.
func (c *Catalog) Tag() string {
	if c == nil {
		return English
	}
	return c.Language
}

// Title returns the name of the language in itself.
func (c *Catalog) Title() string {
	if c == nil {
		return "English"
	}
	return c.Name
}

// All returns all languages, English first, as nil.
func (l *Languages) All() []*Catalog { return l.catalogs }

func (l *Languages) index(tag string) int {
	for i, c := range l.catalogs {
		if i > 0 && c.Language == tag || i == 0 && tag == English {
			return i
		}
	}
	return -1
}

// For returns the language that a visitor has chosen, or else the one that suits the header Accept-Language best (RFC
// 4647).
func (l *Languages) For(chosen, accepted string) *Catalog {
	if i := l.index(chosen); i >= 0 {
		return l.catalogs[i]
	}
	if accepted == "" {
		return nil
	}
	const longest = 100 // bytes; browsers send fifty
	if len(accepted) > longest {
		accepted = accepted[:max(0, strings.LastIndexByte(accepted[:longest], ','))]
	}
	tags, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil || len(tags) == 0 {
		return nil
	}
	_, i, sure := l.matcher.Match(tags...)
	if sure == language.No {
		return nil
	}
	return l.catalogs[i]
}
