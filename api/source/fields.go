package source

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shunt/api/when"
	"shunt/engine/texts"
)

// A value is one of a record: a text, or a list.
type value struct {
	text string
	list []string
}

func (v value) empty() bool { return v.text == "" && len(v.list) == 0 }

// Fields are the values of a record by their names, see plainName.
type fields map[string]value

// plainName returns a name without case, blanks and signs: “Long URL”, long_url and longUrl are one.
func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c > 0x7f:
			return c
		}
		return -1
	}, name)
}

// names are what systems call the fields of a link, the surest first. The first one is that of shunt's API.
var names = withTexts(map[string][]string{
	"url":             {"url", "longurl", "target", "targeturl", "destination", "destinationurl", "originalurl", "long"},
	"code":            {"code", "shortcode", "slug", "alias", "slashtag", "keyword", "key", "path", "address", "short"},
	"short_url":       {"shorturl", "shortlink", "customlink", "bitlink", "link", "source"},
	"domain":          {"domain", "domainfullname", "host", "hostname"},
	"tags":            {"tags", "tag", "labels"},
	"created_at":      {"createdat", "created", "datecreated", "timestamp", "date", "creationdate"},
	"updated_at":      {"updatedat", "updated", "lastedit", "modified"},
	"starts_at":       {"startsat", "validsince", "metavalidsince"},
	"expires_at":      {"expiresat", "expires", "expiration", "expiry", "expirein", "validuntil", "metavaliduntil"},
	"expired_url":     {"expiredurl"},
	"max_hits":        {"maxhits", "maxvisits", "metamaxvisits"},
	"hits":            {"hits", "clicks", "visits", "totalclicks", "visitcount", "visitscount", "visitssummarytotal"},
	"redirect_status": {"redirectstatus"},
	"disabled":        {"disabled", "disabledat", "banned", "isdisabled"},
	"forward_query":   {"forwardquery", "redirectwithquery"},
	"password":        {"password", "secretkey", "haspassword", "passwordhash", "passwordprotected", "passwordenabled"},
})

// withTexts adds the names of all texts of a link.
func withTexts(names map[string][]string) map[string][]string {
	for _, t := range texts.All() {
		names[t.Name] = append([]string{plainName(t.Name)}, t.Others...)
	}
	return names
}

// derived are values that follow from others, or of which nothing is kept by design: they are not missed.
var derived = []string{
	"id", "linkid", "ip", "state", "crawlable", "unique", "visitssummarynonbots", "visitssummarybots", "domainid", "domainref", "domainactive", "idstring", "secureshorturl",
	"projectid", "workspaceid", "userid", "owner", "ownerid", "qrcode", "scheme", "urlhash",
}

// isName reports whether a name is one of a field of a link.
func isName(plain string) bool {
	for _, all := range names {
		if slices.Contains(all, plain) {
			return true
		}
	}
	return false
}

// take removes a field, by all of its names, and returns its first value that is not empty. Another note than the
// first stays, to be counted among what has no place.
func (f fields) take(field string) (v value) {
	for _, name := range names[field] {
		found := f[name]
		if v.empty() {
			v = found
		} else if field == "note" && !found.empty() && found.text != v.text {
			continue
		}
		delete(f, name)
	}
	return v
}

// yes reports whether a value says yes. Any text that is none of the words of no does: a moment at which a link was
// disabled, say.
func (v value) yes() bool {
	switch strings.ToLower(v.text) {
	case "", "0", "false", "no", "null", "n", "off", "-", "nein", "non", "falsch", "faux", "falso":
		return false
	}
	return true
}

// tags returns the tags of a value: a list, or a text with | or commas between them.
func (v value) tags() (tags []string) {
	tags = v.list
	if tags == nil {
		separator := ","
		if strings.Contains(v.text, "|") {
			separator = "|"
		}
		tags = strings.Split(v.text, separator)
	}
	for i := range tags {
		tags[i] = strings.TrimSpace(tags[i])
	}
	return slices.DeleteFunc(tags, func(tag string) bool { return tag == "" })
}

var (
	errNoURL    = errors.New("has no target")
	errNoCode   = errors.New("has no code")
	errRoot     = errors.New("is the domain's own address and not a link: set it with “shunt domain edit HOST --root-url”")
	errNotUTF8  = errors.New("is not UTF-8: save the file as UTF-8, in a spreadsheet as “CSV UTF-8”")
	errPassword = errors.New("has a password, which is not in the file: the link would be open to all; make it with a new one")
)

// linkOf makes a link of f, all of which it takes. lost are the names of values that have no place in a link. With an
// error there is what could be read of the link.
func (f fields) linkOf(s *system, zone *time.Location) (l link, at []address, lost []string, err error) {
	switch {
	case !f.isText():
		err = errNotUTF8
	case s.refused != nil:
		err = s.refused(f)
	}
	if err != nil {
		return l, nil, nil, err
	}
	at, err = f.addresses(s)
	l.URL = f.take("url").text
	for _, t := range texts.All() {
		*l.Text(t.Name) = tidied(f.take(t.Name).text, t.Lines)
	}
	l.Tags, l.Disabled, l.ForwardQuery = f.take("tags").tags(), f.take("disabled").yes(), f.take("forward_query").yes()
	l.ExpiredURL, l.RedirectStatus = f.take("expired_url").text, s.status
	wrong := errors.Join(f.times(&l, zone), f.numbers(&l))
	switch l.HasPassword = f.take("password").yes(); {
	case err != nil:
	case l.HasPassword:
		err = errPassword
	case l.URL == "":
		err = errNoURL
	default:
		err = wrong
	}
	if err != nil {
		return l, at, nil, err
	}
	for name, v := range f {
		if (v.yes() || len(v.list) > 0) && !slices.Contains(derived, name) {
			lost = append(lost, name)
		}
	}
	slices.Sort(lost)
	return l, at, lost, nil
}

// isText reports whether all values are UTF-8. What JSON has that is not has become U+FFFD, which no target or code
// has.
func (f fields) isText() bool {
	for name, v := range f {
		if !utf8.ValidString(v.text) || strings.Contains(v.text, "\ufffd") && (slices.Contains(names["url"], name) || slices.Contains(names["code"], name)) {
			return false
		}
	}
	return true
}

// tidied makes blanks of tabs and, in a text that has one line here, of the ends of lines; in another, it makes them
// those that texts have here.
func tidied(text string, lines bool) string {
	if lines {
		return ends.Replace(text)
	}
	return strings.TrimSpace(blanks.Replace(text))
}

var ends = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", " ")

var blanks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// windows1252 are the characters of bytes from 0x80 to 0x9f in what MySQL calls latin1; others stand for themselves.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

// encodedOnce returns a text that was encoded in UTF-8 twice, as those in old databases are that took UTF-8 for latin1:
// “Blüte” instead of “BlÃ¼te”. It is certain of it only if all of the text is such, with a letter beyond ASCII: by
// chance, nobody writes a text whose every part is right when it is read so.
func encodedOnce(text string) (once string, ok bool) {
	plain := make([]byte, 0, len(text))
	for _, r := range text {
		if at := strings.IndexRune(windows1252, r); at >= 0 {
			r = 0x80 + rune(utf8.RuneCountInString(windows1252[:at]))
		} else if r > 0xff {
			return text, false
		}
		plain = append(plain, byte(r))
	}
	if len(plain) == len(text) || !utf8.Valid(plain) { // ASCII only, or no UTF-8
		return text, false
	}
	return string(plain), true
}

// addresses takes where the link was, in Bitly's case in several places, which all redirect.
func (f fields) addresses(s *system) (at []address, err error) {
	var texts []string
	if s.alsoAt != nil {
		texts = s.alsoAt(f)
	}
	host, code, long := strings.ToLower(f.take("domain").text), f.take("code").text, f.take("short_url").text
	if code == "" || strings.Contains(code, "://") {
		code, long = "", cmp.Or(code, long)
	}
	if host == "" && isAddress(long) {
		host = addressOf(long).host
	}
	switch {
	case code != "" && s.encoded:
		code = decoded(code)
	case code == "":
		texts = append(texts, long)
	}
	if code = strings.Trim(code, "/"); code != "" {
		at = append(at, address{host, code})
	}
	for _, text := range texts {
		a := addressOf(text)
		a.host = cmp.Or(a.host, host)
		switch {
		case a.code == "" && a.host != "":
			return nil, errRoot
		case a.code != "" && !slices.Contains(at, a):
			at = append(at, a)
		}
	}
	switch {
	case len(at) == 0:
		return nil, errNoCode
	case at[0].code == "_root":
		return nil, errRoot
	}
	return at, nil
}

// times takes the times of a link.
func (f fields) times(l *link, zone *time.Location) (err error) {
	for _, field := range []struct {
		name string
		to   *string
	}{{"created_at", &l.CreatedAt}, {"updated_at", &l.UpdatedAt}, {"starts_at", &l.StartsAt}, {"expires_at", &l.ExpiresAt}} {
		text := f.take(field.name).text
		t, ok := moment(text, zone)
		if end, isDate := when.Expiry(strings.ReplaceAll(text, "/", "-"), zone); field.name == "expires_at" && isDate {
			t = end // of that day
		}
		switch {
		case text == "", ok && t.IsZero():
		case ok:
			*field.to = t.Truncate(time.Millisecond).Format(time.RFC3339Nano) // as links keep it
		default:
			err = errors.Join(err, l.isWrong(field.name, text, "time"))
		}
	}
	return err
}

// isWrong notes a value that is none of its kind, and returns the error of it.
func (l *link) isWrong(field, text, kind string) error {
	if l.wrong == nil {
		l.wrong = make(map[string]string)
	}
	l.wrong[field] = text
	return fmt.Errorf("%s: “%s” is no %s", field, shortened(text), kind)
}

// numbers takes the numbers of a link.
func (f fields) numbers(l *link) (err error) {
	status := uint64(l.RedirectStatus)
	for _, field := range []struct {
		name string
		to   *uint64
	}{{"hits", &l.Hits}, {"max_hits", &l.MaxHits}, {"redirect_status", &status}} {
		text := f.take(field.name).text
		n, ok := number(strings.TrimSuffix(text, ".0"))
		switch {
		case text == "":
		case ok:
			*field.to = n
		default:
			err = errors.Join(err, l.isWrong(field.name, text, "number"))
		}
	}
	if l.RedirectStatus = int(min(status, 999)); l.wrong["redirect_status"] != "" {
		l.RedirectStatus = 0 // the line of a refused record has the wrong one
	}
	return err
}

// maxShown bounds what a message has of a value.
const maxShown = 60

func shortened(text string) string {
	if len(text) <= maxShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxShown], "") + "…"
}
