package dashboard

import (
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/chart"
	"shunt/api/dashboard/find"
	"shunt/api/dashboard/folders"
	"shunt/api/dashboard/visit"
	"shunt/api/ops"
	"shunt/api/problem"
)

const (
	comparePath = Root + "compare"
	csvPath     = Root + "figures.csv"
)

// compareView is what the page shows that compares links.
type compareView struct {
	figuresView
	Codes string // as typed, or as the address has them
	visit.Whose
	Domains *visit.DomainChoice
	Links   []comparedLink
	Error   string // why there is no comparison; empty: there is one, or none was asked for
}

// A comparedLink is a row of the table below the chart.
type comparedLink struct {
	Code, Path, Without string // the address of its page, and of the comparison without it
	Sample              template.HTML
	Figures             ops.Figures
	view                *figuresView
	part, then          *ops.Figures
	made                time.Time
}

// Hits and Visitors say how the link's figures differ from the time before.
func (l *comparedLink) Hits() visit.Delta {
	return l.compared(l.Figures.Hits, l.part.Hits, l.then.Hits)
}

func (l *comparedLink) compared(whole, part, then uint64) visit.Delta {
	before := l.view.Span.Before
	if !l.made.Before(before.Till) {
		return visit.Delta{Text: "the link was made later"}
	}
	return compared(whole, part, then, before)
}

func (l *comparedLink) Visitors() visit.Delta {
	return l.compared(l.Figures.Unique, l.part.Unique, l.then.Unique)
}

// codesTyped returns codes with commas between them: people type spaces, and whole short addresses of the domain.
func (r *request) codesTyped(text string, w visit.Whose) string {
	base := r.BaseURL
	if asked, err := r.Asked(w); err == nil {
		base = strings.TrimSuffix(r.Calls.Domains().ShortURL(asked.Domain, ""), "/")
	}
	codes := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r' })
	for i := range codes {
		codes[i] = strings.TrimPrefix(codes[i], base+"/")
	}
	return strings.Join(codes, ",")
}

// comparePage is GET /_/compare: the figures of 2 to 5 links in one chart.
func (r *request) comparePage() error {
	whose := r.OneDomain(r.Whose())
	codes := r.codesTyped(r.Query("codes"), whose)
	view := compareView{figuresView: r.figuresView(time.Time{}, whose.Pairs("codes", codes)...), Codes: codes, Whose: whose, Domains: r.DomainsOfList(whose.Domain, false)}
	if !strings.Contains(codes, ",") { // of one link, the page asks for others
		view.Picker.CSV = ""
		return r.Show(fasthttp.StatusOK, "compare", "Compare links", &view)
	}
	status := fasthttp.StatusOK
	if view.Span == nil {
		status = fasthttp.StatusUnprocessableEntity
	} else if err := r.Heavily(func() error { return r.readCompared(&view) }); err != nil {
		at, general, ok := visit.FieldErrors(err, "codes")
		if !ok {
			return err
		}
		status = visit.StatusOf(err)
		view.Error = visit.Sentence(labelled("The links", at["codes"]) + general)
		view.Picker.CSV = ""
	}
	return r.Show(status, "compare", "Compare links", &view)
}

// readCompared reads the figures of the links, each in its own row.
func (r *request) readCompared(v *compareView) error {
	if err := r.readOwner(v.windows("include", allLists), v.Pairs("codes", v.Codes)...); err != nil {
		return err
	}
	guard, err := r.Asked(v.Whose)
	if err != nil {
		return err
	}
	codes := strings.Split(v.Codes, ",")
	for i, l := range v.Window.Links {
		link, err := r.Calls.Read(r.Caller, l.Code, guard)
		if err != nil {
			return err
		}
		row := comparedLink{Code: l.Code, Path: linkPath(l.Code, v.Whose), Sample: chart.Sample(i), Figures: l.Figures, view: &v.figuresView, part: &v.Window.Links[i].Figures, made: link.CreatedAt}
		if v.Part != nil {
			row.part = &v.Part.Links[i].Figures
		}
		if v.Then != nil {
			row.then = &v.Then.Links[i].Figures
		}
		if others := slices.Delete(slices.Clone(codes), i, i+1); len(others) > 1 {
			row.Without = v.Address(comparePath, "codes", strings.Join(others, ","))
		}
		v.Links = append(v.Links, row)
	}
	v.Lists = r.lists(&v.figuresView)
	return r.drawCompared(v)
}

// drawCompared draws a line for each link.
func (r *request) drawCompared(v *compareView) (err error) {
	lines := chart.Lines{Chart: r.chartOf(&v.figuresView)}
	lines.Caption = strings.Replace(lines.Caption, "Hits and visitors", "Hits of each link", 1)
	series := v.Window.Series
	if !v.Span.Hourly {
		series = fromFirstHit(series)
	}
	if v.TooLong = len(series) > chart.MaxBuckets; v.TooLong || len(series) == 0 {
		return nil
	}
	for _, b := range series {
		lines.Buckets = append(lines.Buckets, chart.Bucket{From: b.From})
	}
	for _, l := range v.Window.Links {
		line := chart.Line{Name: l.Code}
		for _, b := range l.Series[len(l.Series)-len(series):] {
			line.Hits = append(line.Hits, b.Hits)
		}
		lines.Of = append(lines.Of, line)
	}
	v.Chart, err = lines.HTML()
	return err
}

// tagFiguresView is what the page of a tag's figures shows.
type tagFiguresView struct {
	figuresView
	visit.Whose
	Domains *visit.DomainChoice
	Tag     string
	Found   string // address of the links that have it
	All     string // of all tags
	Top     topView
}

// tagFigures is GET /_/tags/figures.
func (r *request) tagFigures() error {
	whose := r.Whose()
	tag, err := ops.NamedTag(r.Query("tag"))
	if err != nil {
		return err
	}
	view := tagFiguresView{figuresView: r.figuresView(time.Time{}, whose.Pairs("tag", tag)...), Whose: whose, Domains: r.DomainsOfList(whose.Domain, true), Tag: tag, All: whose.Address(tagsPath)}
	view.Found = find.Of(whose, tag).Address()
	status := fasthttp.StatusOK
	if view.Span == nil {
		status = fasthttp.StatusUnprocessableEntity
	} else if err := r.Heavily(func() error {
		if err := r.readOwner(view.windows("include", allLists, "top", topShown), whose.Pairs("tag", tag)...); err != nil {
			return err
		}
		view.Top = topOf(&view.figuresView, whose)
		return r.fillFigures(&view.figuresView)
	}); err != nil {
		return err
	}
	return r.Show(status, "tag-figures", "Figures of "+tag, &view)
}

// folderFiguresView is what the page of a folder's figures shows.
type folderFiguresView struct {
	figuresView
	Domains             *visit.DomainChoice
	Name                string
	Page, Found, Export string // addresses: of the folder, of its links, and of these as a file
	Top                 topView
}

// folderFigures is GET /_/folders/{folder}/figures.
func (r *request) folderFigures() error {
	f, err := folders.Named(r.Request, r.Segment("folder"))
	if err != nil {
		return err
	}
	number, whose := strconv.FormatUint(uint64(f.Number), 10), visit.Whose{Owner: r.inFolder(), Domain: r.Query("domain")}
	found := find.Search{Folder: number, Owner: whose.Owner, Domain: whose.Domain}
	view := folderFiguresView{
		figuresView: r.figuresView(time.Time{}, whose.Pairs("folder", number)...), Domains: r.DomainsOfList(whose.Domain, true),
		Name: f.Name, Page: folders.PathOf(f.Number), Found: found.Address(), Export: found.At(find.Path + "/export"),
	}
	status := fasthttp.StatusOK
	if view.Span == nil {
		status = fasthttp.StatusUnprocessableEntity
	} else if err := r.Heavily(func() error {
		if err := r.readOwner(view.windows("include", allLists, "top", topShown), whose.Pairs("folder", number)...); err != nil {
			return err
		}
		view.Top = topOf(&view.figuresView, whose)
		return r.fillFigures(&view.figuresView)
	}); err != nil {
		return err
	}
	return r.Show(status, "folder-figures", "Figures of "+f.Name, &view)
}

// inFolder returns the owner that addresses of links in a folder name: whoever may see the links of all means those.
func (r *request) inFolder() string {
	if r.Caller.ReadsAll() {
		return "all"
	}
	return ""
}

// figuresCSV is GET /_/figures.csv: the figures that a page shows, as a file. Its parameters say of which page.
func (r *request) figuresCSV() error {
	whose, code := r.Whose(), r.Query("code")
	if number := r.Query("folder"); number != "" {
		if _, err := folders.Named(r.Request, number); err != nil {
			return err
		}
	}
	var l ops.Link
	if code != "" {
		guard, err := r.Asked(whose)
		if err != nil {
			return err
		}
		if l, err = r.Calls.Read(r.Caller, code, guard); err != nil {
			return err
		}
	}
	v := r.figuresView(l.CreatedAt)
	if v.Span == nil {
		return problem.New(problem.Invalid, "%s", v.Picker.Error)
	}
	err := r.Heavily(func() error {
		if code != "" {
			return r.readLinkWindows(code, whose, v.windows("include", listsOf(&l))...)
		}
		pairs := []string{"include", allLists}
		if r.Query("codes") == "" {
			pairs = append(pairs, "top", topShown)
		}
		return r.readOwner(v.windows(pairs...), whose.Pairs("tag", r.Query("tag"), "folder", r.Query("folder"), "codes", r.codesTyped(r.Query("codes"), whose))...)
	})
	if err != nil {
		return err
	}
	r.sendCSV(v.fileName(code), v.Window.CSVIn(r.zoneOf(&v).Place(), v.Part, v.Then))
	return nil
}
