//go:build race

package replicate

// manyHistories is how many histories of several nodes run by default.
const manyHistories = 3
