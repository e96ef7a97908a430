//! Checks of any page: contrast, names, and its place in a window.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::Browser;

/// A script: finds texts with a contrast below 4.5 to 1 against their background (WCAG 2.2, 1.4.3).
const TOO_PALE: &str = "
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const luminance = (color) => {
        const [r, g, b] = channels(color).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (channels(color)[3] !== 0) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const texts = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility()
        && [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()));
    const pale = texts.flatMap((element) => {
        const pair = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((a, b) => b - a);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
        return ratio < 4.5 ? [`${element.tagName}.${element.className} ${ratio.toFixed(2)}: ${element.textContent.slice(0, 40)}`] : [];
    });
    return [texts.length, pale];";

/// A script: finds what has no name for a screen reader, ids that come twice, headings out of
/// order, and texts that scroll and cannot have the focus.
const NAMELESS: &str = "
    const seen = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
    const said = (element) => `${element.tagName}#${element.id}.${element.className}`;
    const isNamed = (element) => element.ariaLabel || element.labels?.length > 0 || element.textContent.trim();
    const nameless = seen('input, textarea, select, button, a, [role=region], [role=tablist]').filter((element) => !isNamed(element)
        || (element.matches('input, textarea, select') && !element.ariaLabel && !element.labels.length));
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    const twice = ids.filter((id, n) => ids.indexOf(id) !== n);
    const levels = seen('h1, h2, h3, h4').map((element) => Number(element.tagName[1]));
    const jumps = levels.filter((level, n) => level > (levels[n - 1] ?? 0) + 1).map((level) => `h${level} comes too early`);
    const fixed = seen('div').filter((element) => getComputedStyle(element).overflowY === 'auto' && element.tabIndex < 0);
    return [...nameless.map(said), ...twice, ...jumps, ...fixed.map(said)];";

impl Browser {
    /// Checks that every visible text has enough contrast.
    #[track_caller]
    pub(crate) fn is_readable(&self, place: &str) {
        self.wait("!document.querySelector('[aria-busy]') && document.getAnimations().length === 0");
        let measured = self.script(TOO_PALE);
        assert!(measured[0].as_u64().unwrap() > 10, "{place}: {measured}");
        assert_eq!(measured[1], json!([]), "{place}");
    }

    /// Checks that all on the page has a name and its place for screen readers and keyboards.
    #[track_caller]
    pub(crate) fn is_named(&self, place: &str) {
        assert_eq!(self.script(NAMELESS), json!([]), "{place}");
    }

    /// Checks that the page is not wider than the window.
    #[track_caller]
    pub(crate) fn fits(&self, place: &str) {
        let wide = "return document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(self.script(wide), false, "{place}");
    }

    /// Checks that a page that a program wrote is a few screens of a telephone, that all is there
    /// when it is unfolded, also without a script, and that no table is cut.
    #[track_caller]
    pub(crate) fn is_short_on_a_telephone(&self, path: &Path) {
        const SCREENS_MAX: f64 = 4.0;
        let written = fs::read_to_string(path).unwrap();
        let (begin, end) = (written.find("<script").unwrap(), written.find("</script>").unwrap());
        let without = path.with_extension("without.html");
        fs::write(&without, [&written[..begin], &written[end..]].concat()).unwrap();
        for (path, height) in [(path, 812), (&*without, 812)] {
            self.resize(375, height);
            self.open(&format!("file://{}", path.display()));
            let place = path.display().to_string();
            let screens = self.script("return document.documentElement.scrollHeight / innerHeight");
            assert!(screens.as_f64().unwrap() <= SCREENS_MAX, "{place}: {screens} screens");
            self.is_readable(&place);
            let folds = self.count("details:not([open]) > summary");
            assert!(folds > 0, "{place}: nothing is folded");
            let open = "document.querySelectorAll('details').forEach((details) => { details.open = true; })";
            self.script(open);
            for width in [375, 768, 1280] {
                self.resize(width, height);
                let cut = "return [...document.querySelectorAll('.wide, table')].filter((table) => table.scrollWidth > table.clientWidth + 1).map((table) => table.textContent.slice(0, 60))";
                assert_eq!(self.script(cut), json!([]), "{place}, {width} px");
                self.fits(&place);
                self.is_readable(&place);
            }
        }
        self.resize(1280, 900);
        self.open(&format!("file://{}", path.display()));
        assert_eq!(self.count("details[data-fold]:not([open])"), 0, "where there is room all is open");
    }
}
