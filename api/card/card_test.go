package card

import (
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"shunt/engine"
	"shunt/engine/expect"
)

// anyAddress is a policy that takes every address.
func anyAddress(raw string) (string, error) { return raw, nil }

func TestACardIsReadAsItIsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-zß<>"'&\\\pL]{1,50}`)
		c := engine.Card{Title: text.Draw(t, "title")}
		if rapid.Bool().Draw(t, "all") {
			c.Description, c.Image = text.Draw(t, "description"), "https://i/"+text.Draw(t, "image")
		}
		got, err := Read(json.RawMessage(Append(nil, &c)), anyAddress)
		expect.MustThat(t, err == nil && got == c, "got %+v, %v, want %+v", got, err, c)
	})
}

func TestAPatchChangesThePartsThatAreSent(t *testing.T) {
	before := engine.Card{Title: "t", Description: "d", Image: "http://i/"}
	for text, want := range map[string]engine.Card{
		`{}`: before, `{"title":"u"}`: {Title: "u", Description: "d", Image: "http://i/"}, `{"description":null}`: {Title: "t", Image: "http://i/"},
		`{"description":" "}`: {Title: "t", Image: "http://i/"}, `{"image":null,"description":"e"}`: {Title: "t", Description: "e"},
		`{"title":null,"description":"","image":null}`: {},
	} {
		p, err := ReadPatch(json.RawMessage(text), anyAddress)
		expect.OK(t, err, text)
		got, err := p.Apply(before)
		expect.That(t, err == nil && got == want && p.Sent, "%s: got %+v, %v, want %+v", text, got, err, want)
	}
	p, err := ReadPatch(json.RawMessage(`{"title":null}`), anyAddress)
	expect.OK(t, err)
	_, err = p.Apply(before)
	expect.Equal(t, err, error(errNoTitle), "a card without a title")
}

// FuzzPage puts any texts into a card: the page must show them as they are, and have no element of them.
func FuzzPage(f *testing.F) {
	f.Add("</title><script>", `"><img src=x>`, "https://i/'\"<>&", `https://s/x"><b`)
	f.Add("&lt;&#x3c;", "--><!--", "", "")
	f.Fuzz(func(t *testing.T, title, description, image, address string) {
		c := engine.Card{Title: strings.ToValidUTF8(title, ""), Description: strings.ToValidUTF8(description, ""), Image: image}
		root, err := html.Parse(strings.NewReader(string(Page(&c, string(engine.AppendASCII(nil, []byte(address)))))))
		expect.OK(t, err)
		elements := 0
		for n := range root.Descendants() {
			if n.Type == html.ElementNode {
				elements++
				expect.That(t, strings.Contains(" html head title meta body h1 p ", " "+n.Data+" ") && len(n.Attr) <= 2, "%q has %s %v", title+description+image+address, n.Data, n.Attr)
			}
			for _, a := range n.Attr {
				if a.Key == "content" && n.Attr[0].Val == "og:title" {
					expect.Equal(t, a.Val, readable(c.Title), "the title")
				}
			}
		}
		expect.That(t, elements <= 14, "%d elements", elements)
	})
}

// readable returns a text as a reader of HTML has it: with line feeds, and without the character 0.
func readable(text string) string {
	return strings.ReplaceAll(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\x00", "\uFFFD")
}
