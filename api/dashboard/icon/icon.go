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
	"admin":    icons.ActionSettings,
	"check":    icons.NavigationCheck,
	"close":    icons.NavigationClose,
	"copy":     icons.ContentContentCopy,
	"date":     icons.ActionDateRange,
	"delete":   icons.ActionDelete,
	"disable":  icons.ContentBlock,
	"download": icons.FileFileDownload,
	"edit":     icons.ContentCreate,
	"figures":  icons.EditorInsertChart,
	"filter":   icons.ContentFilterList,
	"link":     icons.ContentLink,
	"more":     icons.NavigationMoreVert,
	"move":     icons.ActionSwapHoriz,
	"open":     icons.ActionOpenInNew,
	"overview": icons.ActionDashboard,
	"owner":    icons.SocialPerson,
	"reset":    icons.ContentUndo,
	"save":     icons.ContentSave,
	"search":   icons.ActionSearch,
	"share":    icons.SocialShare,
	"tag":      icons.ActionLabel,
	"token":    icons.CommunicationVPNKey,
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
