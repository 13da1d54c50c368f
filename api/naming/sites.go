package naming

// siteHosts are well-known sites with their domains. One without a dot is a name that a site has in many countries.
var siteHosts = map[string]string{
	// Social networks and messengers
	"Facebook": "facebook.com fb.com fb.me", "Messenger": "messenger.com m.me", "Instagram": "instagram.com ig.me",
	"Threads": "threads.net threads.com", "WhatsApp": "whatsapp.com wa.me", "X": "x.com twitter.com t.co", "LinkedIn": "linkedin.com lnkd.in",
	"TikTok": "tiktok.com", "Snapchat": "snapchat.com", "Pinterest": "pinterest pin.it", "Reddit": "reddit.com redd.it",
	"Bluesky": "bsky.app", "Telegram": "telegram.org telegram.me t.me", "Discord": "discord.com discordapp.com", "Tumblr": "tumblr.com",
	"Quora": "quora.com", "VK": "vk.com vk.ru", "Odnoklassniki": "ok.ru", "Weibo": "weibo.com weibo.cn", "WeChat": "weixin.qq.com servicewechat.com",
	"Zhihu": "zhihu.com", "LINE": "line.me", "KakaoTalk": "talk.kakao.com", "XING": "xing.com", "Nextdoor": "nextdoor",

	// Search engines and assistants
	"Google": "google", "Bing": "bing.com", "DuckDuckGo": "duckduckgo.com", "Yahoo": "yahoo", "Ecosia": "ecosia.org", "Brave Search": "search.brave.com",
	"Startpage": "startpage.com", "Qwant": "qwant.com", "Kagi": "kagi.com", "Baidu": "baidu.com", "Yandex": "yandex ya.ru", "Naver": "naver.com",
	"Daum": "daum.net", "Seznam": "seznam.cz", "Sogou": "sogou.com", "ChatGPT": "chatgpt.com chat.openai.com", "Claude": "claude.ai",
	"Perplexity": "perplexity.ai", "Gemini": "gemini.google.com", "Copilot": "copilot.microsoft.com", "Google Ads": "googleadservices.com doubleclick.net",

	// Mail
	"Gmail": "mail.google.com", "Outlook": "outlook.live.com outlook.office.com outlook.office365.com safelinks.protection.outlook.com",
	"Yahoo Mail": "mail.yahoo.com", "Proton Mail": "mail.proton.me", "GMX": "gmx", "WEB.DE": "web.de", "Mail.ru": "mail.ru",
	"Mailchimp": "list-manage.com campaign-archive.com",

	// Work
	"Slack": "slack.com slack-redir.net", "Microsoft Teams": "teams.microsoft.com teams.live.com teams.cloud.microsoft", "SharePoint": "sharepoint.com",
	"Google Docs": "docs.google.com", "Google Drive": "drive.google.com", "Google Classroom": "classroom.google.com", "Google Calendar": "calendar.google.com",
	"Google Chat": "chat.google.com", "Google Translate": "translate.google.com", "Notion": "notion.so notion.site", "Trello": "trello.com",
	"Asana": "asana.com", "Atlassian": "atlassian.net atlassian.com", "GitHub": "github.com", "GitLab": "gitlab.com", "Stack Overflow": "stackoverflow.com",
	"Canva": "canva.com", "Eventbrite": "eventbrite",

	// Reading, watching, buying
	"Google News": "news.google.com", "MSN": "msn.com", "Hacker News": "news.ycombinator.com", "Product Hunt": "producthunt.com", "Medium": "medium.com",
	"Substack": "substack.com", "Wikipedia": "wikipedia.org", "Flipboard": "flipboard.com", "Feedly": "feedly.com", "Linktree": "linktr.ee",
	"YouTube": "youtube.com youtu.be", "Vimeo": "vimeo.com", "Twitch": "twitch.tv", "Spotify": "spotify.com", "SoundCloud": "soundcloud.com",
	"Amazon": "amazon", "eBay": "ebay", "Etsy": "etsy.com", "Booking.com": "booking.com", "Airbnb": "airbnb", "Tripadvisor": "tripadvisor",

	// Apps of Android, which name themselves instead of a site
	"Gmail (Android app)": "com.google.android.gm", "Google (Android app)": "com.google.android.googlequicksearchbox",
	"Google Chat (Android app)": "com.google.android.apps.dynamite", "Google News (Android app)": "com.google.android.apps.magazines",
	"Messages (Android app)": "com.google.android.apps.messaging", "Facebook (Android app)": "com.facebook.katana com.facebook.lite",
	"Messenger (Android app)": "com.facebook.orca", "Instagram (Android app)": "com.instagram.android", "Threads (Android app)": "com.instagram.barcelona",
	"WhatsApp (Android app)": "com.whatsapp com.whatsapp.w4b", "X (Android app)": "com.twitter.android", "LinkedIn (Android app)": "com.linkedin.android",
	"Pinterest (Android app)": "com.pinterest", "Reddit (Android app)": "com.reddit.frontpage", "Telegram (Android app)": "org.telegram.messenger",
	"Discord (Android app)": "com.discord", "Slack (Android app)": "com.slack", "Snapchat (Android app)": "com.snapchat.android",
	"TikTok (Android app)": "com.zhiliaoapp.musically", "Outlook (Android app)": "com.microsoft.office.outlook",
	"Microsoft Teams (Android app)": "com.microsoft.teams", "YouTube (Android app)": "com.google.android.youtube",
}
