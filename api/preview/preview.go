package preview

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"shunt/api/page"
	"shunt/api/redirect"
)

// Title is the heading of every preview.
const Title = "Where this link leads"

// Body returns the HTML of a preview, below its title. The page links to the short address, so that
// a visitor that follows it is counted. If the link has a limit of hits, only the host of its
// target is shown: with the whole target a visitor could go there without a hit. Of the targets that a link may choose
// instead, only the hosts are shown.
func Body(link redirect.Peeked, created time.Time) page.Markup {
	shown, host := shownTarget(link.Target)
	var b strings.Builder
	add := func(format string, values ...any) { b.WriteString(string(page.Format(format+"\n", values...))) }
	add(`<p class="host" translate="no">%s</p>`, host)
	if link.Capped {
		add("<p>This link can be used a limited number of times, so only the host of its target is shown.</p>")
	} else {
		add(`<p class="address" translate="no">%s</p>`, shown)
	}
	if len(link.Others) > 0 {
		add(`<p>Some visitors are sent elsewhere: to <bdi translate="no">%s</bdi>.</p>`, strings.Join(hostsOf(link.Others), ", "))
	}
	switch readable, doubtful := readableHost(host); {
	case doubtful:
		add(`<p><strong>Check the name</strong> <bdi translate="no">%s</bdi>: written out, it has letters that look like other letters.</p>`, host)
	case readable != "":
		add(`<p><bdi translate="no">%s</bdi> is the technical form of <bdi translate="no">%s</bdi>.</p>`, host, readable)
	}
	created = created.UTC()
	add(`<p class="quiet">This link was created on <time datetime="%s">%s UTC</time>.</p>`, created.Format(time.RFC3339),
		created.Format("2 January 2006, 15:04"))
	add(`<p class="act"><a class="button" href="/%s" rel="nofollow noreferrer">Follow this link</a></p>`, link.Code)
	return page.Markup(strings.TrimSuffix(b.String(), "\n"))
}

// hostsOf returns the hosts of targets, each once.
func hostsOf(targets []string) (hosts []string) {
	for _, target := range targets {
		if _, host := shownTarget(target); !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// shownTarget returns a target in a form that is safe to show, and its host, or its scheme if it has no host. After the
// host, characters outside ASCII are shown as browsers send them: some of them change the order in which text is read,
// and some are invisible.
func shownTarget(target string) (shown, host string) {
	scheme, after, _ := strings.Cut(target, ":")
	after, found := strings.CutPrefix(after, "//")
	if !found { // an address without a host, such as mailto:a@b.test
		return percentEncoded(target), scheme
	}
	end := strings.IndexAny(after, "/?#")
	if end < 0 {
		end = len(after)
	}
	return scheme + "://" + after[:end] + percentEncoded(after[end:]), (&url.URL{Host: after[:end]}).Hostname()
}

// percentEncoded returns text with each byte outside ASCII percent-encoded.
func percentEncoded(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < 0x80 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
