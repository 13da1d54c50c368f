package httpclients

import "strings"

// idnHost is the host of the target that has an IDN host, as it is sent.
const idnHost = "xn--bcher-kva.example"

// A target is where a link of the test leads, at the port of the recorder.
type target struct {
	name     string
	host     string // as a person types it; empty: 127.0.0.1
	sentHost string // in Location; empty: host
	rest     string // what follows the port, as a person types it
	sent     string // the request target of Location: rest without its fragment, in ASCII
	fragment string // in Location, with its #
}

// The forms that are sent are written out, so that the test does not ask the code that it tests. A "%"
// without two digits is not among them: it is sent as it is, but no address by RFC 3986, and clients differ.
var targets = []target{
	{name: "UTF-8", rest: "/wiki/メインページ?q=é", sent: "/wiki/%E3%83%A1%E3%82%A4%E3%83%B3%E3%83%9A%E3%83%BC%E3%82%B8?q=%C3%A9"},
	{name: "|", rest: "/a|b{c}^d`e<f>?g=h|i{j}^k`l<m>", sent: "/a%7Cb%7Bc%7D%5Ed%60e%3Cf%3E?g=h%7Ci%7Bj%7D%5Ek%60l%3Cm%3E"},
	{name: "quotes", rest: `/"a"'b'?q="c"&r='d'`, sent: `/%22a%22'b'?q=%22c%22&r='d'`},
	{name: "%25", rest: "/100%25/a%2Fb%2fc?q=%2525&r=%c3%a9", sent: "/100%25/a%2Fb%2fc?q=%2525&r=%c3%a9"},
	{name: "#!", rest: "/app?q=é#!/inbox/é|[x]", sent: "/app?q=%C3%A9", fragment: "#!/inbox/%C3%A9%7C[x]"},
	{name: "+", rest: "/a+b%20c%2Bd?q=e+f%20g%2Bh", sent: "/a+b%20c%2Bd?q=e+f%20g%2Bh"},
	{name: "//", rest: "//a//b/?u=http://c.example//d", sent: "//a//b/?u=http://c.example//d"},
	{name: "IDN host", host: "Bücher.example", sentHost: idnHost, rest: "/straße?q=ü", sent: "/stra%C3%9Fe?q=%C3%BC"},
	{name: "8,000 bytes", rest: longRest, sent: strings.ReplaceAll(longRest, "é", "%C3%A9")},
	{name: "%0A", rest: "/a%0Ab?c=%0D%0Ad%00", sent: "/a%0Ab?c=%0D%0Ad%00"},
}

// longRest makes a Location of 8,000 bytes if the port has five digits.
var longRest = "/" + strings.Repeat("path-é/", 400) + "?" + strings.Repeat("q=é&", 220) + strings.Repeat("x=yz&", 238) + "ending"

// typed returns the address as a person types it.
func (g target) typed(port string) string { return "http://" + g.at(g.host, port) + g.rest }

// location returns what Location must be.
func (g target) location(port string) string {
	return "http://" + g.sentTo(port) + g.sent + g.fragment
}

// sentTo returns the host and port in Location.
func (g target) sentTo(port string) string { return g.at(g.sentHost, port) }

func (g target) at(host, port string) string {
	if host == "" {
		host = "127.0.0.1"
	}
	return host + ":" + port
}
