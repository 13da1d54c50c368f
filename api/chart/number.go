package chart

import (
	"math"
	"strconv"
)

// Grouped returns n with its thousands grouped: 1,234,567.
func Grouped(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	out := make([]byte, 0, len(digits)+len(digits)/3)
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			out = append(out, ',')
		}
		out = append(out, digits[i])
	}
	return string(out)
}

// Short returns n in at most four characters and a unit, rounded down: 999, 1.2k, 12k, 3.4M. Beyond
// a thousand trillion (T) the number before the unit grows.
func Short(n uint64) string {
	if n < 1000 {
		return strconv.FormatUint(n, 10)
	}
	unit, units := uint64(1000), "kMBT"
	for n/unit >= 1000 && len(units) > 1 {
		unit, units = unit*1000, units[1:]
	}
	whole, tenth := n/unit, n%unit/(unit/10)
	if whole >= 10 || tenth == 0 {
		return Grouped(whole) + units[:1]
	}
	return strconv.FormatUint(whole, 10) + "." + strconv.FormatUint(tenth, 10) + units[:1]
}

// Share returns how much of total part is, in whole per cent, rounded to the nearest. Only nothing is
// 0%, and only everything is 100%.
func Share(part, total uint64) string {
	percent := percentOf(part, total)
	switch {
	case percent == 0 || percent == 100:
		return strconv.Itoa(int(percent)) + "%"
	case percent < 0.5:
		return "<1%"
	case percent >= 99.5:
		return ">99%"
	default:
		return strconv.Itoa(int(math.Round(percent))) + "%"
	}
}

// percentOf returns a number from 0 to 100; of nothing, everything is nothing.
func percentOf(part, total uint64) float64 {
	if total == 0 {
		return 0
	}
	return min(100*float64(part)/float64(total), 100)
}

// decimal returns x with at most two decimals, as short as an attribute may have it.
func decimal(x float64) string {
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64)
}
