package links

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/reach"
	"shunt/cmd/shunt/settings"
	"shunt/engine"
)

// Commands accept a link as its code, or as its short address: as add prints it, and as people pass
// it on.

// A linkName is a link as a person names it.
type linkName struct {
	code    string
	address string // the short address, with its scheme; empty: only a code was given
	whole   string // the text, if it is a code too unless it is an address of this server: sho.rt/spring
}

// parseLinkName reads a code or a short address. linkOf finds out which server it
// belongs to.
func parseLinkName(text string) (linkName, error) {
	text = engine.NormalCode(text)
	if isCode(text) {
		return nameOfCode(text), nil
	}
	if strings.HasPrefix(text, "/") { // the path of a short address
		_, _, path := splitAddress("http://host" + text)
		if code := codeInPath(path); code != "" {
			return linkName{code: code}, nil
		}
	}
	if !strings.Contains(text, "/") {
		return linkName{}, settings.UsageErrorf("%q is not a code (letters, digits, -, _, . and /) and not a short address", text)
	}
	address := text
	if !strings.Contains(text, "://") {
		address = "http://" + text // sho.rt/spring
	}
	scheme, host, path := splitAddress(address)
	code := codeInPath(path)
	if code == "" || host == "" || !slices.Contains([]string{"http", "https"}, strings.ToLower(scheme)) {
		return linkName{}, settings.UsageErrorf("%q is not a short address: that is an origin, a slash and a code, such as https://sho.rt/spring", text)
	}
	return linkName{code: code, address: address}, nil
}

// isCode reports whether a link may have the code text.
func isCode(text string) bool {
	return engine.ValidCode([]byte(text)) && !engine.Reserved([]byte(text))
}

// nameOfCode returns the name that a code is. With slashes, it may be an address without its scheme.
func nameOfCode(code string) linkName {
	_, path, deeper := strings.Cut(code, "/")
	if inner := codeInPath(path); deeper && inner != "" {
		return linkName{code: inner, address: "http://" + code, whole: code}
	}
	return linkName{code: code}
}

// splitAddress cuts scheme://host/path. Query and fragment are left out: no link depends on them.
func splitAddress(address string) (scheme, host, path string) {
	scheme, rest, _ := strings.Cut(address, "://")
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	host, path, _ = strings.Cut(rest, "/")
	return scheme, host, path
}

// codeInPath returns the code in the path of a link, of its preview or of its QR code; "" if the
// path is none of these.
func codeInPath(path string) string {
	for _, suffix := range []string{"/", "+", ".svg", ".png"} {
		if code, found := strings.CutSuffix(path, suffix); found {
			path = code
			break
		}
	}
	if typed, err := url.PathUnescape(path); err == nil && !engine.OnlyASCII(typed) { // as a browser has it: b%C3%BCcher
		path = engine.NormalCode(typed)
	}
	if !isCode(path) {
		return ""
	}
	return path
}

// A namedLink is a link of a server.
type namedLink struct {
	code   string
	domain string // its host; empty: the default one
}

// in returns the options of a call about the link.
func (l namedLink) in(more ...client.Option) []client.Option {
	if l.domain == "" {
		return more
	}
	return append([]client.Option{client.InDomain(l.domain)}, more...)
}

// linkOf returns the link that name names at the server of c: with an address, one of its domain. An address of another
// server is refused, because the same code may be another link here. What may be a code as a whole is that
// code then; if it begins like an address, only if there is such a link.
func linkOf(ctx context.Context, c *reach.Connection, name linkName) (namedLink, error) {
	if name.address == "" {
		return namedLink{code: name.code}, nil
	}
	me, err := c.Me(ctx)
	if err != nil {
		return namedLink{}, err
	}
	own := me.BaseURL
	if own == "" { // an older server
		own = c.Origin
	}
	_, host, _ := splitAddress(name.address)
	_, ownHost, _ := splitAddress(own)
	if engine.SameOrigin(own, name.address) || !c.Local && engine.SameOrigin(c.Origin, name.address) {
		if me.Domains == nil {
			return namedLink{code: name.code}, nil
		}
		return namedLink{name.code, hostOnly(ownHost)}, nil // without a domain, another one may be meant
	}
	if d, err := c.Domain(ctx, hostOnly(host)); err == nil && !d.Default && isAt(host, d.BaseURL) {
		return namedLink{name.code, d.Host}, nil
	}
	foreign := fmt.Sprintf("%s is not this server (%s), nor a domain of it", console.Printable(host), console.Printable(ownHost))
	if name.whole == "" {
		return namedLink{}, settings.UsageErrorf("%s", foreign)
	}
	if strings.Contains(host, ".") { // it looks like a name on the Internet
		if _, err := c.Link(ctx, name.whole); err != nil {
			return namedLink{}, settings.UsageErrorf("%s, and no link of yours has the code %s", foreign, name.whole)
		}
	}
	return namedLink{code: name.whole}, nil
}

// isAt reports whether an authority has the port of an origin, or none: commands print the links of a domain with its
// host alone.
func isAt(authority, origin string) bool {
	at := strings.LastIndexByte(authority, ':')
	_, host, _ := splitAddress(origin)
	return at < 0 || engine.SameOrigin(origin, "http://"+hostOnly(host)+authority[at:])
}

// hostOnly returns a host without its port.
func hostOnly(authority string) string {
	if host, err := engine.HostName(authority); err == nil {
		return host
	}
	return authority
}

// withLinks is reach.Target.With for a command about the links that texts name: it calls fn for each of them, once for
// a link that is named twice. verb is what the command does, for errors. A name that cannot be a link here ends it
// before anything is done. If fn fails for one of several links, withLinks says so and goes on with the next; in the
// end its error says how many have failed.
func withLinks(
	ctx context.Context, where *reach.Target, verb string, texts []string, stderr io.Writer, fn func(c *reach.Connection, l namedLink) error,
) error {
	failure := func(text string, err error) error { return fmt.Errorf("%s %s: %w", verb, console.Printable(text), err) }
	names := make([]linkName, len(texts))
	for i, text := range texts {
		name, err := parseLinkName(text)
		if err != nil {
			return failure(text, err)
		}
		names[i] = name
	}
	return where.With(ctx, stderr, func(c *reach.Connection) error {
		var links []namedLink
		var named []string
		for i, name := range names {
			link, err := linkOf(ctx, c, name)
			if err != nil {
				return failure(texts[i], err)
			}
			if !slices.Contains(links, link) {
				links, named = append(links, link), append(named, texts[i])
			}
		}
		failed := 0
		for i, link := range links {
			err := fn(c, link)
			switch {
			case err == nil:
			case len(links) == 1 || ctx.Err() != nil:
				return failure(named[i], err)
			default:
				failed++
				fmt.Fprintln(stderr, "shunt:", failure(named[i], err))
			}
		}
		if failed > 0 {
			return fmt.Errorf("%s: %d of %d links failed", verb, failed, len(links))
		}
		return nil
	})
}
