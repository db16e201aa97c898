//! What was listened to: compound keys, and many small records.

use super::prose::{TOPICS, moment};
use super::records::{Object, Records, instant, list};
use super::rng::Rng;
use crate::vault::declaration::StreamSpec;

/// What the music service declares.
pub const STREAMS: &[StreamSpec] = &[
    StreamSpec {
        name: "saved_tracks",
        key: "id",
        time: Some("added_at"),
        fields: "id string! eq
            name text? role=primary-title eq lex
            artist_names array
            album_name string? role=secondary eq lex group
            added_at timestamp! role=event-time eq range time min max
            duration_ms integer eq range sum min max
            popularity integer? eq range min max
            isrc string? eq",
        views: &[],
        relations: &[("play_events", "play_events", "track_id", true)],
    },
    StreamSpec {
        name: "top_artists",
        key: "id time_range",
        time: None,
        fields: "id string! eq
            time_range string! eq group
            name string? role=primary-title eq lex
            genres array
            popularity integer? eq range min max
            followers integer? eq range sum max",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "play_events",
        key: "id",
        time: Some("played_at"),
        fields: "id string! eq
            track_id string! eq group distinct
            track_name string? role=primary-title eq lex
            artist_name string? role=actor eq lex group distinct
            played_at timestamp! role=event-time eq range time min max
            ms_played integer eq range sum min max
            skipped boolean eq group
            loudness_db number? eq range min max",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "playlists",
        key: "id",
        time: Some("updated_at"),
        fields: "id string! eq
            name string! role=primary-title eq lex
            description text? role=secondary lex
            is_public boolean eq group
            updated_at timestamp! role=event-time eq range",
        views: &[],
        relations: &[("playlist_items", "playlist_items", "playlist_id", true)],
    },
    StreamSpec {
        name: "playlist_items",
        key: "playlist_id position",
        time: None,
        fields: "playlist_id string! eq group
            position string! eq
            track_id string! eq
            track_name string? role=primary-title eq lex",
        views: &[],
        relations: &[],
    },
];

const ARTISTS: [&str; 12] = [
    "The Contour Lines",
    "Nordlys Kvartett",
    "Ville Isä",
    "Möwenflug",
    "夜行バス",
    "Paper Harbour",
    "Ada & the Gulls",
    "Slow Ferry",
    "Кораблик",
    "Mist over Fosen",
    "Hail Mary Shelley",
    "Tin Lighthouse",
];

/// The records of the music service.
pub fn fill(rng: &mut Rng, records: &mut Records<'_>) {
    let track = |index: usize| {
        (format!("trk{index:04}"), format!("{} (take {})", TOPICS[index % TOPICS.len()], index % 5))
    };
    for index in 0..400 {
        let (id, name) = track(index);
        records.put(
            "saved_tracks",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("name", &name)
                .raw("artist_names", list(&[ARTISTS[index % ARTISTS.len()]]))
                .text("album_name", TOPICS[index % 9])
                .at("added_at", moment(rng, index, 400))
                .raw("duration_ms", 90_000 + rng.below(240_000))
                .raw(
                    "popularity",
                    if index % 13 == 0 { "null".to_owned() } else { rng.below(100).to_string() },
                )
                .raw("isrc", "null"),
        );
    }
    for range in ["short_term", "medium_term", "long_term"] {
        for (index, artist) in ARTISTS.iter().enumerate() {
            let id = format!("art{index}");
            records.put(
                "top_artists",
                list(&[&id, range]),
                Object::new()
                    .text("id", &id)
                    .text("time_range", range)
                    .text("name", artist)
                    .raw("genres", list(&["indie", "folk"]))
                    .raw("popularity", rng.below(100))
                    .raw("followers", 900 + rng.below(90_000)),
            );
        }
    }
    for index in 0..3000 {
        let id = format!("play:{index:05}");
        let (track_id, name) = track(usize::try_from(rng.below(400)).unwrap_or(0));
        let artist = ARTISTS[index % ARTISTS.len()];
        records.put(
            "play_events",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("track_id", &track_id)
                .text("track_name", &name)
                .text("artist_name", artist)
                .at("played_at", moment(rng, index, 3000))
                .raw("ms_played", rng.below(240_000))
                .raw("skipped", rng.chance(15))
                .raw("loudness_db", format!("-{}.{}0", rng.below(20), rng.below(10))),
        );
    }
    for index in 0..10_usize {
        let id = format!("pl{index}");
        records.put(
            "playlists",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("name", &format!("Running {index} / tempo"))
                .maybe("description", (index % 2 == 0).then_some("For the long run on Sunday"))
                .raw("is_public", index % 3 == 0)
                .text("updated_at", &instant(moment(rng, index, 10))),
        );
        for position in 0..20 {
            let (track_id, name) = track((index * 20 + position) % 400);
            let position = position.to_string();
            records.put(
                "playlist_items",
                list(&[&id, &position]),
                Object::new()
                    .text("playlist_id", &id)
                    .text("position", &position)
                    .text("track_id", &track_id)
                    .text("track_name", &name),
            );
        }
    }
}
