package symbols

// addressBytes are the 85 bytes that an address may have (RFC 3986: unreserved and reserved
// characters, and the percent sign). Each is a symbol of every table, so that a text of them never
// gets longer.
const addressBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%"

// fragments are parts of addresses as they are common everywhere, the most useful first. They fill
// the codes for which training finds nothing better: all of them if there are no samples.
var fragments = [...]string{
	"https://www.", "https://", "http://www.", "http://", ".com/", ".org/", ".net/", ".html", "www.", ".com",
	".de/", ".co.uk/", ".io/", ".fr/", ".php?", ".org", ".net", ".php", ".htm", ".pdf",
	"?id=", "&id=", "id=", "?utm_source=", "&utm_medium=", "&utm_campaign=", "&utm_content=", "&utm_term=", "utm_", "campaign",
	"newsletter", "?ref=", "?q=", "?p=", "?page=", "?v=", "&t=", "source=", "email", "social",
	"index", "/index.html", "/index.php", "/blog/", "/news/", "/article", "/product", "/products/", "/category/", "/wiki/",
	"/docs/", "/user", "/users/", "/search", "/search?q=", "/watch?v=", "/status/", "/post", "/posts/", "/shop/",
	"/en/", "/de/", "/api/", "/p/", "/s/", "/2024/", "/2025/", "/2026/", "/01/", "/10/",
	"github.com/", "google.com/", "youtube.com/", "facebook.com/", "twitter.com/", "wikipedia.org/", "amazon.", "linkedin.com/", "instagram.com/", "reddit.com/r/",
	"docs.google.com/", "maps.", "forms", "video", "image", "online", "event", "ticket", "store", "content",
	"download", "media", "page", "web", "site", "app", "tion", "ing", "ment", "able",
	"-the-", "-and-", "-of-", "-in-", "-for-", "-to-", "-a-", "%20", "%2F", "%3A",
	"%C3%", "er", "in", "an", "on", "re", "st", "en", "al", "at",
	"or", "es", "ti", "te", "le", "ar", "it", "is", "co", "da",
	"ra", "ro", "ma", "li", "se", "ne", "un", "ch", "th", "us",
	"20", "00", "10", "ou", "ge", "om", "el", "ic", "la", "ri",
	"me", "ta", "ca", "si", "no", "po", "lo", "di", "ec", "nt",
	"he", "as", "il", "ol", "ac", "ab", "sh", "ad", "ul", "em",
	"et", "ve", "be", "ha", "do",
}
