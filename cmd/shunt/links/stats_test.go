package links

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"shunt/api/client"
	"shunt/engine/expect"
)

func TestStatsAreTablesBelowTheTwoFigures(t *testing.T) {
	const answer = `{"hits":12,"unique":7,"from":"2026-11-20T00:00:00Z","to":"2026-11-22T00:00:00Z","time_zone":"UTC",
		"imported_hits":4,"series":[{"from":"2026-11-19T00:00:00Z","hits":0,"unique":0},{"from":"2026-11-20T00:00:00Z","hits":2,"unique":1},{"from":"2026-11-21T00:00:00Z","hits":10,"unique":6}],
		"bots":{"bots":3,"prefetches":0,"heads":1},"error":0.008125,"durability":{"durable_hits":11,"flushed_at":"2026-11-21T12:00:00Z"},
		"referrers":[{"value":"news.example","hits":9},{"value":"other","hits":3}],"countries":[]}`
	const want = `from        2026-11-20T00:00:00Z
to          2026-11-22T00:00:00Z
days of     UTC
hits        12
unique      7
imported    4 more, at unknown times
error       0.81 %
bots        3
prefetches  0
heads       1
durable     11
flushed     2026-11-21T12:00:00Z

FROM                  HITS  UNIQUE
2026-11-20T00:00:00Z  2     1
2026-11-21T00:00:00Z  10    6

REFERRER      HITS
news.example  9
other         3

COUNTRY  HITS
`
	var stats client.Stats
	expect.OK(t, json.Unmarshal([]byte(answer), &stats))
	expect.Equal(t, statsText("", &stats), want)
}

func TestStatsHaveATableOfTargetsIfTheLinkHadSeveral(t *testing.T) {
	for answer, want := range map[string]string{
		`{"hits":1,"unique":1,"targets":[]}`:                      "hits    1\nunique  1\n",
		`{"hits":1,"unique":1,"targets":[{"target":0,"hits":1}]}`: "hits    1\nunique  1\n",
		`{"hits":1,"unique":1,"targets":[{"target":1,"url":"https://a.example/","hits":0,"unique":0}]}`: `hits    1
unique  1

TARGET  URL                 WEIGHT  HITS  UNIQUE  SHARE
1       https://a.example/  -       0     0       -
`,
		`{"hits":124,"unique":100,"targets":[{"target":0,"hits":9},{"target":1,"url":"https://a.example/","hits":0,"unique":0},{"target":2,"hits":5,"unique":3},` +
			`{"target":4,"url":"https://b.example/","weight":70,"hits":80,"unique":67},{"target":5,"url":"https://c.example/","weight":30,"hits":30,"unique":30}]}`: `hits    124
unique  100

TARGET  URL                                     WEIGHT  HITS  UNIQUE  SHARE
0       (while it had one target, or imported)  -       9     -       -
1       https://a.example/                      -       0     0       0.0 ± 0.0 %
2       (former)                                -       5     3       3.0 ± 1.7 %
4       https://b.example/                      70      80    67      67.0 ± 4.7 %
5       https://c.example/                      30      30    30      30.0 ± 4.6 %
`,
	} {
		var stats client.Stats
		expect.OK(t, json.Unmarshal([]byte(answer), &stats))
		expect.Equal(t, statsText("", &stats), want)
	}
}

func TestEmptyFiguresAtTheBeginningAreLeftOut(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 21, hour, 0, 0, 0, time.UTC) }
	for name, c := range map[string]struct {
		hits []uint64
		rows int
	}{"in the middle they stay": {[]uint64{0, 0, 1, 0, 2, 0}, 4}, "none": {[]uint64{3, 0}, 2}, "all": {[]uint64{0, 0}, 0}} {
		s := client.Stats{Series: []client.Bucket{}}
		for i, n := range c.hits {
			s.Series = append(s.Series, client.Bucket{From: at(i), Figures: client.Figures{Hits: n}})
		}
		expect.Equal(t, strings.Count(statsText("", &s), "2026-11-21T"), c.rows, "%s rows", name)
	}
}
