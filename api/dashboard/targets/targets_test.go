package targets

import (
	"fmt"
	"testing"

	"shunt/api/ops"
	"shunt/engine"
	"shunt/engine/expect"
	"shunt/engine/extras"
)

func TestEachTargetHasARow(t *testing.T) {
	n := func(n uint64) *uint64 { return &n }
	l := &ops.Link{Detail: engine.Detail{
		Target: "https://own/", Number: 1,
		Rules: []extras.Rule{{URL: "https://rule/", Target: 2, Conditions: []extras.Condition{{Kind: extras.InLanguage, Value: "de"}}}},
		Split: []extras.Share{{URL: "https://a/", Weight: 70, Target: 4}, {URL: "https://b/", Weight: 30, Target: 5}},
	}}
	rows := Rows(l, []ops.TargetFigures{
		{Target: 0, Hits: 9}, {Target: 1, Unique: n(0)}, {Target: 2, Hits: 3, Unique: n(2)}, {Target: 3, Hits: 1, Unique: n(1)},
		{Target: 4, Hits: 70, Unique: n(67)}, {Target: 5, Hits: 40, Unique: n(30)}, {Target: 6, Unique: n(0)},
	})
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%d %s (%s): %d, %s", r.Number, r.URL, r.When, r.Hits, r.Share))
	}
	expect.Slices(t, got, []string{
		"2 https://rule/ (language=de): 3, 2.0 ± 1.4 %", "4 https://a/ (weight 70 of 100): 70, 67.0 ± 4.7 %", "5 https://b/ (weight 30 of 100): 40, 30.0 ± 4.6 %",
		"1 https://own/ (bots): 0, 0.0 %", "0  (while the link had one target, or imported): 9, ", "3  (former target 3): 1, 1.0 ± 1.0 %",
	}, "rows")
	expect.Slices(t, Rows(&ops.Link{}, []ops.TargetFigures{{Target: 0, Hits: 9}}), nil, "of a link with one target")
	l = &ops.Link{Detail: engine.Detail{Target: "https://own/", LastTarget: 2}}
	former := Rows(l, []ops.TargetFigures{{Target: 0, Hits: 9}, {Target: 2, Hits: 3, Unique: n(2)}})
	expect.That(t, len(former) == 2 && former[0].Number == 0 && former[1].When == "former target 2" && former[1].Share == "100.0 %", "of a link with one target again: %+v", former)
}

func TestLinesAreReadAsTheyAreShown(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "<nil>",
		" \n\n":                         "<nil>",
		"device=ios -> https://a/":      "[{https://a/ [{device  ios}] 0}]",
		"\ndevice=ios -> https://a/\nx": `line 2: must be 'CONDITION -> URL', such as 'device=ios -> https://example.org/app'`,
	} {
		expect.Equal(t, fmt.Sprint(RulesValue(text)), want, "%q", text)
	}
	expect.Equal(t, fmt.Sprint(SplitValue("70:https://a/\n30: b")), "[{https://a/ 70 0} {b 30 0}]", "split")
}
