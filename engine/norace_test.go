//go:build !race

package engine_test

// manyHistories is how many histories of several nodes run by default.
const manyHistories = 6
