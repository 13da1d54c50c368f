package plural

import "strconv"

// Of returns n and a noun: one if n is 1, otherwise many.
func Of[N int | int64 | uint64](n N, one, many string) string {
	noun := many
	if n == 1 {
		noun = one
	}
	if n < 0 {
		return strconv.FormatInt(int64(n), 10) + " " + noun
	}
	return strconv.FormatUint(uint64(n), 10) + " " + noun
}
