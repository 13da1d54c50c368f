package icon

import (
	"fmt"
	"html/template"
	"sync"

	"golang.org/x/exp/shiny/materialdesign/icons"
)

// graphics are the icons by the names that templates use.
var graphics = map[string][]byte{
	"add":      icons.ContentAdd,
	"close":    icons.NavigationClose,
	"copy":     icons.ContentContentCopy,
	"dates":    icons.ActionDateRange,
	"download": icons.FileFileDownload,
	"edit":     icons.ContentCreate,
	"filter":   icons.ContentFilterList,
	"search":   icons.ActionSearch,
	"upload":   icons.FileFileUpload,
}

// drawn are the icons as HTML; the table is read once.
var drawn = sync.OnceValue(func() map[string]template.HTML {
	all := make(map[string]template.HTML, len(graphics))
	for name, graphic := range graphics {
		p, err := pathOf(graphic)
		if err != nil {
			panic(fmt.Sprintf("icon %s: %v", name, err)) // TestEveryIconIsAPath
		}
		all[name] = template.HTML(`<svg class="icon" viewBox="-24 -24 48 48" aria-hidden="true"><path d="` + p + `"/></svg>`)
	}
	return all
})

// HTML returns the icon of that name. Error: the table does not have it.
func HTML(name string) (template.HTML, error) {
	svg, ok := drawn()[name]
	if !ok {
		return "", fmt.Errorf("there is no icon %q", name)
	}
	return svg, nil
}
