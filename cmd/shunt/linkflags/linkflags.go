package linkflags

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shunt/api/client"
	"shunt/api/ruletext"
	"shunt/api/tagtext"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/settings"
)

// A Field is a field of a link that a person can set.
type Field struct {
	Flag   string // of add and edit, and its name in show
	Name   string // in the API; that of a part of a field has a dot
	Kind   string // of its value, as --help has it; "bool" for one that needs no value
	usage  string
	inAdd  string                            // what the help of add says beside usage: the default
	inEdit string                            // what the help of edit says beside usage: how to get the default again
	read   func(texts []string) (any, error) // what the API is sent for the flag's values; nil: the default
	Show   func(l *client.Link) string
}

// Fields has a row for each field: a flag of add and of edit, and a line of show.
var Fields = []Field{
	{"url", "url", "URL", "where it leads; https:// may be left out", "", "",
		last(readText), func(l *client.Link) string { return l.URL }},
	{"title", "title", "TEXT", "for people", "", "'': none",
		last(readText), func(l *client.Link) string { return cmp.Or(l.Title, "-") }},
	{"note", "note", "TEXT", "more for people: why the link is there, or whom to ask", "", "'': none",
		last(readText), func(l *client.Link) string { return cmp.Or(l.Note, "-") }},
	{"tag", "tags", "TAG", "label; several have commas between them, or the flag is repeated", "", "'': none",
		readTags, func(l *client.Link) string { return cmp.Or(tagtext.Join(l.Tags), "-") }},
	{"folder", "folder", "ID", "the folder that it is in, whose members read or edit it; 'shunt folder ls' lists them", "default none", "or none",
		last(readFolder), showFolder},
	{"starts", "starts_at", "TIME", "when it begins; until then it looks unknown to visitors: 2h, 30d, 2030-12-31 (the beginning of that day here) or 2030-12-31T08:00:00Z", "default at once", "or now",
		last(readStart), func(l *client.Link) string { return console.TimeOr(l.StartsAt, "-") }},
	{"expires", "expires_at", "TIME", "when it ends: 30d, 2w, 1y, 12h, 2030-12-31 (the end of that day here) or 2030-12-31T23:59:59Z", "default never", "or never",
		last(readExpiry), func(l *client.Link) string { return console.TimeOrNever(l.ExpiresAt) }},
	{"expired-url", "expired_url", "URL", "where visitors are sent once it has expired or its hits are used up", "default nowhere", "'': nowhere",
		last(readTextOrNone), func(l *client.Link) string { return cmp.Or(l.ExpiredURL, "-") }},
	{"max-hits", "max_hits", "HITS", "hits after which it stops redirecting", "default: any number", "none: any number",
		last(readMaxHits), showMaxHits},
	{"status", "redirect_status", "STATUS", "redirect status: 301, 302, 307 or 308", "default 302", "",
		last(readStatus), func(l *client.Link) string { return strconv.Itoa(l.RedirectStatus) }},
	{"forward-query", "forward_query", "bool", "pass the query string after the code on to the target", "", "--forward-query=false: do not",
		last(readYes), func(l *client.Link) string { return strconv.FormatBool(l.ForwardQuery) }},
	{"query", "query", "MODE", "what becomes of that query string: none, append (as --forward-query), override (its parameters replace the target's) or keep (the target's win)", "default none", "",
		last(readQuery), func(l *client.Link) string { return string(l.Query) }},
	{"forward-path", "forward_path", "bool", "add what follows the code in the path to the path of the target: /docs/a leads to TARGET/a", "", "--forward-path=false: do not",
		last(readYes), func(l *client.Link) string { return strconv.FormatBool(l.ForwardPath) }},
	{"disable", "disabled", "bool", "answer 410 instead of redirecting", "", "--disable=false: redirect again",
		last(readYes), func(l *client.Link) string { return strconv.FormatBool(l.Disabled) }},
	{"rule", "rules", "RULE", "'CONDITION -> URL': send visitors who meet the condition there; the first of several counts, and the flag is repeated", "", "'': none",
		lines(ruletext.ReadRules), func(l *client.Link) string { return cmp.Or(strings.Join(ruletext.Rules(l.Rules), "; "), "-") }},
	{"split", "split", "WEIGHT:URL", "one of 2 to 10 targets among which visitors are divided whom no rule sends elsewhere; the flag is repeated", "", "'': none",
		lines(ruletext.ReadSplit), func(l *client.Link) string { return cmp.Or(strings.Join(ruletext.Split(l.Split), "; "), "-") }},
	{"password-file", "password", "FILE", "ask visitors for a password: the first line of FILE", "", "'': none",
		last(readPassword), showPassword},
	{"card-title", "card.title", "TEXT", "what chats and posts show of the link, in place of the title of its target; others are redirected", "", "'': none",
		last(readTextOrNone), func(l *client.Link) string { return cmp.Or(cardOf(l).Title, "-") }},
	{"card-description", "card.description", "TEXT", "what they show below --card-title", "", "'': nothing",
		last(readTextOrNone), func(l *client.Link) string { return cmp.Or(cardOf(l).Description, "-") }},
	{"card-image", "card.image", "URL", "the image that they show with --card-title", "", "'': none",
		last(readTextOrNone), func(l *client.Link) string { return cmp.Or(cardOf(l).Image, "-") }},
}

var queries = []string{string(client.QueryNone), string(client.QueryAppend), string(client.QueryOverride), string(client.QueryKeep)}

var redirectStatuses = []string{"301", "302", "307", "308"}

// Add gives add or edit the flags of the fields. The fields that are given are put into
// given, as the API is to be sent them. The target of a new link is an argument.
func Add(fs *pflag.FlagSet, given map[string]any, ofNew bool) {
	for i := range Fields {
		f := &Fields[i]
		if ofNew && f.Flag == "url" {
			continue
		}
		flag := fs.VarPF(&linkFlag{field: f, given: given}, f.Flag, "", f.help(ofNew))
		if f.Kind == "bool" {
			flag.NoOptDefVal = "true"
		}
		settings.MarkArguments(fs, f.Flag)
	}
	settings.CompleteWords(fs, "status", redirectStatuses...)
	settings.CompleteWords(fs, "query", queries...)
}

func (f *Field) help(ofNew bool) string {
	more := f.inEdit
	if ofNew {
		more = f.inAdd
	}
	if more == "" {
		return f.usage
	}
	return f.usage + " (" + more + ")"
}

// A linkFlag is the flag of a field.
type linkFlag struct {
	field *Field
	given map[string]any
	texts []string
}

var _ pflag.Value = (*linkFlag)(nil)

func (f *linkFlag) Set(text string) error {
	f.texts = append(f.texts, text)
	value, err := f.field.read(f.texts)
	name, part, isPart := strings.Cut(f.field.Name, ".")
	if !isPart {
		f.given[name] = value
		return err
	}
	parts, _ := f.given[name].(map[string]any)
	if parts == nil {
		parts = make(map[string]any)
		f.given[name] = parts
	}
	parts[part] = value
	return err
}

func (f *linkFlag) String() string { return strings.Join(f.texts, ",") }
func (f *linkFlag) Type() string   { return f.field.Kind }

// lines makes a reader of a flag that is repeated of one of its values. An empty one alone resets the field.
func lines[T any](read func(texts []string) ([]T, error)) func(texts []string) (any, error) {
	return func(texts []string) (any, error) {
		if len(texts) == 1 && strings.TrimSpace(texts[0]) == "" {
			return nil, nil
		}
		return read(texts)
	}
}

// last makes a reader of a flag's values of a reader of one: the last counts.
func last(read func(text string) (any, error)) func(texts []string) (any, error) {
	return func(texts []string) (any, error) { return read(texts[len(texts)-1]) }
}

func readText(text string) (any, error) { return text, nil }

// readTextOrNone resets the field where there is no text.
func readTextOrNone(text string) (any, error) {
	if text == "" {
		return nil, nil
	}
	return text, nil
}

// readPassword returns the first line of a file.
func readPassword(file string) (any, error) {
	if file == "" {
		return nil, nil
	}
	text, err := settings.ReadAtMost(file, maxPasswordFile)
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimSuffix(line, "\r"); err == nil && line == "" {
		err = fmt.Errorf("the first line of %s is empty", file)
	}
	return line, err
}

// maxPasswordFile stops a wrong path from being read whole, in bytes.
const maxPasswordFile = 4096

func showPassword(l *client.Link) string {
	if l.HasPassword {
		return "asked for"
	}
	return "-"
}

// readTags reads each text as the pages read theirs.
func readTags(texts []string) (any, error) {
	var tags []string
	for _, text := range texts {
		tags = append(tags, tagtext.Split(text)...)
	}
	if len(tags) == 0 {
		return nil, nil
	}
	return tags, nil
}

func readFolder(text string) (any, error) {
	if text == "none" || text == "" {
		return nil, nil
	}
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil || id == 0 {
		return nil, errors.New("must be the ID of a folder, or none")
	}
	return id, nil
}

func showFolder(l *client.Link) string {
	if l.Folder == 0 {
		return "-"
	}
	return strconv.FormatUint(uint64(l.Folder), 10)
}

func readExpiry(text string) (any, error) {
	if text == "never" || text == "none" {
		return nil, nil
	}
	return settings.ParseExpiry(text, time.Now(), time.Local)
}

func readStart(text string) (any, error) {
	if text == "now" || text == "none" {
		return nil, nil
	}
	return settings.ParseStart(text, time.Now(), time.Local)
}

func readMaxHits(text string) (any, error) {
	if text == "none" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return nil, errors.New("must be a smaller number")
	case err != nil:
		return nil, errors.New("must be a number of hits, or none")
	}
	return n, nil
}

func readStatus(text string) (any, error) {
	status, err := settings.OneOf(redirectStatuses...)(text)
	if err != nil {
		return nil, err
	}
	return strconv.Atoi(status)
}

func readQuery(text string) (any, error) {
	query, err := settings.OneOf(queries...)(text)
	if err != nil {
		return nil, err
	}
	return query, nil
}

func readYes(text string) (any, error) {
	yes, err := settings.ParseBool(text)
	if err != nil {
		return nil, err
	}
	return yes, nil
}

// cardOf returns the card of a link, an empty one if it has none.
func cardOf(l *client.Link) client.Card {
	if l.Card == nil {
		return client.Card{}
	}
	return *l.Card
}

func showMaxHits(l *client.Link) string {
	if l.MaxHits == 0 {
		return "none"
	}
	return strconv.FormatUint(l.MaxHits, 10)
}

// Names lists the flags of the fields.
func Names() string {
	names := make([]string, len(Fields))
	for i, f := range Fields {
		names[i] = "--" + f.Flag
	}
	return fmt.Sprintf("%s or %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}

// APINames returns the names that the fields have in the API, but for the target's.
func APINames() string {
	var names []string
	for _, f := range Fields {
		if name, _, _ := strings.Cut(f.Name, "."); name != "url" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ") + "."
}
