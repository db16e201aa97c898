//! Which mails are a key to something: codes to sign in with, links that reset a password, magic links (O5.6).
//!
//! The rule errs towards it. It looks at nothing but the subject and the beginning of the text, so that each copy of a mail
//! is judged alike.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::memchr3_iter;

/// How much of the text is looked at, in bytes.
const LOOKED_AT: usize = 16 * 1024;

/// What a phrase shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// The mail is a key, wherever the phrase stands.
    Key,
    /// It is one if it stands in the subject, in HTML, whose links are not looked at, or has a link or a code near it.
    Asks,
    /// It is one if it stands in the subject, or has a code near it: other mail says it too.
    Title,
    /// It is one if a number of 4 to 8 digits is near the word.
    Code,
}

use Shows::{Asks, Code, Key, Title};

/// In lower case, as far as that is ASCII: capitals beyond ASCII are left out at the beginning of a phrase.
const PHRASES: &[(Shows, &str)] = &[
    // English
    (
        Key,
        "verification code, security code, sign-in code, sign in code, signin code, login code, log-in code, \
         log in code, authentication code, authorization code, one-time code, one time code, one-time pass, \
         one time pass, single-use code, access code, recovery code, backup code, passcode, pass code, \
         magic link, magic sign-in, login link, log-in link, sign-in link, sign in link, two-factor code, \
         2fa code, otp code, your otp, otp is, temporary password, temporary pin, password reset link, \
         link to reset your password, passwordless, do not share this code, don't share this code",
    ),
    // German
    (
        Key,
        "bestätigungscode, sicherheitscode, verifizierungscode, einmalcode, einmal-code, einmalpasswort, \
         einmal-passwort, einmalkennwort, zugangscode, anmeldecode, anmelde-code, login-code, \
         freischaltcode, prüfcode, authentifizierungscode, wiederherstellungscode, anmeldelink, \
         anmelde-link, login-link, magischer link, vorläufiges passwort, temporäres passwort, smstan, \
         mobiletan, freigabecode",
    ),
    // French
    (
        Key,
        "code de vérification, code de sécurité, code de connexion, code de confirmation, code d'accès, \
         code d’accès, code à usage unique, code d'authentification, code d’authentification, \
         code de validation, mot de passe à usage unique, mot de passe temporaire, mot de passe provisoire, \
         lien de connexion, lien magique, code secret",
    ),
    // Spanish
    (
        Key,
        "código de verificación, código de seguridad, código de acceso, código de confirmación, \
         código de inicio de sesión, código de un solo uso, código de autenticación, contraseña temporal, \
         contraseña de un solo uso, clave de acceso, clave temporal, enlace mágico, enlace de acceso, \
         enlace de inicio de sesión",
    ),
    // Portuguese
    (
        Key,
        "código de verificação, código de segurança, código de acesso, código de confirmação, \
         código de login, código de uso único, código de autenticação, senha temporária, senha provisória, \
         senha de uso único, palavra-passe temporária, link mágico, link de acesso, link de login",
    ),
    // Italian
    (
        Key,
        "codice di verifica, codice di sicurezza, codice di accesso, codice di conferma, codice monouso, \
         codice di autenticazione, codice otp, password temporanea, password monouso, password provvisoria, \
         link magico, link di accesso",
    ),
    // Dutch
    (
        Key,
        "verificatiecode, beveiligingscode, inlogcode, toegangscode, bevestigingscode, eenmalige code, \
         eenmalig wachtwoord, tijdelijk wachtwoord, magische link, inloglink, aanmeldcode",
    ),
    // Japanese
    (
        Key,
        "認証コード, 確認コード, 認証番号, セキュリティコード, ログインコード, 検証コード, ワンタイム, 暗証番号, 仮パスワード, ログインリンク, ログイン用リンク, マジックリンク, \
         二段階認証, 2段階認証",
    ),
    // and the words for it of a few more
    (
        Key,
        "验证码, 驗證碼, 校验码, 인증번호, 인증 코드, код подтверждения, код доступа, одноразовый, kod weryfikacyjny, \
         kod potwierdzający, doğrulama kodu, verifieringskod, engangskode, engångskod, bekræftelseskode, \
         bekreftelseskode, vahvistuskoodi, ověřovací kód, mã xác, رمز التحقق, קוד אימות, \
         κωδικός επαλήθευσης, cod de verificare, код підтвердження",
    ),
    (
        Asks,
        "reset your password, reset password, password reset, reset the password, resetting your password, \
         forgot your password, forgot password, forgotten password, change your password, set your password, \
         set a password, create your password, create a password, recover your account, account recovery, \
         password recovery, verify your email, verify your e-mail, verify email, confirm your email, \
         confirm your e-mail, confirm email, email verification, verify your account, confirm your account, \
         activate your account, account activation, activation link, verify your identity, verify it's you, \
         verify it’s you, confirm it's you, confirm it’s you, confirmation code, activation code, \
         unlock your account, approve this sign-in, approve sign-in, verify your device, \
         confirm your identity",
    ),
    // German
    (
        Asks,
        "passwort zurücksetz, kennwort zurücksetz, passwort vergessen, kennwort vergessen, passwort ändern, \
         passwort festlegen, passwort-reset, zurücksetzen ihres passwort, zurücksetzen deines passwort, \
         passworts zurück, e-mail-adresse bestätigen, email-adresse bestätigen, e-mail bestätigen, \
         bestätige deine e-mail, bestätigen sie ihre e-mail, konto aktivieren, konto bestätigen, \
         konto wiederherstell, aktivierungslink, aktivierungscode, bestätigungslink, anmeldung bestätigen",
    ),
    // French
    (
        Asks,
        "mot de passe oublié, changer votre mot de passe, modifier votre mot de passe, \
         créer votre mot de passe, définir votre mot de passe, vérifiez votre adresse, \
         confirmez votre adresse, confirmer votre adresse, confirmez votre compte, activer votre compte, \
         activez votre compte, activation de votre compte, lien d'activation, lien d’activation, \
         récupération de compte, code d'activation, code d’activation",
    ),
    // Spanish
    (
        Asks,
        "olvidaste tu contraseña, olvidó su contraseña, cambiar tu contraseña, cambiar su contraseña, \
         verifica tu correo, verifique su correo, confirma tu correo, confirme su correo, \
         verifica tu cuenta, activa tu cuenta, active su cuenta, activar tu cuenta, enlace de activación, \
         código de activación, recuperar tu cuenta, recuperación de cuenta",
    ),
    // Portuguese
    (
        Asks,
        "esqueceu a senha, esqueceu sua senha, alterar sua senha, repor a palavra-passe, recuperar senha, \
         recuperação de senha, verifique seu e-mail, verifique o seu e-mail, confirme seu e-mail, \
         confirme o seu e-mail, confirmar e-mail, ative sua conta, ativar sua conta, ative a sua conta, \
         link de ativação, código de ativação, recuperação de conta",
    ),
    // Italian
    (
        Asks,
        "password dimenticata, dimenticato la password, recupero password, recupera la password, \
         modifica la password, verifica il tuo indirizzo, verifica la tua email, conferma il tuo indirizzo, \
         conferma la tua email, conferma la tua e-mail, attiva il tuo account, attiva account, \
         link di attivazione, codice di attivazione, recupero account",
    ),
    // Dutch
    (
        Asks,
        "wachtwoord opnieuw, wachtwoord resetten, wachtwoord herstel, wachtwoord vergeten, \
         wachtwoord wijzigen, wachtwoord instellen, bevestig je e-mail, bevestig uw e-mail, \
         e-mailadres bevestigen, verifieer je, verifieer uw, account activeren, activeer je account, \
         activeer uw account, activatielink, activatiecode, account herstel",
    ),
    // Japanese
    (
        Asks,
        "パスワードの再設定, パスワード再設定, パスワードをリセット, パスワードのリセット, パスワードリセット, パスワードをお忘れ, パスワード再発行, メールアドレスの確認, \
         メールアドレスを確認, メールアドレスの認証, 本登録, アカウントの確認, アカウントを有効, アカウントの有効化, アカウントの復旧, ログインを確認, redefinir sua senha, \
         redefinir a sua senha, redefinir a senha, redefinir senha, redefinição de senha, \
         redefina sua senha, redefina a sua senha, restablecer tu contraseña, restablecer su contraseña, \
         restablecer la contraseña, restablece tu contraseña, restablezca su contraseña, \
         restablecimiento de contraseña, reimposta la password, reimpostare la password, reimposta password, \
         reimpostazione della password, reimpostare la tua password, réinitialiser votre mot de passe, \
         réinitialiser le mot de passe, réinitialiser mon mot de passe, réinitialisez votre mot de passe, \
         réinitialisation de votre mot de passe, réinitialisation du mot de passe, \
         réinitialise ton mot de passe",
    ),
    // and a few more
    (
        Asks,
        "重置密码, 重設密碼, 비밀번호 재설정, сброс пароля, восстановление пароля, reset hasła, resetowanie hasła, \
         şifre sıfırlama",
    ),
    (
        Title,
        "sign in to, log in to, login to, new password, your pin, invitation code, connectez-vous à, \
         inicia sesión en, nouveau mot de passe, nueva contraseña, nova senha, nova palavra-passe, \
         nuova password, nieuw wachtwoord, neues passwort, neues kennwort, ihre pin, redefinir, redefinição, \
         redefina, restablecer, restablece, restablecimiento, reimposta, reimpostare, reimpostazione, \
         réinitialis, återställ, nulstil, 本人確認, 新しいパスワード, パスワードの変更",
    ),
    (
        Code,
        "code, código, codigo, codice, コード, kod, kode, код, 코드, 代码, pin, tan, otp, token, password, \
         passwort, kennwort, mot de passe, contraseña, senha, wachtwoord, パスワード, 2fa",
    ),
];

/// Codes that open nothing.
const HARMLESS: &str = "zip code, postal code, post code, area code, promo code, coupon code, discount code, voucher code, \
    product code, source code, status code, error code, qr code, code postal, code promo, código postal, \
    codice postale, codice fiscale, country code";

struct Rule {
    finder: AhoCorasick,
    shows: Vec<Shows>,
}

static RULE: LazyLock<Option<Rule>> = LazyLock::new(|| {
    let phrases =
        PHRASES.iter().flat_map(|(shows, phrases)| phrases.split(',').map(|phrase| (*shows, phrase.trim())));
    let (shows, phrases): (Vec<_>, Vec<_>) = phrases.unzip();
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(phrases)
        .ok()?;
    Some(Rule { finder, shows })
});

/// Whether a mail is a key to something. `is_html`: the text was made of HTML.
pub fn is_key(subject: &str, body: &str, is_html: bool) -> bool {
    let body = &body[..body.floor_char_boundary(LOOKED_AT)];
    let mut text = String::with_capacity(subject.len() + body.len() + 1);
    text.push_str(&subject[..subject.floor_char_boundary(LOOKED_AT)]);
    let subject_end = text.len();
    // Lines break phrases.
    for line in body.split('\n') {
        text.push(' ');
        text.push_str(line);
    }
    if is_rewritten(&text) {
        text = text.chars().map(plain).collect();
    }
    // Without its rule it would let all through: then all is kept apart.
    let Some(rule) = &*RULE else { return true };
    rule.finder.find_overlapping_iter(&text).any(|found| {
        let (start, end) = (found.start(), found.end());
        let number = |before, behind, least| has_number(near(&text, start, end, before, behind), least);
        is_word(&text, start, end)
            && match rule.shows[found.pattern().as_usize()] {
                Key => true,
                Asks if is_html || near(&text, start, end, 400, 2000).contains("http") => true,
                Asks | Title => start < subject_end || number(100, 200, 5),
                Code => !is_harmless(&text, start, end) && (number(60, 120, 5) || number(10, 24, 4)),
            }
    })
}

/// Whether a text has anything that [`plain`] changes: most have not, and this is looked at in each mail.
fn is_rewritten(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr3_iter(0xc2, 0xc3, 0xef, bytes).any(|at| match bytes[at..] {
        [0xc2, next, ..] => next == 0xa0,
        [0xc3, next, ..] => next <= 0x9e,
        [0xef, next, ..] => next == 0xbc,
        _ => false,
    })
}

/// Full-width digits are digits, and capitals beyond ASCII are letters. Places stay what they are, closely enough.
fn plain(char: char) -> char {
    match char {
        '\u{ff10}'..='\u{ff19}' => char::from_digit(u32::from(char) - 0xff10, 10).unwrap_or(char),
        '\u{a0}' => ' ',
        'À'..='Þ' if char != '×' => char::from_u32(u32::from(char) + 32).unwrap_or(char),
        other => other,
    }
}

/// Whether no letter goes on before it and none behind it, but for an ending. Phrases in other scripts stand anywhere.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    if !text.as_bytes()[start].is_ascii() {
        return true;
    }
    let goes_on = text[..start].chars().next_back().is_some_and(|char| char.is_ascii_alphanumeric());
    let is_short = end - start <= 5;
    let ends_later = text[end..].chars().next().is_some_and(|char| char.is_ascii_lowercase() && char != 's');
    !(goes_on || is_short && ends_later)
}

fn is_harmless(text: &str, start: usize, end: usize) -> bool {
    let around = near(text, start, end, 12, 12).to_ascii_lowercase();
    HARMLESS.split(',').any(|harmless| around.contains(harmless.trim()))
}

fn near(text: &str, start: usize, end: usize, before: usize, behind: usize) -> &str {
    let from = text.floor_char_boundary(start.saturating_sub(before));
    let to = text.floor_char_boundary((end + behind).min(text.len()));
    &text[from..to]
}

/// Whether there is a number of `least` to 8 digits that stands alone, `123 456` and `123-456` among them.
fn has_number(text: &str, least: usize) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let begin = at;
        let (mut digits, mut groups) = (0, 1);
        while at < bytes.len() {
            if bytes[at].is_ascii_digit() {
                digits += 1;
            } else if digits == 3 && groups == 1 && matches!(bytes[at], b' ' | b'-') {
                groups += 1;
            } else {
                break;
            }
            at += 1;
        }
        let before = begin.checked_sub(1).map(|before| bytes[before]);
        let behind = bytes.get(at);
        // Part of an amount, of a date, of a longer name.
        let is_part = before.is_some_and(|byte| {
            byte.is_ascii_lowercase() || matches!(byte, b'.' | b',' | b'/' | b'$' | b'#')
        }) || behind
            .is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'@' | b'%'))
            || (behind.is_some_and(|byte| matches!(byte, b'.' | b','))
                && bytes.get(at + 1).is_some_and(u8::is_ascii_digit));
        if (least..=8).contains(&digits) && !is_part {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o5_6_keys_are_found_in_many_languages() {
        for (subject, body) in [
            // Codes
            ("Your code", "Hello Ana,\n\n482913\n\nis your code."),
            ("123 456 is your Example code", ""),
            ("G-482913 is your verification code", ""),
            ("Sign in", "Use 482-913 as your one-time passcode."),
            ("Ihr Sicherheitscode", "Der Code lautet 482913."),
            ("Anmeldung", "Ihr Bestätigungscode: 4829"),
            ("Votre code de vérification", "482913"),
            ("Connexion", "Voici votre code : 482913"),
            ("Tu código de verificación", "482913"),
            ("Acceso", "Tu código es 4829."),
            ("Seu código de segurança", "482913"),
            ("Entrar", "Use o código 482913 para entrar."),
            ("Il tuo codice di verifica", "482913"),
            ("Accesso", "Inserisci il codice 482913"),
            ("Je verificatiecode", "482913"),
            ("Inloggen", "Gebruik deze code: 482913"),
            ("認証コードのお知らせ", "482913"),
            ("ログイン", "コードは 482913 です。"),
            ("ログイン", "コード：４８２９１３"),
            ("您的验证码", "482913"),
            // Links
            ("Reset your password", ""),
            ("Hello", "Reset your password here: https://example.org/r?t=1"),
            ("Your magic link", ""),
            ("Sign in to Example", "Click https://example.org/in"),
            ("Passwort zurücksetzen", ""),
            ("Hallo", "Sie haben Ihr Passwort vergessen? https://example.org"),
            ("Réinitialisation de votre mot de passe", ""),
            ("Restablece tu contraseña", ""),
            ("Redefinir senha", ""),
            ("Reimposta la password", ""),
            ("Wachtwoord opnieuw instellen", ""),
            ("パスワードの再設定", ""),
            ("BESTÄTIGUNGSCODE", ""),
            ("Verify your email address", ""),
        ] {
            assert!(is_key(subject, body, false), "{subject} / {body}");
        }
    }

    #[test]
    fn o5_6_other_mail_is_left_alone() {
        for (subject, body) in [
            ("Dinner on Friday", "See you at 19:30 at the usual place. Bring 3 bottles."),
            ("Invoice 20240117", "The amount is 1,482.90 EUR, order number 48291355."),
            ("Review", "The code in the parser is fine now, see line 12."),
            ("Re: holiday", "My sister lives at zip code 48291, near the lake."),
            ("Gutschein", "Wir freuen uns auf Sie am 12.03.2024."),
            ("Rechnung", "Die Rechnung vom 2.1.2024 über 48,29 Euro ist bezahlt."),
            ("Vacances", "Nous arrivons le 12 mars 2024 vers 18 h."),
            ("会議", "明日の会議は 15:00 からです。"),
            ("Newsletter", "This week: ten recipes for winter, and how to decode a wine label."),
        ] {
            assert!(!is_key(subject, body, false), "{subject} / {body}");
        }
    }

    #[test]
    fn o5_6_what_a_button_does_counts_in_html() {
        let body = "Hello Ana,\nclick below to reset your password\nReset";
        assert!(is_key("Your account", body, true));
        assert!(!is_key("Your account", body, false));
        assert!(!is_key("Your parcel", "Log in to your account to see where it is.", true));
    }

    #[test]
    fn numbers_stand_alone() {
        assert!(has_number("x 482913.", 5) && has_number("482 913", 5) && has_number("is 482-913!", 5));
        assert!(!has_number("48.2913 4829/13 a482913 482913kg 123456789 12", 5));
        assert!(!has_number("4829", 5) && has_number("4829", 4));
    }
}
