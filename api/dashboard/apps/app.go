package apps

import (
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/url"
	"slices"
	"strings"
)

// A setup is how an app is set up: values for its settings, and what to do with them.
type setup struct {
	Steps    []string // what to do, one after the other
	Settings []setting
	Text     string // that is copied whole; empty: none
	File     *file  // nil: none
}

// A setting is a field of the app, and what to put there.
type setting struct{ Name, Value string }

// A file is one that the browser saves without asking the server for it again: the token in it is shown once.
type file struct {
	Name string
	URL  template.URL
}

// An app is a program that makes links.
type app struct {
	ID, Name, About string
	setup           func(baseURL, token string) setup
}

// apps are all apps that need a token, in the order of the page.
var apps = []app{
	{"sharex", "ShareX", "Shortens addresses from the clipboard, on Windows.", shareX},
	{"shortcuts", "Shortcuts", "Makes a link from the share sheet of an iPhone, an iPad or a Mac.", shortcuts},
	{"n8n", "n8n", "Makes links in a workflow, by the node HTTP Request.", n8n},
	{"curl", "curl", "Makes a link in a terminal, or in a script.", curl},
}

// named returns the app of an id; nil: there is none.
func named(id string) *app {
	i := slices.IndexFunc(apps, func(a app) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	return &apps[i]
}

// call is the address of the call that makes a link.
func call(baseURL string) string { return baseURL + "/api/v1/shorten" }

// hostOf returns the host of an address, by which apps show where links are made.
func hostOf(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return baseURL
	}
	return u.Host
}

// shareX makes a custom uploader, as ShareX's documentation of .sxcu files has it. The answer is the address alone.
func shareX(baseURL, token string) setup {
	text, _ := json.MarshalIndent(map[string]any{ // strings can always be encoded
		"Version": "15.0.0", "Name": hostOf(baseURL), "DestinationType": "URLShortener",
		"RequestMethod": "POST", "RequestURL": call(baseURL),
		"Headers": map[string]string{"Authorization": "Bearer " + token, "Accept": "text/plain"},
		"Body":    "FormURLEncoded", "Arguments": map[string]string{"url": "{input}"},
		"URL": "{response}", "ErrorMessage": "{json:detail}",
	}, "", "  ")
	return setup{
		Steps: []string{
			"Save the file and open it: ShareX asks whether to use it.",
			"In ShareX, choose Destinations, URL shortener, Custom URL shortener.",
		},
		File: &file{strings.ReplaceAll(hostOf(baseURL), ":", "-") + ".sxcu", template.URL("data:application/json;base64," + base64.StdEncoding.EncodeToString(text))},
		Text: string(text),
	}
}

func shortcuts(baseURL, token string) setup {
	return setup{
		Steps: []string{
			"In Shortcuts, make a new shortcut that receives URLs from the share sheet.",
			"Add the action Get Contents of URL, and give it the settings below.",
			"Add the action Copy to Clipboard. The answer is the short address alone.",
		},
		Settings: []setting{
			{"URL", call(baseURL)}, {"Method", "POST"},
			{"Header Authorization", "Bearer " + token}, {"Header Accept", "text/plain"},
			{"Request Body", "Form"}, {"Field url", "Shortcut Input"},
		},
	}
}

func n8n(baseURL, token string) setup {
	return setup{
		Steps: []string{
			"Add the node HTTP Request, and give it the settings below.",
			"The short address is in the field short_url of its answer.",
		},
		Settings: []setting{
			{"Method", "POST"}, {"URL", call(baseURL)},
			{"Authentication", "Generic Credential Type, Header Auth"}, {"Name of the header", "Authorization"}, {"Value of the header", "Bearer " + token},
			{"Send Body", "on"}, {"Body Content Type", "JSON"}, {"Field url", "the address, such as {{ $json.url }}"},
		},
	}
}

func curl(baseURL, token string) setup {
	return setup{
		Steps: []string{"Run this with the address that you want to shorten."},
		Text: "curl " + call(baseURL) + " -H 'Authorization: Bearer " + token +
			"' -H 'Accept: text/plain' --data-urlencode 'url=https://example.com/'",
	}
}

// bookmarklet returns a bookmark that opens the form of a new link with the address and the title of the page. It has
// no token, since it runs in pages of others, which could read it.
func bookmarklet(baseURL, form string) template.URL {
	at, _ := json.Marshal(baseURL + form) // a string of JavaScript
	return template.URL("javascript:void(open(" + string(at) +
		"+'?url='+encodeURIComponent(location.href)+'&title='+encodeURIComponent(document.title)))")
}
