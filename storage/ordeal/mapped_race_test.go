//go:build race

package ordeal

const mapped = false
