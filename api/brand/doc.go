// Package brand is what an operator may put on the public pages: a name, a logo, and an address for
// questions. It checks them when the server starts and knows nothing of ours: package page shows
// them, package api serves the logo.
//
// A logo is SVG or PNG, found out by its bytes and not by its name, so that HTML never goes out as
// an image. An SVG file may have scripts; they never run, because a page shows it as an image, and
// because it is served with a policy that sandboxes it (package api) in case somebody opens it by
// itself. Rejected: to clean SVG files, because that takes a list of everything that is harmless.
package brand
