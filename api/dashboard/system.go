package dashboard

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/admin"
	"shunt/api/chart"
	"shunt/api/dashboard/visit"
)

// systemView is what the page of the server shows.
type systemView struct {
	BaseURL string
	Summary summary
	Groups  []admin.Group
}

// systemPage is GET /_/system: the server's metrics in words.
func (r *request) systemPage() error {
	groups, err := r.Facts()
	if err != nil {
		return err
	}
	return r.Show(fasthttp.StatusOK, "system", "System", systemView{r.BaseURL, r.summary(groups), groups})
}

// valueText returns a value of a fact as people read it.
func valueText(unit admin.Unit, v admin.Value) template.HTML {
	if v.Mean {
		if v.Of == 0 {
			return "none"
		}
		mean := strconv.FormatFloat(v.N, 'f', 1, 64)
		if unit == admin.Seconds {
			mean = seconds(v.N)
		}
		return template.HTML(fmt.Sprintf("%s, %s on average", chart.Grouped(v.Of), mean))
	}
	switch unit {
	case admin.Info:
		return template.HTML(template.HTMLEscapeString(v.Text))
	case admin.Moment:
		if v.N == 0 {
			return "never"
		}
		return visit.TimeTag(time.UnixMilli(int64(v.N * 1000)))
	case admin.YesNo:
		if v.N == 0 {
			return "no"
		}
		return "yes"
	case admin.Ratio:
		return template.HTML(strconv.FormatFloat(100*v.N, 'f', 1, 64) + " %")
	case admin.Bytes:
		return template.HTML(bytesText(v.N))
	case admin.Seconds:
		return template.HTML(seconds(v.N))
	}
	return template.HTML(countText(v.N))
}

// countText returns a number in digits; most are whole.
func countText(n float64) string {
	if n >= 0 && n < 1<<63 && n == math.Trunc(n) {
		return chart.Grouped(uint64(n))
	}
	return strconv.FormatFloat(n, 'g', 6, 64)
}

// bytesText returns a number of bytes in the unit that suits it.
func bytesText(n float64) string {
	if n >= 1<<60 {
		return "no limit"
	}
	const space = "\u00a0" // a number stays beside its unit
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for ; n >= 1024 && i < len(units)-1; i++ {
		n /= 1024
	}
	if i == 0 {
		return countText(n) + space + "bytes"
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + space + units[i]
}

// seconds returns a duration in the unit that suits it.
func seconds(n float64) string {
	switch {
	case n == 0:
		return "0 s"
	case n < 1e-3:
		return strconv.FormatFloat(n*1e6, 'f', 0, 64) + " µs"
	case n < 1:
		return strconv.FormatFloat(n*1e3, 'f', 1, 64) + " ms"
	case n < 120:
		return strconv.FormatFloat(n, 'f', 1, 64) + " s"
	}
	return (time.Duration(n) * time.Second).String()
}
