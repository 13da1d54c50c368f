//go:build race

package expect

const raceDetector = true
