package naming

// agents are the devices and browsers that people call otherwise than the API.
var agents = map[string]string{
	"desktop": "Desktop", "mobile": "Phone", "tablet": "Tablet", "tv": "TV", "console": "Game console", "command line": "Command line",
}

// Agent returns how people call a device or browser.
func Agent(value string) string {
	if name, ok := agents[value]; ok {
		return name
	}
	return value
}
