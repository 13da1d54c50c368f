// Package shares is the shares of hits as pages show them: the lists by referrer, country, device and browser with
// names that people use, a map of the countries, and the filter that each line leads to. It knows the figures of
// package ops and no request.
//
// # Lists
//
// Figures have hosts, codes and words of the API. A list has names (package naming). Hosts of one well-known site are
// one line, with the hosts and their hits in a note, so nothing that is known goes. Hits without a value are in the
// last line, which says what it has: "Unknown" if all known values are shown, else "Other".
//
// # Filters
//
// shunt keeps hits by referrer, by country, by device and by browser, each by itself for each link and day. So hits can
// be asked for by one value, of one link or all, over time; but not by two values, and their visitors are not known. A
// filter is one value in the address of a page (ReadFilter); the page says what it cannot show.
//
// Files, leaves first: filter.go, shares.go.
package shares
