//go:build !race

package storage

const stride = 1

// manyHistories is how many histories of several nodes run by default.
const manyHistories = 12
