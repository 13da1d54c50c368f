// Package naming says how people call the values that hits are broken down by: countries, sites and apps that refer,
// devices and browsers. It knows the values as the API has them, and nothing of ours. Whatever shows figures to people
// may use it; the API has the values themselves.
//
// # Countries
//
// Names are the English ones of the Unicode CLDR. They are a table here, because golang.org/x/text/language/display has
// CLDR 32, in which five of them are out of date or long, and brings the names of all languages. A flag is two letters
// of the code as regional indicators; not all systems draw them, so a flag never stands without its name.
//
// # Sites
//
// One table has the hosts of well-known sites (sites.go): a host is named after itself, or else after the closest
// domain above it. Some have a domain in each country (google.de): of these a name alone is in the table, and what
// follows it must be a public suffix, so google.example.com is no Google. A Referer can be made up, like any header: a
// page shows the host beside the name.
//
// Files, leaves first: country.go, sites.go, site.go, agent.go.
package naming
