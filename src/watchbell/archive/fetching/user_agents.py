"""Names for the user agents that a crawl can present itself as."""

from watchbell import __version__

DEFAULT = f"Mozilla/5.0 (compatible; Watchbell/{__version__}; web archiving)"

_FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
_CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Safari/537.36"
)
_SAFARI = (
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.6 Safari/605.1.15"
)
_IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1"
)
_ANDROID = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/140.0.0.0 Mobile Safari/537.36"
)
_IE = "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko"
_GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
_BINGBOT = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"

ALIASES = {
    "watchbell": DEFAULT,
    "firefox": _FIREFOX,
    "chrome": _CHROME,
    "edge": f"{_CHROME} Edg/140.0.0.0",
    "safari": _SAFARI,
    "iphone": _IPHONE,
    "ios": _IPHONE,
    "android": _ANDROID,
    "ie": _IE,
    "internetexplorer": _IE,
    "googlebot": _GOOGLEBOT,
    "bingbot": _BINGBOT,
    "curl": "curl/8.14.1",
    "wget": "Wget/1.25.0",
    "lynx": "Lynx/2.9.2 libwww-FM/2.14",
}
"""By alias, in lower case: what is sent."""
