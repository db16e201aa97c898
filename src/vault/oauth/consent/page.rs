//! The pages that the owner sees, as HTML without a script, with the headers of each.

use axum::http::StatusCode;
use indicatif::HumanCount;

use super::ends::{self, ASKED, ENDS};
use super::ticks::{CHOICES, Set, is_in_no_set};
use crate::vault::Profile;
use crate::vault::accounts;
use crate::vault::html::Html;
use crate::vault::oauth::authorization_details::{
    AI_ASSISTANT, AI_TRAINING, ASSISTANT, AuthorizationDetails, Choice,
};
use crate::vault::oauth::flows::{Asked, Decision, Pending, Way};
use crate::vault::store::Catalog;
use crate::vault::time;
use crate::vault::wire::Reply;

/// A page with a form of a request. The answer to the form may redirect to the app, and a browser counts that as a
/// target of the form.
pub(super) fn form_reply(status: StatusCode, page: Html, pending: &Pending) -> Reply {
    let back = match &pending.way {
        Way::Redirect(redirect) => back_to(&redirect.uri),
        _ => None,
    };
    page_with(status, page, back.as_deref())
}

/// The target to which a browser returns, in the form of a policy: an origin, or an app's own scheme. Its host was
/// checked when the request arrived.
fn back_to(uri: &str) -> Option<String> {
    let url = url::Url::parse(uri).ok()?;
    let origin = url.origin();
    Some(if origin.is_tuple() { origin.ascii_serialization() } else { format!("{}:", url.scheme()) })
}

/// A page, with the headers that every page has.
pub fn page_reply(status: StatusCode, page: Html) -> Reply {
    page_with(status, page, None)
}

fn page_with(status: StatusCode, page: Html, form_action: Option<&str>) -> Reply {
    let mut form_actions = "'self'".to_owned();
    if let Some(more) = form_action {
        form_actions.push(' ');
        form_actions.push_str(more);
    }
    Reply { status, headers: Vec::new(), body: page.into_bytes() }
        .with("content-type", "text/html; charset=utf-8")
        .with(
            "content-security-policy",
            format!(
                "default-src 'none'; style-src 'self'; form-action {form_actions}; frame-ancestors 'none'; base-uri 'none'"
            ),
        )
        .with("x-frame-options", "DENY")
        .with("x-content-type-options", "nosniff")
        // Not no-referrer: with it, a browser sends `Origin: null` with the form.
        .with("referrer-policy", "same-origin")
        .no_store()
}

/// `GET /consent.css`
pub fn stylesheet() -> Reply {
    Reply { status: StatusCode::OK, headers: Vec::new(), body: include_bytes!("page.css").to_vec() }
        .with("content-type", "text/css; charset=utf-8")
        .with("x-content-type-options", "nosniff")
        .with("cache-control", "no-cache")
}

/// The beginning of a page, up to the further contents of its head.
pub fn document(profile: &Profile, title: &str) -> Html {
    let mut page = Html::new();
    page.markup(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
    );
    page.text(title).markup(" – ").text(profile.title);
    page.markup("</title>\n<link rel=\"stylesheet\" href=\"/consent.css\">\n");
    page
}

pub(super) fn shell(profile: &Profile, title: &str, main: &Html) -> Html {
    let mut page = document(profile, title);
    page.markup("</head>\n<body>\n<header><p>")
        .text(profile.title)
        .markup("</p><p>")
        .text(profile.owner)
        .markup("</p></header>\n<main>\n");
    page.html(main).markup("</main>\n</body>\n</html>\n");
    page
}

fn message(profile: &Profile, title: &str, text: &str) -> Html {
    let mut main = Html::new();
    main.markup("<h1>").text(title).markup("</h1>\n<p>").text(text).markup("</p>\n");
    shell(profile, title, &main)
}

/// Where a page's forms go, and what proves that they are its own.
pub(super) struct Place<'a> {
    pub(super) profile: &'a Profile,
    pub(super) page: &'a str,
    pub(super) csrf: String,
}

impl Place<'_> {
    pub(super) fn address(&self, base: &str) -> String {
        format!("{base}/consent/{}", self.page)
    }

    /// Begins a form for `action`.
    pub(super) fn begin_form(&self, main: &mut Html, id: Option<&str>, action: &str) {
        main.markup("<form method=\"post\"");
        if let Some(id) = id {
            main.attribute("id", id);
        }
        main.attribute("action", &format!("/consent/{}/{action}", self.page))
            .markup(">\n<input type=\"hidden\" name=\"csrf\"")
            .attribute("value", &self.csrf)
            .markup(">\n");
    }

    /// The form that denies. Its button comes before the other buttons in another form, so it is the first one that
    /// a keyboard reaches, and Enter in a field does not press it.
    pub(super) fn deny_form(&self, main: &mut Html) {
        self.begin_form(main, Some("deny"), "deny");
        main.markup("</form>\n");
    }
}

/// The button of [`Place::deny_form`].
pub(super) const DENY: &str = "<button type=\"submit\" class=\"deny\" form=\"deny\">Deny</button>\n";

/// A form as it was left.
pub type Left = Vec<(String, String)>;

pub(super) struct Form<'a> {
    pub(super) place: &'a Place<'a>,
    pub(super) pending: &'a Pending,
    pub(super) asked: &'a AuthorizationDetails,
    pub(super) catalog: &'a Catalog,
    /// How many records each choice could include.
    pub(super) counts: &'a [u64],
    /// The form as the owner left it.
    pub(super) left: Option<&'a [(String, String)]>,
    pub(super) problem: Option<&'a str>,
}

impl Form<'_> {
    /// Whether a box is ticked: as the owner left it, otherwise `at_first`.
    fn is_ticked(&self, name: &str, value: &str, at_first: bool) -> bool {
        self.left.map_or(at_first, |left| left.iter().any(|(known, left)| known == name && left == value))
    }

    /// Whether one of its fields reveals later days than its record's own.
    fn tells_of_later_days(&self) -> bool {
        self.asked.choices.iter().any(|choice| {
            let connector = self.catalog.connector(&choice.connector);
            let stream = connector.and_then(|connector| connector.stream(&choice.stream));
            stream.is_some_and(|stream| stream.spanning().any(|field| choice.fields.contains(&field.name)))
        })
    }

    /// The value of a control: what the owner left there, otherwise `at_first`.
    fn value<'a>(&'a self, name: &str, at_first: &'a str) -> &'a str {
        let left = self.left.and_then(|left| left.iter().find(|(known, _)| known == name));
        left.map_or(at_first, |(_, value)| value)
    }
}

pub(super) fn form(form: &Form<'_>) -> Html {
    let (pending, asked) = (form.pending, form.asked);
    let name = pending.client.name.as_str();
    let mut main = Html::new();
    heading(&mut main, pending);
    if let Some(problem) = form.problem {
        main.markup("<p class=\"problem\" role=\"alert\"><strong>Not approved yet.</strong> ")
            .text(problem)
            .markup(".</p>\n");
    }
    who_asks(&mut main, pending);
    purpose(&mut main, pending, asked);
    form.place.deny_form(&mut main);
    form.place.begin_form(&mut main, None, "review");
    main.markup("<input type=\"hidden\"")
        .attribute("name", CHOICES)
        .attribute("value", &asked.fingerprint())
        .markup(">\n");
    main.markup("<div class=\"actions\">\n").markup(DENY).markup(
        "<button type=\"submit\" class=\"approve\">Continue</button>\n\
         <span class=\"hint\">Nothing is approved until you have seen the summary.</span>\n</div>\n",
    );
    what(&mut main, form);
    limits(&mut main, form);
    holds(&mut main, form.place.profile);
    if asked.purpose.code() == AI_TRAINING {
        main.markup(
            "<p class=\"training\"><label><input type=\"checkbox\" name=\"ai_training\" value=\"yes\"",
        )
        .markup(tick(form.is_ticked("ai_training", "yes", false)))
        .markup("> I agree that this data is used to train AI models</label></p>\n");
    }
    main.markup("</form>\n");
    let not_yet = if form.problem.is_some() { "Not approved yet: " } else { "" };
    shell(form.place.profile, &format!("{not_yet}{name} asks to read your data"), &main)
}

/// What a grant protects against, and what it does not.
pub(super) fn holds(main: &mut Html, profile: &Profile) {
    let Some(holds) = &profile.holds else { return };
    main.markup("<section aria-labelledby=\"holds\">\n<h2 id=\"holds\">What this protects against</h2>\n");
    for (title, list) in [("It stops:", holds.against), ("It does not stop:", holds.not)] {
        main.markup("<p>").text(title).markup("</p>\n<ul class=\"claims\">\n");
        for line in list {
            main.markup("<li>").text(line).markup("</li>\n");
        }
        main.markup("</ul>\n");
    }
    main.markup("</section>\n");
}

pub(super) fn heading(main: &mut Html, pending: &Pending) {
    main.markup("<h1><q>").text(&pending.client.name).markup("</q> asks to read your data</h1>\n");
}

/// Who asks, as far as that is known, and where the answer goes.
pub(super) fn who_asks(main: &mut Html, pending: &Pending) {
    let client = &pending.client;
    if let Way::Here = pending.way {
        main.markup(
            "<p class=\"unverified\"><strong>A command on this computer asks for this.</strong> \
             <strong>Deny this if you did not start it.</strong></p>\n",
        );
        return;
    }
    match &client.domain {
        // This proves control of a domain and nothing else (draft §6).
        Some(domain) => main
            .markup("<p class=\"unverified\"><strong>Verified domain: <span>")
            .text(domain)
            .markup("</span>.</strong> The operator of that site published this app’s name; nothing else was checked. Its id here: <code>"),
        None => main.markup(
            "<p class=\"unverified\"><strong>Unverified app.</strong> It chose this name itself; nobody checked who it is. Its id here: <code>",
        ),
    };
    main.text(&client.id).markup("</code></p>\n");
    main.markup("<p class=\"code\">Request code: <strong class=\"compare\">")
        .text(&pending.code)
        .markup("</strong>. ");
    match &pending.way {
        Way::AgentConnect => main.markup("If the app shows a code, it must be this one."),
        Way::Device => main.markup("The device that asks must show the same code."),
        Way::Here => main,
        Way::Redirect(redirect) => main
            .markup("After you decide, your browser returns to ")
            .text(&goes_back_to(&redirect.uri))
            .markup("."),
    };
    main.markup(" <strong>Deny this if you did not start it.</strong></p>\n");
}

/// Where a browser returns to, in words.
pub fn goes_back_to(uri: &str) -> String {
    let place = url::Url::parse(uri).ok().and_then(|url| match url.scheme() {
        "http" => Some("the app on this computer".to_owned()),
        _ => url.host_str().map(str::to_owned),
    });
    place.unwrap_or_else(|| "the app".to_owned())
}

pub(super) const fn tick(is_ticked: bool) -> &'static str {
    if is_ticked { " checked" } else { "" }
}

pub(super) fn counted(count: usize, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// The kind of an account, if its name does not include it.
pub(super) fn kind(main: &mut Html, display: &str, kind: &str) {
    if !display.contains(kind) {
        main.markup(" <span class=\"kind\">").text(kind).markup("</span>");
    }
}

/// A name from a declaration, in words.
pub(super) fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// The label of a purpose. Only for exactly these URIs; any other is shown unchanged.
fn purpose_label(code: &str) -> Option<&'static str> {
    match code {
        ASSISTANT => Some("personal assistant"),
        AI_ASSISTANT => Some("personal AI assistant"),
        AI_TRAINING => Some("training AI models"),
        _ => None,
    }
}

pub(super) fn purpose(main: &mut Html, pending: &Pending, asked: &AuthorizationDetails) {
    let name = pending.client.name.as_str();
    main.markup("<section aria-labelledby=\"why\">\n<h2 id=\"why\">Purpose</h2>\n");
    let asked_for = &asked.purpose;
    if let Some(description) = &asked_for.description {
        main.markup("<blockquote><p>").text(description).markup("</p></blockquote>\n");
    }
    main.markup("<p class=\"said\">").markup(match (&asked_for.description, asked_for.is_declared()) {
        // The owner's own words, or the command's default.
        (Some(_), _) if matches!(pending.way, Way::Here) => {
            "The grant will state this purpose (<code>--purpose</code> changes it), declared as: "
        }
        (Some(_), true) => "This is what the app says. Declared purpose: ",
        (Some(_), false) => "This is what the app says. It declared no purpose; the grant will state: ",
        (None, true) => "The app did not describe its purpose. Declared purpose: ",
        (None, false) => "The app stated no purpose. The grant will state: ",
    });
    match purpose_label(asked_for.code()) {
        Some(label) => main.markup("<em>").text(label).markup("</em>"),
        None => main.markup("<code>").text(asked_for.code()).markup("</code>"),
    };
    main.markup(if asked.single_use {
        ". It asks for one-time access"
    } else {
        ". It asks for ongoing access"
    });
    if let Some(wished) = asked.expires_ms {
        main.markup(" until ").text(&minute(wished));
    }
    main.markup(".</p>\n");
    if !asked.commitments.is_empty() {
        main.markup("<p class=\"said\"><q>")
            .text(name)
            .markup("</q> also makes these promises, which nobody can enforce:</p>\n<ul class=\"claims\">\n");
        for commitment in &asked.commitments {
            main.markup("<li>").text(commitment).markup("</li>\n");
        }
        main.markup("</ul>\n");
    }
    main.markup("</section>\n");
}

/// `2026-05-06 07:08 UTC`.
pub(super) fn minute(ms: i64) -> String {
    let text = time::format_ms(ms);
    match (text.get(..10), text.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

type Numbered<'a> = Vec<(usize, &'a Choice)>;

fn by_connection(asked: &AuthorizationDetails) -> Vec<(&str, Numbered<'_>)> {
    let mut groups: Vec<(&str, Numbered<'_>)> = Vec::new();
    for (number, choice) in asked.choices.iter().enumerate() {
        match groups.iter_mut().find(|(connection, _)| *connection == choice.connection) {
            Some((_, group)) => group.push((number, choice)),
            None => groups.push((&choice.connection, vec![(number, choice)])),
        }
    }
    groups
}

fn what(main: &mut Html, form: &Form<'_>) {
    let asked = form.asked;
    let accounts = by_connection(asked);
    main.markup("<section aria-labelledby=\"what\">\n<h2 id=\"what\">What it may read</h2>\n<p>It asks for ")
        .text(&counted(asked.choices.len(), "stream", "streams"))
        .markup(" from ")
        .text(&counted(accounts.len(), "account", "accounts"))
        .markup(match form.pending.asked {
            // At first, only what the options name is ticked (O7.6).
            Asked::Wish(_) => {
                ". Tick an account, then open it and tick its streams and fields, or start with a quick selection."
            }
            _ => ". Tick an account to share it, then open it to leave out streams and fields.",
        });
    if asked.choices.iter().any(|choice| choice.is_ambiguous) {
        main.markup(" The app did not say which account it means.");
    }
    main.markup("</p>\n<p class=\"sets\"><span id=\"sets\">Quick selection:</span>\n");
    for set in Set::ALL {
        main.markup("<button type=\"submit\" name=\"set\" formnovalidate aria-describedby=\"sets\"")
            .attribute("value", set.name())
            .attribute("formaction", &format!("/consent/{}/sets", form.place.page))
            .markup(">")
            .text(set.label())
            .markup("</button>\n");
    }
    main.markup("</p>\n");
    left_out(main, form.catalog, asked.undated.iter().map(|(connection, stream)| (&**connection, &**stream)));
    for (connection, choices) in &accounts {
        source(main, form, connection, choices);
    }
    main.markup("</section>\n");
}

/// Streams that a day leaves out, by their connection and name.
pub(super) fn left_out<'a>(
    main: &mut Html,
    catalog: &Catalog,
    streams: impl Iterator<Item = (&'a str, &'a str)>,
) {
    let streams: Vec<String> = streams
        .map(|(connection, stream)| format!("{} of {}", words(stream), accounts::label(catalog, connection)))
        .collect();
    if !streams.is_empty() {
        main.markup("<p>Left out, because they have no date to limit by: ")
            .text(&streams.join(", "))
            .markup(".</p>\n");
    }
}

fn source(main: &mut Html, form: &Form<'_>, connection: &str, choices: &Numbered<'_>) {
    let display = accounts::label(form.catalog, connection);
    let display = display.as_str();
    let connector = choices.first().and_then(|(_, choice)| form.catalog.connector(&choice.connector));
    let is_named = choices.iter().any(|(_, choice)| choice.is_named);
    let records: u64 = choices.iter().filter_map(|(number, _)| form.counts.get(*number)).sum();
    main.markup("<fieldset class=\"source\">\n<legend class=\"hidden\">").text(display);
    if let Some(connector) = connector.filter(|connector| !display.contains(connector.name.as_str())) {
        main.markup(", ").text(&connector.name);
    }
    main.markup("</legend>\n<label class=\"whole\"><input type=\"checkbox\" name=\"connection\"")
        .attribute("value", connection)
        .markup(tick(form.is_ticked("connection", connection, is_named)))
        .markup("> <span class=\"name\">")
        .text(display)
        .markup("</span>");
    if let Some(connector) = connector {
        kind(main, display, &connector.name);
    }
    main.markup(" <span class=\"count\">")
        .text(&counted(choices.len(), "stream", "streams"))
        .markup(", ")
        .text(&HumanCount(records).to_string())
        .markup(if records == 1 { " record" } else { " records" });
    if connector.is_some_and(|connector| is_in_no_set(&connector.key)) {
        main.markup(", not in any quick selection");
    }
    main.markup(
        "</span></label>\n<details class=\"inside\"><summary>Streams and fields<span class=\"hidden\"> of ",
    )
    .text(display)
    .markup("</span></summary>\n<ul class=\"streams\">\n");
    for (number, choice) in choices {
        stream(main, form, *number, choice, display);
    }
    main.markup("</ul></details>\n</fieldset>\n");
}

fn stream(main: &mut Html, form: &Form<'_>, number: usize, choice: &Choice, display: &str) {
    let connector = form.catalog.connector(&choice.connector);
    let Some(stream) = connector.and_then(|connector| connector.stream(&choice.stream)) else { return };
    let count = form.counts.get(number).copied().unwrap_or(0);
    let (value, name) = (number.to_string(), words(&choice.stream));
    main.markup("<li>\n<label><input type=\"checkbox\" name=\"stream\"")
        .markup(tick(form.is_ticked("stream", &value, true)))
        .attribute("value", &value)
        .markup("> ")
        .text(&name)
        .markup("</label> <span class=\"count\">");
    match &choice.resources {
        Some(keys) => main.text(&counted(keys.len(), "named record", "named records")),
        None => {
            main.text(&HumanCount(count).to_string()).markup(if count == 1 { " record" } else { " records" })
        }
    };
    period(main, choice);
    match &stream.consent_time_field {
        Some(field) => main.markup(", dated by ").text(&words(field)),
        None => main.markup(", not dated"),
    };
    main.markup("</span>\n<details><summary>")
        .text(&counted(choice.fields.len(), "field", "fields"))
        .markup("<span class=\"hidden\"> of ")
        .text(&name)
        .markup(", ")
        .text(display)
        .markup("</span></summary>\n<ul class=\"fields\"")
        .attribute("aria-label", &format!("Fields of {name}"))
        .markup(">\n");
    for (field, field_name) in choice.fields.iter().enumerate() {
        let declared = stream.field(field_name);
        if let Some(original) = declared.and_then(|field| field.copy_of.as_ref()) {
            main.markup("<li><span class=\"copy\">")
                .text(&words(field_name))
                .markup(" <span class=\"kind\">shared if it is ticked in ")
                .text(&words(original))
                .markup("</span></span></li>\n");
            continue;
        }
        let is_required = declared.is_some_and(|field| field.required);
        let spans = !stream.gives(field_name, true);
        let value = format!("{number}.{field}");
        main.markup("<li><label><input type=\"checkbox\"")
            .markup(if is_required { " disabled" } else { " name=\"field\"" })
            .attribute("value", &value)
            .markup(tick(is_required || form.is_ticked("field", &value, true)))
            .markup("> ")
            .text(&words(field_name))
            .markup(if is_required { " <span class=\"kind\">always included</span>" } else { "" })
            .markup(if spans { " <span class=\"kind\">reveals later days</span>" } else { "" })
            .markup("</label></li>\n");
    }
    main.markup("</ul></details>\n</li>\n");
}

fn period(main: &mut Html, choice: &Choice) {
    if let Some(since) = choice.since {
        main.markup(", only from ").text(&time::day(since)).markup(" on");
    }
    if let Some(until) = choice.until {
        main.markup(", only before ").text(&time::day(until));
    }
}

fn limits(main: &mut Html, form: &Form<'_>) {
    let asked = form.asked;
    main.markup("<section aria-labelledby=\"far\">\n<h2 id=\"far\">Limits</h2>\n<div class=\"limits\">\n<div class=\"days\">\n");
    let bounds = [
        ("since", "Only records from this day on", asked.since, "no earlier ones"),
        ("until", "Only records before this day", asked.until, "no later ones"),
    ];
    for (id, label, at, none) in bounds {
        let day = at.map(time::day).unwrap_or_default();
        main.markup("<p><label")
            .attribute("for", id)
            .markup(">")
            .text(label)
            .markup("</label><input type=\"date\"")
            .attribute("id", id)
            .attribute("name", id)
            .attribute("aria-describedby", &format!("{id}-hint days-hint"))
            .attribute("value", form.value(id, &day))
            .markup("><span class=\"hint\"")
            .attribute("id", &format!("{id}-hint"))
            .markup(">");
        // The field shows only a day. If it is left unchanged, the time of day counts too.
        let exactly = at.map(|at| time::day_or_minute(&time::format_ms(at))).filter(|text| *text != day);
        if let Some(exactly) = exactly {
            main.text(&format!("Exactly: {exactly}. "));
        }
        if at.is_some() && matches!(form.pending.way, Way::Here) {
            main.markup("You can change or remove it.");
        } else if at.is_some() {
            main.text(&format!("The app asks for {none}."));
        }
        main.markup("</span></p>\n");
    }
    main.markup("</div>\n<p class=\"hint\" id=\"days-hint\">");
    if asked.since.is_none() && asked.until.is_none() {
        main.markup("Without a day, everything that it asks for. ");
    }
    main.markup(
        "A day applies to the field named after “dated by”. It leaves out streams marked “not dated”.",
    );
    if form.tells_of_later_days() {
        main.markup(" “Before this day” also leaves out fields marked “reveals later days”.");
    }
    main.markup(
        "</p>\n<p><label for=\"expires\">Access ends after</label>\
         <select id=\"expires\" name=\"expires\" aria-describedby=\"expires-hint\">",
    );
    let now = time::now_ms();
    let wished = ends::wished(form.asked.expires_ms, now);
    let chosen = form.value("expires", ends::beforehand(form.asked.expires_ms, form.asked.single_use, now));
    for (value, label, _) in ENDS {
        main.markup("<option")
            .attribute("value", value)
            .markup(if value == chosen { " selected>" } else { ">" })
            .text(label)
            .markup("</option>");
    }
    if let Some(wished) = wished {
        main.markup("<option")
            .attribute("value", ASKED)
            .markup(if chosen == ASKED { " selected>" } else { ">" })
            .text(&format!("as the app asks: {}", minute(wished)))
            .markup("</option>");
    }
    main.markup(
        "</select><span class=\"hint\" id=\"expires-hint\">You can end it sooner. The app keeps what it has read by then.\
         </span></p>\n</div>\n</section>\n",
    );
}

/// The page for a request for data that does not exist.
pub(super) fn not_here(place: &Place<'_>, pending: &Pending, why: &str) -> Html {
    let mut main = Html::new();
    heading(&mut main, pending);
    main.markup("<p class=\"problem\" role=\"alert\"><strong>It asks for data that does not exist here.</strong> ")
        .text(why)
        .markup(
            ". The app does not learn what exists here. Deny this, then have it ask again for data that exists.</p>\n",
        );
    who_asks(&mut main, pending);
    place.deny_form(&mut main);
    main.markup("<div class=\"actions\">\n").markup(DENY).markup("</div>\n");
    shell(place.profile, &format!("{} asks for data that does not exist here", pending.client.name), &main)
}

/// The page for anyone who is not the owner of a request, whether or not the request exists.
pub(super) fn stranger(profile: &Profile) -> Reply {
    let mut main = Html::new();
    main.markup("<h1>Only the owner decides</h1>\n");
    if profile.is_service {
        main.markup(
            "<p>The owner decides on the owner’s page. Open it within ten minutes of the request: <code>pdpp provider \
             open</code>. The request is listed under “Waiting for your decision”.</p>\n",
        );
    } else {
        main.markup(
            "<p>Each request for access has its own link. This provider printed it in the terminal of <code>",
        )
        .text(profile.command)
        .markup(
            "</code>. Open that link in this browser within ten minutes of the request. It works once.</p>\n",
        );
    }
    main.markup("<p>If you did not start this, close this page.</p>\n");
    page_reply(StatusCode::OK, shell(profile, "Only the owner decides", &main))
}

/// The page at the public name for anyone who did not pair the request, whether or not the request exists.
pub(super) fn paired_elsewhere(profile: &Profile) -> Reply {
    let title = "Only the owner decides";
    let text = "A request is decided in the browser in which its pairing code was entered. Start again from the app. \
                If you did not start this, close this page.";
    page_reply(StatusCode::OK, message(profile, title, text))
}

/// A page that belongs to no request.
pub fn plain_page(profile: &Profile, status: StatusCode, title: &str, main: &Html) -> Reply {
    page_reply(status, shell(profile, title, main))
}

/// The page for a link that was already used, is made up or is too old.
pub(super) fn spent_link(profile: &Profile) -> Reply {
    let mut main = Html::new();
    main.markup(
        "<h1>This link no longer works</h1>\n<p>A link works once, within ten minutes. If you have already \
         opened it, decide in that tab or window.</p>\n<p>If you did not open it and it is less \
         than ten minutes old, someone else saw it: ",
    );
    if profile.is_service {
        main.markup("deny the request on your page, which <code>pdpp provider open</code> opens");
    } else {
        main.markup("stop <code>").text(profile.command).markup("</code>");
    }
    main.markup(", and start again from the app.</p>\n");
    page_reply(StatusCode::NOT_FOUND, shell(profile, "This link no longer works", &main))
}

/// The answer to a form of another site.
pub fn foreign_page(profile: &Profile) -> Reply {
    let page = message(
        profile,
        "This form came from another page",
        "It did not come from the page of a request, so nothing was decided. Decide on the page that the owner's link opened.",
    );
    page_reply(StatusCode::FORBIDDEN, page)
}

/// The page for a browser whose app sent a request that cannot be shown to its owner.
pub fn refused_page(profile: &Profile, why: &str) -> Reply {
    let mut main = Html::new();
    main.markup("<h1>This request is not valid</h1>\n<p>The app that sent you here made a mistake: ")
        .text(why)
        .markup(
            ". Nothing was decided, and nothing was sent to the app. Go back to the app and start again.</p>\n",
        );
    page_reply(StatusCode::BAD_REQUEST, shell(profile, "This request is not valid", &main))
}

/// The answer to a form whose request was decided from another page, or from the one before.
pub(super) fn already(profile: &Profile, pending: &Pending) -> Option<Reply> {
    let (title, text) = match &pending.decision {
        Decision::Approved(_) => (
            "Already approved",
            "This request was already approved. What you just pressed changed nothing. Reload its page to see what \
             was approved and to end it.",
        ),
        Decision::Denied { .. } => (
            "Already denied",
            "This request was already denied. What you just pressed changed nothing. The app can read nothing. To \
             approve after all, start again from the app.",
        ),
        Decision::Open => return ended(profile, pending),
    };
    Some(page_reply(StatusCode::CONFLICT, message(profile, title, text)))
}

/// How a request ended that was not approved; `None` if it did not end.
pub(super) fn ended(profile: &Profile, pending: &Pending) -> Option<Reply> {
    let (title, text) = match &pending.decision {
        Decision::Denied { .. } => (
            "Access denied",
            "The app can read nothing. It learns of your decision when it next asks. You can close this page.",
        ),
        Decision::Open if pending.is_expired() => (
            "This request has expired",
            "Nobody decided in time, so nothing was granted. Start again from the app.",
        ),
        Decision::Open | Decision::Approved(_) => return None,
    };
    Some(page_reply(StatusCode::OK, message(profile, title, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(
            ["0", "999", "1,000", "25,304"],
            [0, 999, 1000, 25304].map(|count| HumanCount(count).to_string())
        );
    }

    #[test]
    fn o7_14_a_purpose_is_named_by_its_uri_alone() {
        assert_eq!(purpose_label(AI_TRAINING), Some("training AI models"));
        for other in [
            "https://pdpp.dev/purpose//ai_training",
            "https://pdpp.dev/purpose/ai_training/",
            "https://pdpp.dev/purpose/x/ai_training",
            "https://evil.example/personal_assistant",
        ] {
            assert_eq!(purpose_label(other), None, "{other}");
        }
    }
}
