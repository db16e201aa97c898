//! Which messages act as a key to an account: sign-in codes, password reset links and magic links (O5.6).
//!
//! When in doubt, a message counts as a key. The rule reads only the subject and the beginning of the text, so that each copy of
//! a message is judged in the same way.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use memchr::{memchr2, memchr3_iter};

use crate::vault::folding;

/// How much of the text is read, in bytes.
const LOOKED_AT: usize = 16 * 1024;

/// How strongly a phrase indicates a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// The message is a key, wherever the phrase is.
    Key,
    /// The message is a key if the phrase is in the subject and the message has a link or a code; near the beginning of the text
    /// with a link, or in HTML, where it may be a link; or anywhere with a code or a link that opens something near it.
    Asks,
    /// Like [`Shows::Asks`], but many messages end with this phrase as a link for anyone who needs it. There it counts only if a
    /// link near it opens something.
    Forgot,
    /// The message is a key if the phrase is in the subject and the message has a link or a code, or if a code is next to it.
    /// Other messages contain the phrase too.
    Title,
    /// The message is a key if a number of 4 to 8 digits is near the word, or a line that contains only a code.
    Code,
}

use Shows::{Asks, Code, Forgot, Key, Title};

/// The phrases by language, in lower case. Except for the short ones, they also match with an ending.
const PHRASES: &[(Shows, &str)] = &[
    // English
    (
        Key,
        "verification code, security code, sign-in code, sign in code, signin code, login code, log-in code, \
         log in code, authentication code, authenticator code, authorization code, authorisation code, \
         one-time code, one time code, one-time pass, one time pass, single-use code, access code, recovery code, \
         backup code, reset code, passcode, pass code, magic link, magic sign-in, login link, log-in link, \
         sign-in link, sign in link, two-factor code, 2fa code, otp code, your otp, otp is, temporary password, \
         temporary pin, password reset link, link to reset your password, passwordless, do not share this code, \
         don't share this code, don’t share this code, steam guard, code to sign in, code to log in, verify login",
    ),
    (
        Asks,
        "confirm sign in, confirm sign-in, tried to log in, tried to sign in, \
         reset your password, reset password, password reset, reset the password, resetting your password, \
         change your password, set your password, set a new password, set new password, choose a new password, \
         choose new password, choose your password, create a new password, create new password, set up your password, \
         set up a password, set a password, create your password, create a password, recover your account, account recovery, \
         password recovery, verify your email, verify your e-mail, verify email, confirm your email, \
         confirm your e-mail, confirm email, email verification, verify your account, confirm your account, \
         activate your account, account activation, activation link, verify your identity, verify it's you, \
         verify it’s you, confirm it's you, confirm it’s you, confirmation code, activation code, \
         unlock your account, approve this sign-in, approve sign-in, verify your device, \
         confirm your identity, login approval",
    ),
    (Forgot, "forgot your password, forgot password, forgotten password"),
    (Title, "sign in to, log in to, login to, new password, your pin, invitation code"),
    (Code, "code, codes, pin, tan, mtan, otp, token, password, passwords, 2fa, transaction number"),
    // German
    (
        Key,
        "bestätigungscode, sicherheitscode, verifizierungscode, einmalcode, einmal-code, einmalpasswort, \
         einmal-passwort, einmalkennwort, zugangscode, anmeldecode, anmelde-code, login-code, \
         freischaltcode, prüfcode, authentifizierungscode, wiederherstellungscode, anmeldelink, \
         anmelde-link, login-link, magischer link, vorläufiges passwort, temporäres passwort, smstan, sms-tan, \
         mobiletan, freigabecode, einmal-tan",
    ),
    (
        Asks,
        "passwort zurück, kennwort zurück, passwort zu ändern, passwort neu setzen, kontowiederherstellung, registrierung abschließen, \
         passwort zurücksetz, kennwort zurücksetz, passwort ändern, passwort setzen, passwort vergeben, passwort wählen, \
         passwort zu setzen, passwort zu vergeben, passwort zu wählen, passwort festzulegen, kennwort festlegen, \
         kennwort vergeben, kennwort wählen, \
         passwort festlegen, passwort-reset, zurücksetzen ihres passwort, zurücksetzen deines passwort, \
         passworts zurück, e-mail-adresse bestätigen, email-adresse bestätigen, e-mail bestätigen, \
         bestätige deine e-mail, bestätigen sie ihre e-mail, konto aktivieren, konto bestätigen, \
         konto wiederherstell, aktivierungslink, aktivierungscode, bestätigungslink, anmeldung bestätigen",
    ),
    (Forgot, "passwort vergessen, kennwort vergessen"),
    (Title, "neues passwort, neues kennwort, ihre pin, deine pin"),
    (
        Code,
        "passwort, kennwort, ziffern, geben sie, gib, eingeben, pushtan, phototan, chiptan, tan-nummer, transaktionsnummer",
    ),
    // French
    (
        Key,
        "code de vérification, code de sécurité, code de connexion, code de confirmation, code d'accès, \
         code d’accès, code à usage unique, code d'authentification, code d’authentification, code sms, \
         code de validation, mot de passe à usage unique, mot de passe temporaire, mot de passe provisoire, \
         lien de connexion, lien magique, code secret",
    ),
    (
        Asks,
        "reinitialisation de votre mot de passe, réinitialiser ton mot de passe, mot de passe perdu, vérification de votre adresse, validez votre inscription, validez votre adresse, \
         changer votre mot de passe, modifier votre mot de passe, un nouveau mot de passe, \
         créer votre mot de passe, définir votre mot de passe, vérifiez votre adresse, \
         confirmez votre adresse, confirmer votre adresse, confirmez votre compte, activer votre compte, \
         activez votre compte, activation de votre compte, lien d'activation, lien d’activation, \
         récupération de compte, code d'activation, code d’activation, réinitialiser votre mot de passe, \
         réinitialiser le mot de passe, réinitialiser mon mot de passe, réinitialisez votre mot de passe, \
         réinitialisation de votre mot de passe, réinitialisation du mot de passe, réinitialise ton mot de passe",
    ),
    (Forgot, "mot de passe oublié"),
    (Title, "connectez-vous à, nouveau mot de passe, réinitialis"),
    (Code, "mot de passe, saisissez, saisis, vérification"),
    // Spanish
    (
        Key,
        "código de verificación, código de seguridad, código de acceso, código de confirmación, \
         código de inicio de sesión, código de un solo uso, código de autenticación, contraseña temporal, \
         contraseña de un solo uso, clave de acceso, clave temporal, enlace mágico, enlace de acceso, \
         enlace de inicio de sesión",
    ),
    (
        Asks,
        "recuperar contraseña, recuperación de contraseña, recuperar tu contraseña, cambio de contraseña, confirma tu cuenta, confirma tu email, verifica tu email, verificación en dos pasos, \
         cambiar tu contraseña, cambiar su contraseña, una nueva contraseña, una contraseña nueva, \
         verifica tu correo, verifique su correo, confirma tu correo, confirme su correo, \
         verifica tu cuenta, activa tu cuenta, active su cuenta, activar tu cuenta, enlace de activación, \
         código de activación, recuperar tu cuenta, recuperación de cuenta, restablecer tu contraseña, \
         restablecer su contraseña, restablecer la contraseña, restablece tu contraseña, \
         restablezca su contraseña, restablecimiento de contraseña",
    ),
    (Forgot, "olvidaste tu contraseña, olvidado tu contraseña, olvidado su contraseña, olvidó su contraseña"),
    (Title, "inicia sesión en, nueva contraseña, restablecer, restablece, restablecimiento"),
    (Code, "código, codigo, contraseña, tu clave, su clave, introduce, introduzca, ingresa"),
    // Portuguese
    (
        Key,
        "código de verificação, código de segurança, código de acesso, código de confirmação, código sms, \
         código de login, código de uso único, código de utilização única, código de autenticação, \
         código de autorização, senha temporária, senha provisória, senha de uso único, palavra-passe temporária, \
         palavra-passe de utilização única, link mágico, link de acesso, link de login, ligação de acesso",
    ),
    (
        Asks,
        "alterar sua senha, alterar senha, alterar a palavra-passe, criar nova senha, \
         repor a palavra-passe, reposição da palavra-passe, recuperar senha, recuperar a palavra-passe, \
         recuperar palavra-passe, recuperação de senha, redefinir palavra-passe, redefinir a palavra-passe, \
         redefinir a sua palavra-passe, redefinição da palavra-passe, redefinir sua senha, redefinir a sua senha, \
         redefinir a senha, redefinir senha, redefinição de senha, redefina sua senha, redefina a sua senha, \
         verifique seu e-mail, verifique o seu e-mail, confirme seu e-mail, confirme o seu e-mail, \
         confirmar e-mail, valide o seu e-mail, confirme sua conta, confirme a sua conta, ative sua conta, \
         ativar sua conta, ative a sua conta, link de ativação, código de ativação, recuperação de conta",
    ),
    (
        Forgot,
        "esqueceu a senha, esqueceu sua senha, esqueci minha senha, esqueceu-se da palavra-passe, esqueceu a palavra-passe",
    ),
    (Title, "nova senha, nova palavra-passe, redefinir, redefinição, redefina, entre em sua conta"),
    (Code, "senha, palavra-passe"),
    // Italian
    (
        Key,
        "codice di verifica, codice di sicurezza, codice di accesso, codice d'accesso, codice d’accesso, \
         codice di conferma, codice monouso, codice usa e getta, codice temporaneo, codice sms, \
         codice di autenticazione, codice di autorizzazione, codice di login, codice otp, password temporanea, \
         password monouso, password usa e getta, password provvisoria, link magico, link di accesso, \
         link per accedere",
    ),
    (
        Asks,
        "recupero password, recupera la password, \
         modifica la password, modifica password, cambia la password, cambiare la password, cambio password, \
         ripristina la password, ripristino password, ripristino della password, ripristinare la password, \
         imposta la password, imposta una nuova password, crea la tua password, reimposta la password, \
         reimpostare la password, reimposta password, reimposta la tua password, reimpostazione della password, \
         reimpostazione password, reimpostare la tua password, verifica il tuo indirizzo, verifica la tua email, \
         verifica il tuo account, conferma il tuo indirizzo, conferma l'indirizzo, conferma l’indirizzo, \
         conferma la tua email, conferma la tua e-mail, conferma il tuo account, attiva il tuo account, \
         attiva account, attivazione account, link di attivazione, codice di attivazione, recupero account",
    ),
    (Forgot, "password dimenticata, dimenticato la password"),
    (Title, "nuova password, reimposta, reimpostare, reimpostazione, accedi a"),
    (Code, "codice, codici"),
    // Dutch
    (
        Key,
        "verificatiecode, beveiligingscode, inlogcode, toegangscode, bevestigingscode, eenmalige code, \
         eenmalige toegangscode, eenmalig wachtwoord, tijdelijk wachtwoord, magische link, inloglink, \
         aanmeldcode, controlecode, sms-code, tan-code, herstelcode",
    ),
    (
        Asks,
        "wachtwoord opnieuw, wachtwoord resetten, wachtwoord herstel, wachtwoordherstel, wachtwoord wijzigen, wachtwoord instellen, wachtwoord aanvragen, herstel je wachtwoord, \
         herstel uw wachtwoord, reset je wachtwoord, reset uw wachtwoord, wijzig je wachtwoord, \
         wijzig uw wachtwoord, bevestig je e-mail, bevestig uw e-mail, bevestig je account, bevestig uw account, \
         e-mailadres bevestigen, verifieer je, verifieer uw, account activeren, activeer je account, \
         activeer uw account, activatielink, activatiecode, account herstel",
    ),
    (Forgot, "wachtwoord vergeten"),
    (Title, "nieuw wachtwoord, log in op, inloggen bij, je pincode, uw pincode"),
    (Code, "wachtwoord, pincode"),
    // Norwegian
    (
        Key,
        "engangskode, bekreftelseskode, verifiseringskode, sikkerhetskode, påloggingskode, innloggingskode, \
         tilgangskode, engangspassord, midlertidig passord, påloggingslenke, innloggingslenke, magisk lenke, \
         kode på sms",
    ),
    (
        Asks,
        "tilbakestill passord, tilbakestill ditt passord, tilbakestille passord, tilbakestilling av passord, \
         nullstill passord, nullstille passord, nullstilling av passord, endre passord, bytt passord, velg nytt passord, velg et nytt passord, lag nytt passord, \
         bekreft e-post, bekreft din e-post, bekreft kontoen, bekreft din konto, aktiver kontoen, \
         aktiver din konto, aktiveringslenke, aktiveringskode, bekreft at det er deg",
    ),
    (Forgot, "glemt passord, glemt ditt passord"),
    (Title, "nytt passord, logg inn på, logg på, din pin"),
    (Code, "kode, koden, passord, passordet, pinkode, pin-kode"),
    // Swedish
    (
        Key,
        "verifieringskod, engångskod, säkerhetskod, inloggningskod, bekräftelsekod, åtkomstkod, \
         återställningskod, engångslösenord, tillfälligt lösenord, inloggningslänk, magisk länk",
    ),
    (
        Asks,
        "återställ lösenord, återställ ditt lösenord, återställa lösenord, återställa ditt lösenord, \
         återställning av lösenord, lösenordsåterställning, byt lösenord, \
         ändra lösenord, ändra ditt lösenord, välj ett nytt lösenord, skapa ett nytt lösenord, \
         bekräfta din e-post, bekräfta e-post, verifiera din e-post, bekräfta ditt konto, aktivera ditt konto, \
         aktivera kontot, aktiveringslänk, aktiveringskod",
    ),
    (Forgot, "glömt lösenord, glömt ditt lösenord"),
    (Title, "nytt lösenord, logga in på, återställ"),
    (Code, "kod, lösenord, pinkod, pinkoden"),
    // Danish
    (
        Key,
        "bekræftelseskode, verifikationskode, verificeringskode, sikkerhedskode, loginkode, login-kode, \
         adgangskode til engangsbrug, engangsadgangskode, midlertidig adgangskode, midlertidigt kodeord, \
         loginlink, magisk link, adgangslink",
    ),
    (
        Asks,
        "nulstil adgangskode, nulstil din adgangskode, nulstille din adgangskode, nulstilling af adgangskode, \
         nulstil kodeord, nulstil dit kodeord, nulstilling af kodeord, skift adgangskode, skift din adgangskode, ændr din adgangskode, \
         vælg en ny adgangskode, bekræft din e-mail, bekræft din mail, bekræft e-mail, bekræft din konto, \
         aktiver din konto, aktivér din konto, aktiveringslink",
    ),
    (Forgot, "glemt adgangskode, glemt din adgangskode, glemt kodeord, glemt dit kodeord"),
    (Title, "ny adgangskode, nyt kodeord, log ind på, nulstil"),
    (Code, "adgangskode, adgangskoden, kodeord"),
    // Polish
    (
        Key,
        "kod weryfikacyjny, kodu weryfikacyjnego, kod potwierdzający, kod bezpieczeństwa, kod jednorazowy, \
         jednorazowy kod, kod logowania, kod do logowania, kod dostępu, kod autoryzacyjny, kod autoryzacji, \
         kod uwierzytelniający, kod sms, hasło jednorazowe, jednorazowe hasło, hasło tymczasowe, \
         tymczasowe hasło, link do logowania, link logowania, magiczny link",
    ),
    (
        Asks,
        "reset hasła, resetowanie hasła, resetowania hasła, resetuj hasło, zresetuj hasło, zresetować hasło, \
         zmiana hasła, zmień hasło, zmienić hasło, ustaw hasło, ustaw nowe hasło, ustawić nowe hasło, \
         odzyskiwanie hasła, odzyskaj hasło, przypomnienie hasła, potwierdź adres, potwierdź swój adres, zweryfikuj adres, zweryfikuj swój adres, \
         potwierdź konto, aktywuj konto, aktywuj swoje konto, aktywacja konta, link aktywacyjny, kod aktywacyjny",
    ),
    (Forgot, "nie pamiętasz hasła, zapomniałeś hasła, zapomniane hasło"),
    (Title, "nowe hasło, zaloguj się do, twój pin"),
    (Code, "kodu, kodem, hasło"),
    // Japanese
    (
        Key,
        "認証コード, 確認コード, 認証番号, セキュリティコード, ログインコード, 検証コード, ワンタイム, 暗証番号, 仮パスワード, ログインリンク, ログイン用リンク, マジックリンク, \
         二段階認証, 2段階認証",
    ),
    (
        Asks,
        "パスワードの再設定, パスワード再設定, パスワードをリセット, パスワードのリセット, パスワードリセット, パスワード再発行, メールアドレスの確認, \
         メールアドレスを確認, メールアドレスの認証, 本登録, アカウントの確認, アカウントを有効, アカウントの有効化, アカウントの復旧, ログインを確認",
    ),
    (Forgot, "パスワードをお忘れ"),
    (Title, "本人確認, 新しいパスワード, パスワードの変更"),
    (Code, "コード, パスワード"),
    // The word for "code" in a few other languages
    (
        Key,
        "验证码, 驗證碼, 校验码, 인증번호, 인증 코드, код подтверждения, код доступа, одноразовый, doğrulama kodu, \
         vahvistuskoodi, ověřovací kód, mã xác, رمز التحقق, קוד אימות, κωδικός επαλήθευσης, cod de verificare, \
         код підтвердження",
    ),
    (Asks, "重置密码, 重設密碼, 비밀번호 재설정, сброс пароля, восстановление пароля, şifre sıfırlama"),
    (Code, "код, 코드, 代码"),
];

/// Codes that do not open anything.
const HARMLESS: &str = "zip code, postal code, post code, area code, promo code, coupon code, discount code, voucher code, \
    product code, source code, status code, error code, qr code, bar code, dress code, country code, code postal, code promo, \
    code de réduction, code-barres, code barres, código postal, código promocional, código de desconto, código de descuento, \
    código de barras, codice postale, codice fiscale, codice sconto, codice promo, codice a barre, kod pocztowy, kod rabatowy, \
    kod promocyjny, kod kreskowy";

/// Words about passwords in general. A subject with one of them is typical of a company's or a newsletter's mail.
const GENERAL: &str = "policy, policies, guideline, requirements, manager, tips, richtlinie, regeln, politique, règles, política, \
    reglas, regras, regole, politica, beleid, regels, retningslinje, regler, riktlinje, polityka, polityki, zasady, ポリシー, ルール";

/// What newsletters and other bulk mail contain at the end.
const BULK: &str = "unsubscribe, opt out, manage preferences, email preferences, abmelden, abbestellen, abbestellung, désabonner, \
    désinscri, se désinscrire, darte de baja, darse de baja, cancelar la suscripción, cancelar suscripción, desuscribir, \
    cancelar a subscrição, cancelar subscrição, cancelar inscrição, descadastrar, disiscriv, annulla l'iscrizione, \
    annulla iscrizione, cancella iscrizione, afmelden, uitschrijven, meld deg av, avmeld, avregistrera, \
    avsluta prenumeration, avprenumerera, avslutte abonnement, afmeld, wypisz, zrezygnuj, rezygnacja z, 配信停止, 配信解除, \
    登録解除, 購読を解除";

/// The length of the first part of a text, in bytes. A request in it is what the message is for.
const FIRST_PART: usize = 2000;
/// The shorter limit that applies to bulk mail, and to phrases that many messages end with.
const FIRST_LINES: usize = 500;

/// The content of a message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said<'a> {
    /// Its subject.
    pub subject: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Whether the text was extracted from HTML. Then its links are not in it.
    pub is_html: bool,
    /// The positions in the text of links that [`is_key_link`] recognises.
    pub keys: &'a [usize],
}

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

/// Whether a message acts as a key to something.
pub fn is_key(said: &Said<'_>) -> bool {
    let is_html = said.is_html;
    let (subject, body) = (beginning(said.subject), beginning(said.text));
    let mut text = String::with_capacity(subject.len() + body.len() + 1);
    text.push_str(&subject);
    let subject_end = text.len();
    let mut codes = Vec::new();
    // Phrases may continue on the next line.
    for line in body.split('\n') {
        text.push(' ');
        if is_mixed_code(line.trim()) {
            codes.push(text.len());
        }
        text.push_str(line);
    }
    // Without its rule, the check would let every message through. Treat every message as a key instead.
    let Some(rule) = &*RULE else { return true };
    // A message without a link or a code opens nothing. The links of HTML are not in the text.
    let opens =
        || is_html || body.trim().is_empty() || has_link(&text) || has_number(&text, 4) || !codes.is_empty();
    let is_bulk = LazyCell::new(|| has_any(&text, BULK));
    rule.finder.find_overlapping_iter(&text).any(|found| {
        let (start, end) = (found.start(), found.end());
        let number = |before, behind, least| has_number(near(&text, start, end, before, behind), least);
        let is_of_subject =
            || start < subject_end && !has_any(near(&text, start, end, 24, 24), GENERAL) && opens();
        let has_code = || codes.iter().any(|at| (start.saturating_sub(120)..end + 240).contains(at));
        let is_within = |most: usize| start >= subject_end && start - subject_end <= most;
        let can_open = || is_html || has_link(near(&text, start, end, 400, 2000));
        let has_key = || {
            let around = start.saturating_sub(300)..end + 600;
            said.keys.iter().any(|at| around.contains(&(subject_end + 1 + at)))
                || near(&text, start, end, 300, 600)
                    .split_whitespace()
                    .any(|word| word.find("http").is_some_and(|at| is_key_link(&word[at..])))
        };
        is_word(&text, start, end)
            && match rule.shows[found.pattern().as_usize()] {
                Key => true,
                Asks => {
                    is_of_subject()
                        || is_within(if *is_bulk { FIRST_LINES } else { FIRST_PART }) && can_open()
                        || start >= subject_end && (has_key() || number(100, 200, 5))
                }
                Forgot => {
                    is_of_subject()
                        || !*is_bulk && is_within(FIRST_LINES) && (can_open() || number(100, 200, 5))
                        || start >= subject_end && has_key()
                }
                Title => is_of_subject() || number(10, 24, 5),
                Code => {
                    (number(60, 120, 5) || number(10, 24, 4) || has_code() || names_code(&text[end..]))
                        && !has_any(near(&text, start, end, 16, 16), HARMLESS)
                }
            }
    })
}

/// Whether a link opens something for anyone who has it: its path names the purpose, and it contains a value that cannot be guessed.
/// Newsletter links contain such values too, and shops link to their sign-in pages, so both are required.
pub fn is_key_link(url: &str) -> bool {
    const SAYS: [&str; 36] = [
        "reset",
        "verif",
        "confirm",
        "activat",
        "aktiv",
        "token",
        "password",
        "passwort",
        "passwd",
        "pwd",
        "recover",
        "magic",
        "login",
        "signin",
        "sign-in",
        "sign_in",
        "auth",
        "otp",
        "unlock",
        "validat",
        "forgot",
        "one-time",
        "onetime",
        "mot-de-passe",
        "motdepasse",
        "contrasena",
        "senha",
        "palavra-passe",
        "wachtwoord",
        "passord",
        "losenord",
        "adgangskode",
        "kodeord",
        "haslo",
        "bestaetig",
        "attiva",
    ];
    let url = &url[..url.floor_char_boundary(2048)];
    let Some((_, behind)) = url.split_once("://").unwrap_or(("", url)).1.split_once('/') else {
        return false;
    };
    let lower = behind.to_ascii_lowercase();
    if !SAYS.iter().any(|word| lower.contains(word)) {
        return false;
    }
    behind.split(['/', '?', '&', '#', ';']).any(|part| {
        let (name, value) = part.split_once('=').unwrap_or(("", part));
        let name = name.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if name.starts_with("utm") || names(&["clid", "mc_"]) {
            return false;
        }
        names(&["token", "code", "otp", "key", "sig"]) && value.len() >= 6 || is_random(value)
    })
}

/// Whether a value looks random, like `Ab3dEf6hIj9kLm2n`, a UUID or a JWT, and not like words between dashes.
fn is_random(value: &str) -> bool {
    let count = |is: fn(&u8) -> bool| value.bytes().filter(is).count();
    let (digits, capitals) = (count(u8::is_ascii_digit), count(u8::is_ascii_uppercase));
    let (small, dashes) = (count(u8::is_ascii_lowercase), count(|byte| matches!(byte, b'-' | b'_')));
    let is_hex = count(u8::is_ascii_hexdigit) + dashes == value.len();
    value.len() >= 16
        && digits >= 2
        && capitals + small >= 2
        && (is_hex || capitals >= 2 && small >= 2 || dashes == 0)
}

/// The beginning of a text, with digits normalised and non-ASCII letters in lower case.
fn beginning(text: &str) -> Cow<'_, str> {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let text = as_seen(text);
    if is_rewritten(&text) { Cow::Owned(text.chars().map(plain).collect()) } else { text }
}

/// The text as a reader sees it: combining marks joined to their letters, and invisible characters removed.
fn as_seen(text: &str) -> Cow<'_, str> {
    // The characters to change are two or three bytes long and begin with these bytes.
    if memchr3_iter(0xcc, 0xcd, 0xe2, text.as_bytes()).next().is_none()
        && !text.contains(['\u{ad}', '\u{feff}'])
    {
        return Cow::Borrowed(text);
    }
    let is_seen = |c: &char| !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}');
    let seen: String = text.chars().filter(is_seen).collect();
    Cow::Owned(folding::composed(&seen).into_owned())
}

/// Whether [`plain`] would change a text. Most texts need no change, and every message is checked.
fn is_rewritten(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Letters such as Ł and ł begin with the same bytes.
    memchr2(0xc4, 0xc5, bytes).is_some()
        || memchr3_iter(0xc2, 0xc3, 0xef, bytes).any(|at| match bytes[at..] {
            [0xc2, next, ..] => next == 0xa0,
            [0xc3, next, ..] => next <= 0x9e,
            [0xef, next, ..] => next == 0xbc,
            _ => false,
        })
}

/// Converts full-width digits to ASCII digits, and non-ASCII letters to lower case.
fn plain(char: char) -> char {
    match char {
        '\u{ff10}'..='\u{ff19}' => char::from_digit(u32::from(char) - 0xff10, 10).unwrap_or(char),
        '\u{a0}' => ' ',
        '\u{c0}'..='\u{17f}' => char.to_lowercase().next().unwrap_or(char),
        other => other,
    }
}

fn has_link(text: &str) -> bool {
    text.contains("http") || text.contains("www.")
}

/// Whether a text contains one of the words in a list, ignoring ASCII case.
fn has_any(text: &str, list: &str) -> bool {
    let text = text.to_ascii_lowercase();
    list.split(',').any(|word| text.contains(word.trim()))
}

/// Whether a code of capitals and digits follows a colon.
fn names_code(behind: &str) -> bool {
    let Some(rest) = behind.trim_start().strip_prefix(':') else { return false };
    is_mixed_code(rest.split_whitespace().next().unwrap_or_default().trim_end_matches('.'))
}

/// Whether a text such as `K7QPX` or `4F9-K2Q` consists of capitals and digits, with both.
fn is_mixed_code(text: &str) -> bool {
    (5..=10).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().filter(u8::is_ascii_uppercase).count() > 1
}

/// Whether the match is a whole word: no letter precedes it, and only an ending follows. Phrases in other scripts match anywhere.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    if !text.as_bytes()[start].is_ascii() {
        return true;
    }
    let goes_on = text[..start].chars().next_back().is_some_and(|char| char.is_ascii_alphanumeric());
    let is_short = end - start <= 5;
    let ends_later = text[end..].chars().next().is_some_and(|char| char.is_ascii_lowercase() && char != 's');
    !(goes_on || is_short && ends_later)
}

fn near(text: &str, start: usize, end: usize, before: usize, behind: usize) -> &str {
    let from = text.floor_char_boundary(start.saturating_sub(before));
    let to = text.floor_char_boundary((end + behind).min(text.len()));
    &text[from..to]
}

/// Whether the text contains a separate number of `least` to 8 digits. `123 456` and `123-456` count too.
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
        // A part of an amount, a date or a longer name.
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

    fn is_key(subject: &str, text: &str, is_html: bool) -> bool {
        super::is_key(&Said { subject, text, is_html, keys: &[] })
    }

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
            ("Konto", "Engangskoden din er 4829"),
            ("Innlogging", "Koden er 482913."),
            ("Bekreftelseskode fra Eksempel", ""),
            ("Din verifieringskod", "482913"),
            ("Inloggning", "Ange koden 482913 för att logga in."),
            ("ENGÅNGSLÖSENORD", "482913"),
            ("Din bekræftelseskode", "482913"),
            ("Log ind", "Koden er 482913 og gælder i 10 minutter."),
            ("Je eenmalige code", "482913"),
            ("Betaling", "De TAN-code voor je opdracht is 482913"),
            ("Kod weryfikacyjny", "482913"),
            ("Logowanie", "Wpisz kod 482913, aby się zalogować."),
            ("TWOJE HASŁO JEDNORAZOWE", "482913"),
            ("O seu código de utilização única", "482913"),
            ("Entrar", "A palavra-passe é 482913."),
            ("Conferma l'operazione", "Il codice usa e getta è 482913"),
            (
                "Your Steam account: Access from new computer",
                "Here is the Steam Guard code you need:\n\nKQXPB\n",
            ),
            ("Sign in", "Enter this code:\n\nK7QPX\n\nIt ends in ten minutes."),
            ("Sign in", "Code: 4F9-K2Q"),
            ("Auftrag", "Ihre TAN lautet 482913."),
            ("Überweisung", "mTAN: 482913 für 48,20 EUR"),
            ("pushTAN", "Die pushTAN-Nummer für Ihren Auftrag: 482913"),
            // Links
            ("Tilbakestill passordet ditt", ""),
            ("Hei", "Du har glemt passordet? https://example.org/r"),
            ("Nytt passord", "Velg det her: https://example.org/r"),
            ("Aktiver kontoen", "Trykk på www.example.org/a"),
            ("Återställ ditt lösenord", ""),
            ("Hej", "Glömt ditt lösenord? https://example.org/r"),
            ("ÅTERSTÄLL LÖSENORD", "https://example.org"),
            ("Nulstil din adgangskode", ""),
            ("Hej", "Har du glemt dit kodeord? https://example.org/r"),
            ("Ny adgangskode", "https://example.org/r"),
            ("Herstel je wachtwoord", "https://example.org/r"),
            ("Nieuw wachtwoord", "Kies het hier: https://example.org/r"),
            ("Resetowanie hasła", ""),
            ("Witaj", "Nie pamiętasz hasła? https://example.org/r"),
            ("NOWE HASŁO", "https://example.org/r"),
            ("Reposição da palavra-passe", ""),
            ("Olá", "Esqueceu-se da palavra-passe? https://example.org/r"),
            ("Ripristino della password", ""),
            ("Ciao", "Hai dimenticato la password? https://example.org/r"),
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
            (
                "New password policy",
                "From March on, passwords need 12 characters. Details: https://intranet.example.org/it",
            ),
            ("Password reset policy", "Please read the rules of 2026 on www.example.org."),
            ("Reset your password twice a year", "Experts say so. Read more in the next issue."),
            ("Neue Passwort-Richtlinie", "Ab März gelten 12 Zeichen, siehe https://intranet.example.org"),
            ("Nouveau mot de passe : les règles", "Il faut 12 signes, voir https://example.org"),
            ("Nowe hasło: zasady", "Od marca 12 znaków, zobacz https://example.org"),
            ("Nytt lösenord? Så här skapar du ett bra", "Tänk på en mening. Läs mer i nästa brev."),
            ("Nye regler for passord", "Fra mars trengs det 12 tegn."),
            ("Your order", "Log in to your account to follow the parcel with the number 48291355."),
            ("Rabatkode til dig", "Brug rabatkoden SOMMER24 inden 31.12.2026."),
            ("Kod rabatowy", "Kod rabatowy: LATO24 do końca sierpnia"),
            ("Kortingscode", "Gebruik kortingscode ZOMER24 voor 31.12.2026"),
            ("Código de desconto", "Código de desconto: VERAO24"),
            ("Codice sconto", "Il codice sconto: ESTATE24"),
            ("Your promo code", "The promo code: SUMMER24"),
            ("Re: parser", "The code is in the branch.\n\nSee the tests."),
            ("Møte", "Vi sees kl. 15.30 på kontoret, dørkoden får du der."),
            ("Faktura", "Fakturaen på 4 829,13 kroner forfaller 12.03.2026."),
            ("Faktura", "Fakturan på 482,91 kronor ska betalas den 12.03.2026."),
            ("Faktura", "Kwota 1482,90 zł, termin 12.03.2026."),
            ("Factuur", "Het bedrag van 482,91 euro is betaald."),
            ("Fattura", "L'importo di 482,91 euro è stato pagato il 12/03/2026."),
            ("Fatura", "O valor de 482,91 euros foi pago em 12/03/2026."),
            ("Neue Banking-App", "Mit pushTAN geben Sie Aufträge in der App frei."),
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
        assert!(is_key("New password", "Hello Ana,\nchoose it here\nNew password", true));
        assert!(!is_key("New password policy", "From March on, passwords need 12 characters.", true));
        assert!(!is_key("Your parcel", "Log in to your account to see where it is.", true));
    }

    /// The text of a newsletter before its last lines.
    const ARTICLES: &str = "Ten recipes for winter\nOne begins with the larch, and ends with soup. \n";

    #[test]
    fn o5_6_a_link_below_a_newsletter_is_no_key() {
        for (subject, below) in [
            ("Ten recipes", "Forgot your password? | Change your password | Unsubscribe"),
            ("Ten recipes", "Your account: verify your email, reset your password. Unsubscribe here."),
            ("Zehn Rezepte", "Passwort vergessen? | Passwort ändern | Newsletter abbestellen"),
            ("Dix recettes", "Mot de passe oublié ? | Modifier votre mot de passe | Se désabonner"),
            ("Diez recetas", "¿Olvidaste tu contraseña? | Cambiar tu contraseña | Darse de baja"),
            ("Dez receitas", "Esqueceu a senha? | Alterar sua senha | Cancelar inscrição"),
            ("Dez receitas", "Esqueceu-se da palavra-passe? | Cancelar a subscrição"),
            ("Dieci ricette", "Password dimenticata? | Modifica la password | Disiscriviti"),
            ("Tien recepten", "Wachtwoord vergeten? | Wijzig je wachtwoord | Afmelden"),
            ("Ti oppskrifter", "Glemt passord? | Endre passord | Meld deg av"),
            ("Tio recept", "Glömt lösenord? | Byt lösenord | Avregistrera dig"),
            ("Ti opskrifter", "Glemt adgangskode? | Skift adgangskode | Afmeld nyhedsbrev"),
            ("Dziesięć przepisów", "Nie pamiętasz hasła? | Zmień hasło | Wypisz się"),
            ("レシピ", "パスワードをお忘れの方 | メールアドレスを確認 | 配信停止はこちら"),
        ] {
            let long = format!("{}{below}", ARTICLES.repeat(40));
            let short = format!("{}{below}", ARTICLES.repeat(8));
            for is_html in [true, false] {
                let text = format!("{long}\nhttps://shop.example.org/forgot");
                assert!(!is_key(subject, &text, is_html), "{subject} / {below} {is_html}");
                assert!(!is_key(subject, &short, is_html), "{subject} / {below}, short, {is_html}");
            }
            // Newsletters make separate links for each reader.
            let text = format!("{long}\nhttps://click.example.org/ls/click?upn=u001.Ab3dEf6hIj9kLm2nOp5q");
            assert!(!is_key(subject, &text, false), "{subject} / {below}, a link that counts");
        }
        // The same holds without a word for unsubscribing, if the phrase is far below.
        assert!(!is_key("Ten recipes", &format!("{}Forgot your password?", ARTICLES.repeat(40)), true));
    }

    #[test]
    fn o5_6_words_are_known_as_they_are_seen() {
        for text in [
            "Ihr Besta\u{308}tigungscode: 482913",
            "Tu co\u{301}digo es 4829.",
            "Your verifi\u{ad}cation co\u{200b}de is 482913",
            "Su clave es 482913",
            "Saisissez 482913 pour vous connecter",
            "Geben Sie 482913 ein, um fortzufahren",
        ] {
            assert!(is_key("Hello", text, false), "{text}");
        }
    }

    #[test]
    fn o5_6_a_new_password_is_set_by_a_link_whatever_its_host_calls_it() {
        for text in [
            "Use this link to set a new password: https://svc.example/reset/GEHEIM3",
            "Mit diesem Link ist ein neues Passwort zu setzen: https://svc.example/r/GEHEIM3",
            "Choisissez un nouveau mot de passe : https://svc.example/r/GEHEIM3",
            "Aquí puedes crear una nueva contraseña: https://svc.example/r/GEHEIM3",
        ] {
            assert!(is_key("Account notice", text, false), "{text}");
        }
    }

    #[test]
    fn o5_6_what_a_mail_is_for_is_found_in_html_too() {
        for text in [
            "Hi Ana,\nForgot your password? It happens. Choose a new one:\nNew password",
            "Hallo Ana,\nPasswort vergessen? Hier geht es weiter:\nNeues Passwort wählen",
            "Bonjour Ana,\nMot de passe oublié ? Choisissez-en un autre :\nContinuer",
            "Hola Ana:\n¿Olvidaste tu contraseña? Elige otra:\nContinuar",
            "Olá Ana,\nEsqueceu a senha? Escolha outra:\nContinuar",
            "Ciao Ana,\nPassword dimenticata? Scegline un'altra:\nContinua",
            "Dag Ana,\nWachtwoord vergeten? Kies een ander:\nVerder",
            "Hei Ana,\nGlemt passord? Velg et annet:\nVidere",
            "Hej Ana,\nGlömt lösenord? Välj ett annat:\nVidare",
            "Hej Ana,\nGlemt adgangskode? Vælg en anden:\nVidere",
            "Witaj Ana,\nNie pamiętasz hasła? Wybierz inne:\nDalej",
            "アナ様\nパスワードをお忘れですか。新しいものを選んでください。\n次へ",
        ] {
            assert!(is_key("Hello", text, true), "{text}");
        }
        // A phrase far below counts if a link next to it opens something.
        let long = format!("{}Unsubscribe. ", ARTICLES.repeat(40));
        for below in
            ["Forgot your password?", "Reset your password", "Glemt passord?", "メールアドレスを確認"]
        {
            let text = format!("{long}{below}");
            let said = Said { subject: "Hello", text: &text, is_html: true, keys: &[long.len()] };
            assert!(super::is_key(&said), "{below}");
            let text = format!("{text} https://a.example.org/reset/3f2a9c1e-77b0-4d21-9a3e-5c6d7e8f9a0b");
            assert!(is_key("Hello", &text, false), "{below}");
        }
    }

    #[test]
    fn links_that_open_something_say_so_and_hold_a_value() {
        for url in [
            "https://example.org/reset?token=Ab3dEf6hIj9kLm2nOp5q",
            "https://example.org/account/verify/3f2a9c1e-77b0-4d21-9a3e-5c6d7e8f9a0b",
            "https://example.org/login?code=482913",
            "https://example.org/users/confirmation?confirmation_token=xyzxyzxyz",
            "https://example.org/de/passwort/aendern/9f86d081884c7d659a2feaa0c55ad015",
        ] {
            assert!(is_key_link(url), "{url}");
        }
        for url in [
            "https://example.org/forgot-password",
            "https://example.org/login?utm_source=newsletter&utm_campaign=Ab3dEf6hIj9kLm2nOp5q",
            "https://click.example.org/ls/click?upn=u001.Ab3dEf6hIj9kLm2nOp5q",
            "https://password-reset.example.org/offers/Ab3dEf6hIj9kLm2nOp5q",
            "https://example.org/blog/ten-rules-for-your-password-in-2026-and-2027",
            "https://example.org",
            "",
        ] {
            assert!(!is_key_link(url), "{url}");
        }
    }

    #[test]
    fn codes_have_capitals_and_digits() {
        for text in ["K7QPX", "4F9-K2Q", "AB12CD34"] {
            assert!(is_mixed_code(text), "{text}");
        }
        for text in ["HELLO", "482913", "K7QP", "k7qpx", "B2", "A12345", "AB12CD34EF5"] {
            assert!(!is_mixed_code(text), "{text}");
        }
    }

    #[test]
    fn numbers_stand_alone() {
        assert!(has_number("x 482913.", 5) && has_number("482 913", 5) && has_number("is 482-913!", 5));
        assert!(!has_number("48.2913 4829/13 a482913 482913kg 123456789 12", 5));
        assert!(!has_number("4829", 5) && has_number("4829", 4));
    }
}
