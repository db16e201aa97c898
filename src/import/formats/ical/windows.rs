//! The time zone names that Windows and Outlook use, and the IANA names for them: CLDR's `windowsZones` for the territory 001.

/// Finds a zone by its Windows name in lower case, without ` Standard Time`, or by the name that Outlook displays. Returns `None`
/// if there is no such zone.
pub fn zone(name: &str) -> Option<&'static str> {
    let lower = name.trim().to_ascii_lowercase();
    let plain = [" standard time", " daylight time", " summer time"]
        .into_iter()
        .find_map(|end| lower.find(end).map(|at| format!("{}{}", &lower[..at], &lower[at + end.len()..])))
        .unwrap_or(lower);
    ZONES
        .binary_search_by_key(&plain.as_str(), |(name, _)| name)
        .ok()
        .map(|at| ZONES[at].1)
        .or_else(|| SHOWN.iter().find(|(shown, _)| *shown == plain).map(|(_, zone)| *zone))
}

/// The names that Outlook displays for zones that it does not name after a city.
const SHOWN: [(&str, &str); 20] = [
    ("alaska", "America/Anchorage"),
    ("arizona", "America/Phoenix"),
    ("atlantic time (canada)", "America/Halifax"),
    ("central time (us & canada)", "America/Chicago"),
    ("central america", "America/Guatemala"),
    ("coordinated universal time", "UTC"),
    ("eastern time (us & canada)", "America/New_York"),
    ("greenwich mean time", "Europe/London"),
    ("greenwich mean time : dublin, edinburgh, lisbon, london", "Europe/London"),
    ("hawaii", "Pacific/Honolulu"),
    ("indiana (east)", "America/Indiana/Indianapolis"),
    ("mountain time (us & canada)", "America/Denver"),
    ("newfoundland", "America/St_Johns"),
    ("pacific time (us & canada)", "America/Los_Angeles"),
    ("pacific time (us & canada); tijuana", "America/Los_Angeles"),
    ("saskatchewan", "America/Regina"),
    ("west central africa", "Africa/Lagos"),
    ("casablanca, monrovia", "Africa/Casablanca"),
    ("kuwait, riyadh", "Asia/Riyadh"),
    ("universal coordinated time", "UTC"),
];

/// The Windows names, sorted, each with its IANA zone.
const ZONES: [(&str, &str); 141] = [
    ("afghanistan", "Asia/Kabul"),
    ("alaskan", "America/Anchorage"),
    ("aleutian", "America/Adak"),
    ("altai", "Asia/Barnaul"),
    ("arab", "Asia/Riyadh"),
    ("arabian", "Asia/Dubai"),
    ("arabic", "Asia/Baghdad"),
    ("argentina", "America/Argentina/Buenos_Aires"),
    ("astrakhan", "Europe/Astrakhan"),
    ("atlantic", "America/Halifax"),
    ("aus central", "Australia/Darwin"),
    ("aus central w.", "Australia/Eucla"),
    ("aus eastern", "Australia/Sydney"),
    ("azerbaijan", "Asia/Baku"),
    ("azores", "Atlantic/Azores"),
    ("bahia", "America/Bahia"),
    ("bangladesh", "Asia/Dhaka"),
    ("belarus", "Europe/Minsk"),
    ("bougainville", "Pacific/Bougainville"),
    ("canada central", "America/Regina"),
    ("cape verde", "Atlantic/Cape_Verde"),
    ("caucasus", "Asia/Yerevan"),
    ("cen. australia", "Australia/Adelaide"),
    ("central", "America/Chicago"),
    ("central (mexico)", "America/Mexico_City"),
    ("central america", "America/Guatemala"),
    ("central asia", "Asia/Almaty"),
    ("central brazilian", "America/Cuiaba"),
    ("central europe", "Europe/Budapest"),
    ("central european", "Europe/Warsaw"),
    ("central pacific", "Pacific/Guadalcanal"),
    ("chatham islands", "Pacific/Chatham"),
    ("china", "Asia/Shanghai"),
    ("cuba", "America/Havana"),
    ("dateline", "Etc/GMT+12"),
    ("e. africa", "Africa/Nairobi"),
    ("e. australia", "Australia/Brisbane"),
    ("e. europe", "Europe/Chisinau"),
    ("e. south america", "America/Sao_Paulo"),
    ("easter island", "Pacific/Easter"),
    ("eastern", "America/New_York"),
    ("eastern (mexico)", "America/Cancun"),
    ("egypt", "Africa/Cairo"),
    ("ekaterinburg", "Asia/Yekaterinburg"),
    ("fiji", "Pacific/Fiji"),
    ("fle", "Europe/Kyiv"),
    ("georgian", "Asia/Tbilisi"),
    ("gmt", "Europe/London"),
    ("greenland", "America/Nuuk"),
    ("greenwich", "Atlantic/Reykjavik"),
    ("gtb", "Europe/Bucharest"),
    ("haiti", "America/Port-au-Prince"),
    ("hawaiian", "Pacific/Honolulu"),
    ("india", "Asia/Kolkata"),
    ("iran", "Asia/Tehran"),
    ("israel", "Asia/Jerusalem"),
    ("jordan", "Asia/Amman"),
    ("kaliningrad", "Europe/Kaliningrad"),
    ("kamchatka", "Asia/Kamchatka"),
    ("korea", "Asia/Seoul"),
    ("libya", "Africa/Tripoli"),
    ("line islands", "Pacific/Kiritimati"),
    ("lord howe", "Australia/Lord_Howe"),
    ("magadan", "Asia/Magadan"),
    ("magallanes", "America/Punta_Arenas"),
    ("marquesas", "Pacific/Marquesas"),
    ("mauritius", "Indian/Mauritius"),
    ("mid-atlantic", "Etc/GMT+2"),
    ("middle east", "Asia/Beirut"),
    ("montevideo", "America/Montevideo"),
    ("morocco", "Africa/Casablanca"),
    ("mountain", "America/Denver"),
    ("mountain (mexico)", "America/Mazatlan"),
    ("myanmar", "Asia/Yangon"),
    ("n. central asia", "Asia/Novosibirsk"),
    ("namibia", "Africa/Windhoek"),
    ("nepal", "Asia/Kathmandu"),
    ("new zealand", "Pacific/Auckland"),
    ("newfoundland", "America/St_Johns"),
    ("norfolk", "Pacific/Norfolk"),
    ("north asia", "Asia/Krasnoyarsk"),
    ("north asia east", "Asia/Irkutsk"),
    ("north korea", "Asia/Pyongyang"),
    ("omsk", "Asia/Omsk"),
    ("pacific", "America/Los_Angeles"),
    ("pacific (mexico)", "America/Tijuana"),
    ("pacific sa", "America/Santiago"),
    ("pakistan", "Asia/Karachi"),
    ("paraguay", "America/Asuncion"),
    ("qyzylorda", "Asia/Qyzylorda"),
    ("romance", "Europe/Paris"),
    ("russia time zone 10", "Asia/Srednekolymsk"),
    ("russia time zone 11", "Asia/Kamchatka"),
    ("russia time zone 3", "Europe/Samara"),
    ("russian", "Europe/Moscow"),
    ("sa eastern", "America/Cayenne"),
    ("sa pacific", "America/Bogota"),
    ("sa western", "America/La_Paz"),
    ("saint pierre", "America/Miquelon"),
    ("sakhalin", "Asia/Sakhalin"),
    ("samoa", "Pacific/Apia"),
    ("sao tome", "Africa/Sao_Tome"),
    ("saratov", "Europe/Saratov"),
    ("se asia", "Asia/Bangkok"),
    ("singapore", "Asia/Singapore"),
    ("south africa", "Africa/Johannesburg"),
    ("south sudan", "Africa/Juba"),
    ("sri lanka", "Asia/Colombo"),
    ("sudan", "Africa/Khartoum"),
    ("syria", "Asia/Damascus"),
    ("taipei", "Asia/Taipei"),
    ("tasmania", "Australia/Hobart"),
    ("tocantins", "America/Araguaina"),
    ("tokyo", "Asia/Tokyo"),
    ("tomsk", "Asia/Tomsk"),
    ("tonga", "Pacific/Tongatapu"),
    ("transbaikal", "Asia/Chita"),
    ("turkey", "Europe/Istanbul"),
    ("turks and caicos", "America/Grand_Turk"),
    ("ulaanbaatar", "Asia/Ulaanbaatar"),
    ("us eastern", "America/Indiana/Indianapolis"),
    ("us mountain", "America/Phoenix"),
    ("utc", "UTC"),
    ("utc+12", "Etc/GMT-12"),
    ("utc+13", "Etc/GMT-13"),
    ("utc-02", "Etc/GMT+2"),
    ("utc-08", "Etc/GMT+8"),
    ("utc-09", "Etc/GMT+9"),
    ("utc-11", "Etc/GMT+11"),
    ("venezuela", "America/Caracas"),
    ("vladivostok", "Asia/Vladivostok"),
    ("volgograd", "Europe/Volgograd"),
    ("w. australia", "Australia/Perth"),
    ("w. central africa", "Africa/Lagos"),
    ("w. europe", "Europe/Berlin"),
    ("w. mongolia", "Asia/Hovd"),
    ("west asia", "Asia/Tashkent"),
    ("west bank", "Asia/Hebron"),
    ("west pacific", "Pacific/Port_Moresby"),
    ("yakutsk", "Asia/Yakutsk"),
    ("yukon", "America/Whitehorse"),
];

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn o5_windows_names_are_zones_that_there_are() {
        assert!(ZONES.is_sorted_by(|one, other| one.0 < other.0));
        for (name, zone) in ZONES.iter().chain(&SHOWN) {
            assert!(TimeZone::get(zone).is_ok(), "{name}: {zone}");
        }
        for (name, expected) in [
            ("W. Europe Standard Time", Some("Europe/Berlin")),
            ("Romance Standard Time", Some("Europe/Paris")),
            ("Central Standard Time (Mexico)", Some("America/Mexico_City")),
            ("Pacific Daylight Time", Some("America/Los_Angeles")),
            ("Eastern Time (US & Canada)", Some("America/New_York")),
            ("W. Europe", Some("Europe/Berlin")),
            ("Nowhere Standard Time", None),
        ] {
            assert_eq!(zone(name), expected, "{name}");
        }
    }
}
