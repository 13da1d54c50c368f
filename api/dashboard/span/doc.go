// Package span is the time that a page of figures shows: what a visitor can choose, what that is in days of whom, and
// the equal time before it, which it is compared with. It knows zones and clocks, no page and no figures.
//
// # Whose days
//
// Figures are kept by the hour for some days, and by days of the store's zone after that. So a span has the days of its
// viewer as long as all of its hours are kept, and those of the store else: Span.Zone is always one of the two, and a
// page says which. The time before is further back, so a comparison may need days of the store where the span has the
// viewer's.
//
// # Equal times
//
// A span that still runs is compared with a part of the one before that is as long. Today is compared with yesterday
// until the same hour. A longer span that ends with today is compared without today, with the same days a whole number
// of its lengths earlier: of seven days, six with the same six days of the week before, so that a Sunday stands against
// a Sunday. A month that runs is compared with the same days of the month before it; one that is over, or any span of
// days that are over, with as many days before.
//
// Files, leaves first: choice.go, day.go, span.go, before.go, beside.go, of.go.
package span
