package browser

import (
	"net/http"
	"testing"

	"shunt/engine/expect"
)

// A person types rules, a split, a card and a password into the form of a link. Visitors go where they say, once they
// have typed the password. What is wrong with a rule is said after the form was saved.
func TestALinkThatDecidesIsTypedAndFollowed(t *testing.T) {
	withAndWithoutScript(t, func(d *desk) {
		pages := servePages(d.t, map[string]string{"/app": "<h1>The app</h1>", "/a": "<h1>A part</h1>", "/b": "<h1>A part</h1>"}, "default-src 'none'")
		b := d.tab
		b.visit("/_/links/new", http.StatusOK)
		b.unfold("Title, tags, expiry and more", field("Rules"))
		b.unfold("Card for previews in chats", field("Title of the card"))
		for name, text := range map[string]string{
			"Target": pages + "/own", "Alias": "decides", "Rules": "query.to=app -> " + pages + "/app\ndevice=ios -> " + pages + "/ios",
			"Split": "70:" + pages + "/a\n30:" + pages + "/b", "Password": "open sesame", "Title of the card": "What chats show",
		} {
			b.fill(field(name), text)
		}
		b.follow(button("Create the link"))
		b.sees("The link is ready.")

		site := serveEagerly(d.t, d.server) // it makes the browser one of a person
		visitor := watchedTab(d.t, site.base)
		visitor.visit("/decides?to=app", http.StatusUnauthorized)
		visitor.seesNot("What chats show", pages)
		visitor.fill(field("Password"), "open sesame")
		visitor.submit(button("Open the link"), http.StatusOK)
		visitor.find(heading("The app"))
		for range 2 {
			visitor.visit("/decides", http.StatusOK)
			visitor.find(heading("A part"))
		}

		b.visit("/_/link/decides", http.StatusOK)
		b.seesLines("What chats show", "visitors must type it", "query.to=app", "device=ios", "weight 70 of 100", "weight 30 of 100")
		type figures struct {
			Hits    int
			Targets []struct{ URL string }
		}
		got := answerOf[figures](d.server, d.token, http.MethodGet, "/stats/decides?include=targets", nil)
		expect.That(d.t, got.Hits == 3 && len(got.Targets) == 5, "got %+v", got)

		b.follow(link("Edit"))
		b.fill(field("Password"), "")
		b.fill(field("Rules"), "device=ios and device=android -> "+pages+"/app\nquery.to=app -> "+pages+"/app\nquery.to=app -> "+pages+"/ios")
		b.follow(button("Save"))
		b.seesLines("The link is saved.", "Rule 1, condition 2, matches nobody who meets condition 1 of the rule.", "Rule 3 is never reached:")
		chat := openTab(d.t, d.base)
		chat.actAs("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)")
		chat.visit("/decides", http.StatusOK)
		chat.find(heading("What chats show"))
	})
}
