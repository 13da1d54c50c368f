// Package plural writes counts for people: 1 link, 2 links. It knows nothing of what is counted and
// imports nothing of ours. Every package that writes for people may use it.
package plural
