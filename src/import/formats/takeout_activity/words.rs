//! The words that Google writes before and after the name of a video or the words of a search, by language.
//!
//! The link shows what an activity is, if there is one. These words are needed for titles in JSON, which do not mark where the
//! name begins, and for activities without a link.

/// The words in one language.
struct Language {
    /// The words before and after the name of a video.
    watched: (&'static str, &'static str),
    /// The words before and after the words of a search. Empty if unknown.
    searched: (&'static str, &'static str),
    /// The name of the setting that keeps the watch history.
    control: &'static str,
}

const fn of(
    watched: (&'static str, &'static str),
    searched: (&'static str, &'static str),
    control: &'static str,
) -> Language {
    Language { watched, searched, control }
}

const LANGUAGES: [Language; 28] = [
    of(("Watched ", ""), ("Searched for ", ""), "YouTube watch history"),
    of(("", " angesehen"), ("Gesucht nach: ", ""), "YouTube-Wiedergabeverlauf"),
    of(
        ("Vous avez regardé ", ""),
        ("Vous avez recherché ", ""),
        "Historique des vidéos regardées sur YouTube",
    ),
    of(("Has visto ", ""), ("Has buscado ", ""), "Historial de reproducciones de YouTube"),
    of(("Hai guardato ", ""), ("Hai cercato ", ""), "Cronologia delle visualizzazioni di YouTube"),
    of(("Je hebt naar ", " gekeken"), ("Je hebt gezocht naar ", ""), "YouTube-kijkgeschiedenis"),
    of(("Tittade på ", ""), ("Sökte efter ", ""), "Visningshistorik på YouTube"),
    of(("Så på ", ""), ("Søkte etter ", ""), "YouTube-seerlogg"),
    of(("Så ", ""), ("Søgte efter ", ""), "Afspilningshistorik på YouTube"),
    of(("", " katsottiin"), ("", ""), "YouTube-katseluhistoria"),
    of(("Obejrzano: ", ""), ("Wyszukano: ", ""), "Historia oglądania w YouTube"),
    of(("Zhlédli jste video ", ""), ("", ""), "Historie sledování YouTube"),
    of(("Megtekintette a következőt: ", ""), ("", ""), "YouTube-os megtekintési előzmények"),
    of(("Ați vizionat ", ""), ("Ați căutat ", ""), "Istoricul vizionărilor YouTube"),
    of(("Гледахте ", ""), ("Търсихте ", ""), "История на гледане в YouTube"),
    of(("Παρακολουθήσατε το βίντεο ", ""), ("", ""), "Ιστορικό παρακολούθησης YouTube"),
    of(("Просмотрено видео ", ""), ("", ""), "История просмотра YouTube"),
    of(("Ви дивилися відео ", ""), ("", ""), "Історія переглядів YouTube"),
    of(("", " adlı videoyu izlediniz"), ("", ""), "YouTube izleme geçmişi"),
    of(("", " izlənildi"), ("", ""), "YouTube baxış tarixçəsi"),
    of(("تمت مشاهدة ", ""), ("", ""), "سجلّ مشاهدة YouTube"),
    of(("را تماشا کردید ", ""), ("", ""), "سابقه تماشای YouTube"),
    of(("", " دیکھی"), ("", ""), "YouTube دیکھنے کی سرگزشت"),
    of(("", " देखा"), ("", ""), "YouTube देखने का इतिहास"),
    of(("", " দেখা হয়েছে"), ("", ""), "YouTube দেখার ইতিহাস"),
    of(("Pinanood ang ", ""), ("", ""), "History ng panonood sa YouTube"),
    of(("", " を視聴しました"), ("", " を検索しました"), "YouTube の再生履歴"),
    of(("", " 을(를) 시청했습니다."), ("", " 을(를) 검색했습니다."), "YouTube 시청 기록"),
];

/// The word for advertisements in the details of an advertisement, in several languages.
const ADS: &str = "ads anzeigen annonces anuncios anúncios annunci pubblicitari advertenties annonser reklam reklame reklamy \
    reklamlar реклама рекламы реклами mainokset hirdetések διαφημίσεις إعلانات 広告 광고 广告 廣告";

/// The name of a video, if its title has it between the words of a language.
pub fn video<'a>(title: &'a str, controls: &[&str]) -> Option<&'a str> {
    // The settings are named in the language of the title.
    if let Some(language) = LANGUAGES.iter().find(|language| controls.contains(&language.control)) {
        return between(title, language.watched);
    }
    let mut found = LANGUAGES.iter().filter_map(|language| between(title, language.watched));
    // The order of the table decides: "Så på " comes before "Så ".
    found.next()
}

/// Whether a title is that of a watched video that no longer has a name: "Watched a video that has been removed".
pub fn is_nameless_video(title: &str) -> bool {
    LANGUAGES.iter().any(|Language { watched: (before, behind), .. }| {
        !before.is_empty() && title.starts_with(before)
            || !behind.is_empty() && title.contains(behind.trim_end_matches('.'))
    })
}

/// The words of a search, if its title has them between the words of a language.
pub fn search(title: &str) -> Option<&str> {
    let known = LANGUAGES.iter().map(|language| language.searched);
    known.filter(|(before, behind)| before.len() + behind.len() > 0).find_map(|words| between(title, words))
}

/// Whether the details show that something was an advertisement.
pub fn is_ad(detail: &str) -> bool {
    /// Longer texts are about why an activity was kept.
    const LONGEST: usize = 100;
    if detail.len() > LONGEST {
        return false;
    }
    let detail = detail.to_lowercase();
    detail.contains("google")
        && ADS.split_whitespace().any(|word| {
            // A short Latin word may be part of another word: "downloads".
            detail.split(|c: char| !c.is_alphanumeric()).any(|one| one == word)
                || !word.is_ascii() && detail.contains(word)
        })
}

fn between<'a>(title: &'a str, (before, behind): (&str, &str)) -> Option<&'a str> {
    title.strip_prefix(before)?.strip_suffix(behind).map(str::trim).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o5_1_names_stand_between_the_words_of_many_languages() {
        for (title, name) in [
            ("Watched Moths", Some("Moths")),
            ("Moths angesehen", Some("Moths")),
            ("Vous avez regardé Moths", Some("Moths")),
            ("Je hebt naar Moths gekeken", Some("Moths")),
            ("Så på Moths", Some("Moths")),
            ("Så Moths", Some("Moths")),
            ("Moths を視聴しました", Some("Moths")),
            ("Moths 을(를) 시청했습니다.", Some("Moths")),
            ("Просмотрено видео Moths", Some("Moths")),
            ("Moths", None),
            ("Watched ", None),
        ] {
            assert_eq!(video(title, &[]), name, "{title}");
        }
        // The video's title has these words itself, and the setting shows the language of the rest.
        assert_eq!(video("Watched Moths angesehen", &["YouTube-Wiedergabeverlauf"]), Some("Watched Moths"));
        assert_eq!(video("Watched Moths angesehen", &["YouTube watch history"]), Some("Moths angesehen"));
        assert_eq!(video("Moths", &["YouTube watch history"]), None);
        for language in &LANGUAGES {
            let title = format!("{}Moths{}", language.watched.0, language.watched.1);
            assert_eq!(video(&title, &["x", language.control]), Some("Moths"), "{title}");
            assert!(is_nameless_video(&title), "{title}");
        }
        assert_eq!(search("Searched for moths"), Some("moths"));
        assert_eq!(search("moths を検索しました"), Some("moths"));
        assert_eq!(search("Visited moths"), None);
        assert!(is_nameless_video("Ein Video angesehen, das entfernt wurde"));
        assert!(!is_nameless_video("Viewed a post"));
    }

    #[test]
    fn o5_1_advertisements_say_so() {
        for detail in [
            "From Google Ads",
            "Von Google Anzeigen",
            "Des annonces Google",
            "Da programmi pubblicitari Google",
            "Google 広告から",
        ] {
            assert!(is_ad(detail), "{detail}");
        }
        for detail in ["From IP 203.0.113.7", "Google downloads", "Ads", ""] {
            assert!(!is_ad(detail), "{detail}");
        }
    }
}
