package visit

import (
	"cmp"

	"shunt/engine/texts"
)

// Label returns the name of a field of the API for people, as a text; the name itself if it has none.
func Label(field string) string {
	if t := texts.Named(field); t != nil {
		return t.Label
	}
	return cmp.Or(labels[field], field)
}

// labels are the names of fields of the API as people read them.
var labels = map[string]string{
	"url": "Target", "tags": "Tags", "folder": "Folder", "owner": "Owner", "starts_at": "Starts", "expires_at": "Expires",
	"max_hits": "Click limit", "expired_url": "Leads to after its end", "redirect_status": "Kind of redirect", "query": "What follows a ?",
	"forward_query": "Passes on what follows a ?", "forward_path": "Passes on the path after the code", "rules": "Rules", "split": "Split", "card": "Card",
	"password": "Password", "disabled": "Disabled", "email": "E-mail address", "role": "Role", "domains": "Domains", "name": "Name", "scopes": "Allows",
	"node": "Node", "copy": "Copy of", "members": "Members", "host": "Host", "aliases": "Aliases", "base_url": "Short addresses begin with",
	"root_url": "Root leads to", "not_found_url": "Unknown codes lead to", "case": "Upper and lower case in codes", "trim": "Dots and brackets after an address",
	"unicode_codes": "Letters in codes", "certificate": "Certificate", "robots": "robots.txt", "apple_app_site_association": "App links on iOS", "assetlinks": "App links on Android",
}
