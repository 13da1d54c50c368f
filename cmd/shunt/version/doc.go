// Package version knows which version this program is.
package version
