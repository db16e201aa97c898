//! A work chat. Its message ids contain a colon, like those of a well-known chat service.

use super::prose::{BEGIN, PEOPLE, TOPICS, long_text, moment, prose};
use super::records::{Object, Records, instant, list};
use super::rng::Rng;
use crate::vault::declaration::StreamSpec;

/// What the chat declares.
pub const STREAMS: &[StreamSpec] = &[
    StreamSpec {
        name: "workspace",
        key: "id",
        time: None,
        fields: "id string! eq
            name string! role=primary-title eq lex
            domain string eq
            icon_url string?",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "channels",
        key: "id",
        time: Some("created_at"),
        fields: "id string! eq
            name string! role=primary-title eq lex
            topic text? role=secondary lex
            purpose text? lex
            created_at timestamp! role=event-time eq range time
            creator string? eq group
            is_private boolean eq group
            is_archived boolean eq group
            num_members integer eq range sum min max",
        views: &[("names", "Names and topics", "id name topic created_at")],
        relations: &[("messages", "messages", "channel_id", true)],
    },
    StreamSpec {
        name: "users",
        key: "id",
        time: None,
        fields: "id string! eq
            name string! eq lex
            real_name person? role=primary-title eq lex
            email string? eq
            title string? eq lex group
            tz string? eq group
            is_bot boolean eq group
            status_text string? role=secondary lex",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "messages",
        key: "id",
        time: Some("sent_at"),
        fields: "id string! eq
            channel_id string! eq group distinct
            user_id string? role=actor eq group distinct
            ts string eq
            sent_at timestamp! role=event-time eq range time min max
            text text? role=body lex
            thread_ts string? eq
            is_thread_parent boolean eq group
            reply_count integer eq range sum max
            reaction_count integer eq range sum max
            has_files boolean eq group
            has_attachments boolean eq group
            snowflake integer eq range min max
            subtype string? eq group",
        views: &[("lines", "Who said what, when", "id channel_id user_id sent_at text")],
        relations: &[("reactions", "reactions", "message_id", true)],
    },
    StreamSpec {
        name: "reactions",
        key: "id",
        time: None,
        fields: "id string! eq
            message_id string! eq
            channel_id string eq group
            user_id string eq group distinct
            emoji string! role=primary-title eq group distinct",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "channel_memberships",
        key: "channel_id user_id",
        time: None,
        fields: "channel_id string! eq group
            user_id string! eq group
            muted boolean eq group",
        views: &[],
        relations: &[],
    },
    StreamSpec {
        name: "canvases",
        key: "id",
        time: Some("updated_at"),
        fields: "id string! eq
            title text? role=primary-title eq lex
            content text? role=body lex
            channel_id string? eq
            updated_at timestamp! role=event-time eq range time",
        views: &[],
        relations: &[],
    },
];

const EMOJI: [&str; 6] = ["thumbsup", "tada", "eyes", "heart", "rocket", "日本"];
const CHANNELS: [&str; 16] = [
    "general",
    "random",
    "tiles",
    "release",
    "incidents",
    "hiring",
    "cartography",
    "data",
    "lunch",
    "running",
    "support",
    "design",
    "mobile",
    "finance",
    "announcements",
    "oslo-office",
];
const MESSAGES: usize = 4200;

/// The records of the chat.
pub fn fill(rng: &mut Rng, records: &mut Records<'_>) {
    records.put(
        "workspace",
        "T1",
        Object::new()
            .text("id", "T1")
            .text("name", "Kestrel Maps")
            .text("domain", "kestrel")
            .raw("icon_url", "null"),
    );
    people_and_channels(rng, records);
    let mut reactions = 0;
    for index in 0..MESSAGES {
        let at = moment(rng, index, MESSAGES);
        let channel = format!("C{}", 100 + rng.below(CHANNELS.len() as u64));
        let ts = format!("{at}.{:06}", rng.below(1_000_000));
        let id = format!("{channel}:{ts}");
        let reacted = if index % 4 == 0 { 1 + rng.below(2) } else { 0 };
        let sentences = 1 + rng.below(3);
        let text = match index % 211 {
            9 => "了解しました、タイルを再生成します。今日中に終わります 🙏".to_owned(),
            17 => format!(
                "Deploying 4.{} now. See https://kestrel.example/releases?v=4%2E{}",
                index % 9,
                index % 9
            ),
            _ => prose(rng, usize::try_from(sentences).unwrap_or(1)),
        };
        records.put(
            "messages",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("channel_id", &channel)
                .text("user_id", &format!("U{}", rng.below(PEOPLE.len() as u64)))
                .text("ts", &ts)
                .at("sent_at", at)
                .text("text", &text)
                .raw("thread_ts", "null")
                .raw("is_thread_parent", index.is_multiple_of(12))
                .raw("reply_count", if index.is_multiple_of(12) { rng.below(9) } else { 0 })
                .raw("reaction_count", reacted)
                .raw("has_files", rng.chance(3))
                .raw("has_attachments", rng.chance(4))
                // Above 2^53: a client that reads it as a double changes it.
                .raw("snowflake", 9_007_199_254_740_993_u64 + 2 * index as u64)
                .maybe("subtype", (index % 50 == 0).then_some("thread_broadcast")),
        );
        for nth in 0..reacted {
            reactions += 1;
            let reaction = format!("{id}:r{nth}");
            records.put(
                "reactions",
                reaction.clone(),
                Object::new()
                    .text("id", &reaction)
                    .text("message_id", &id)
                    .text("channel_id", &channel)
                    .text("user_id", &format!("U{}", (reactions + nth) % PEOPLE.len() as u64))
                    .text("emoji", rng.pick(&EMOJI)),
            );
        }
    }
    canvases(rng, records);
    afterwards(records);
}

fn people_and_channels(rng: &mut Rng, records: &mut Records<'_>) {
    for (index, person) in PEOPLE.iter().enumerate() {
        let id = format!("U{index}");
        records.put(
            "users",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("name", person.email.split('@').next().unwrap_or_default())
                .text("real_name", person.name)
                .text("email", person.email)
                .maybe("title", (index % 3 != 0).then_some("Cartographer"))
                .text("tz", if index % 2 == 0 { "Europe/Oslo" } else { "Asia/Tokyo" })
                .raw("is_bot", index == 11)
                .maybe("status_text", (index % 4 == 0).then_some("Out running")),
        );
    }
    for (index, name) in CHANNELS.iter().enumerate() {
        let id = format!("C{}", 100 + index);
        let purpose = prose(rng, 1);
        records.put(
            "channels",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("name", name)
                .maybe("topic", (index % 2 == 0).then_some(TOPICS[index]))
                .text("purpose", &purpose)
                .text("created_at", &instant(BEGIN + i64::try_from(index).unwrap_or(0) * 3_600))
                .text("creator", &format!("U{}", index % PEOPLE.len()))
                .raw("is_private", index % 5 == 0)
                .raw("is_archived", index == 13)
                .raw("num_members", 4 + index),
        );
        for user in 0..PEOPLE.len() {
            if (index + user) % 3 != 0 {
                let user = format!("U{user}");
                records.put(
                    "channel_memberships",
                    list(&[id.as_str(), &user]),
                    Object::new().text("channel_id", &id).text("user_id", &user).raw("muted", rng.chance(10)),
                );
            }
        }
    }
}

fn canvases(rng: &mut Rng, records: &mut Records<'_>) {
    for index in 0..12 {
        let id = format!("canvas/{index:02}");
        let content = if index == 3 { long_text(rng, "NEEDLE-canvas-3") } else { prose(rng, 40) };
        records.put(
            "canvases",
            id.clone(),
            Object::new()
                .text("id", &id)
                .text("title", TOPICS[index * 2])
                .text("content", &content)
                .text("channel_id", &format!("C{}", 100 + index))
                .text("updated_at", &instant(BEGIN + i64::try_from(index).unwrap_or(0) * 2_000_000)),
        );
    }
}

/// A cleanup of the workspace at the end: channels are renamed and a canvas is dropped.
fn afterwards(records: &mut Records<'_>) {
    records.skip_to_the_end();
    records.delete("canvases", "canvas/11");
    records.delete("channels", "C113");
    for user in ["U0", "U2"] {
        records.delete("channel_memberships", list(&["C113", user]));
    }
    records.delete("users", "U11");
}
