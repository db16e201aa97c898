//! What WhatsApp itself writes into an export, in the languages of its phones.

use super::head::Half;

/// Words of the first half of the day, without dots, spaces and capitals.
const AM: &[&str] = &[
    "am", "上午", "早上", "清晨", "凌晨", "午前", "오전", "πμ", "vorm", "de", "öö", "ص", "قظ", "قبلازظهر", "sa", "fm", "ap", "पूर्वाह्न",
    "मपू", "pg", "pagi", "לפנהצ", "முற்பகல்", "ก่อนเที่ยง", "дп", "проб", "dop", "pd",
];
/// Words of the second half of the day.
const PM: &[&str] = &[
    "pm", "下午", "晚上", "傍晚", "午後", "오후", "μμ", "nachm", "du", "ös", "م", "بظ", "بعدازظهر", "ch", "em", "ip", "अपराह्न", "मउ",
    "ptg", "petang", "malam", "tengahhari", "אחהצ", "பிற்பகல்", "หลังเที่ยง", "пп", "слоб", "odp", "md",
];
/// Words that stand between a date and a time, or behind a time, and say nothing.
const JOINED: &[&str] = &["", "à", "às", "um", "uhr", "at", "kl", "klo", "alas", "ala", "alle", "ore", "ob", "o", "в", "у", "о", "la", "h", "น"];

/// What a word beside a time says of it; `None` where it is no such word.
#[allow(clippy::option_option, reason = "a word may be known and say nothing")]
pub fn half(word: &str) -> Option<Option<Half>> {
    match () {
        () if JOINED.contains(&word) => Some(None),
        () if AM.contains(&word) => Some(Some(Half::Am)),
        () if PM.contains(&word) => Some(Some(Half::Pm)),
        () if word == "中午" => Some(Some(Half::Noon)),
        () => None,
    }
}

/// What stands in `<…>` at the end of a message that was edited.
const EDITED: &[&str] = &[
    "this message was edited", "diese nachricht wurde bearbeitet", "se editó este mensaje", "mensaje editado",
    "ce message a été modifié", "ce message a été modifié", "mensagem editada", "esta mensagem foi editada", "essa mensagem foi editada",
    "questo messaggio è stato modificato", "dit bericht is bewerkt", "bericht bewerkt", "сообщение изменено",
    "это сообщение изменено", "данное сообщение изменено", "це повідомлення відредаговано", "повідомлення відредаговано",
    "bu mesaj düzenlendi", "ta wiadomość została zmieniona", "wiadomość została zmieniona", "wiadomość edytowana",
    "pesan ini diedit", "mesej ini telah diedit", "تم تعديل هذه الرسالة", "הודעה זו נערכה", "ההודעה נערכה",
    "यह मैसेज एडिट किया गया", "यह मैसेज एडिट किया गया था", "このメッセージは編集されました", "메시지가 수정됨", "수정된 메시지입니다",
    "已编辑此消息", "此消息已编辑", "此訊息已編輯", "已編輯此訊息", "tin nhắn đã được chỉnh sửa", "tin nhắn này đã được chỉnh sửa",
    "meddelandet redigerades", "meddelandet har redigerats", "denne meldingen ble redigert", "denne besked blev redigeret",
    "beskeden blev redigeret", "tätä viestiä muokattiin", "viestiä muokattiin", "tato zpráva byla upravena", "tato správa bola upravená",
    "acest mesaj a fost editat", "az üzenet szerkesztve lett", "ezt az üzenetet szerkesztették", "αυτό το μήνυμα υποβλήθηκε σε επεξεργασία",
    "το μήνυμα υποβλήθηκε σε επεξεργασία", "s'ha editat aquest missatge", "این پیام ویرایش شد",
];

/// A message that was deleted, by its author or by who exports.
const DELETED: &[&str] = &[
    "this message was deleted", "you deleted this message", "diese nachricht wurde gelöscht", "du hast diese nachricht gelöscht",
    "se eliminó este mensaje", "eliminaste este mensaje", "este mensaje fue eliminado", "mensaje eliminado",
    "ce message a été supprimé", "vous avez supprimé ce message", "questo messaggio è stato eliminato", "hai eliminato questo messaggio",
    "esta mensagem foi apagada", "apagou esta mensagem", "você apagou esta mensagem", "mensagem apagada", "dit bericht is verwijderd",
    "u hebt dit bericht verwijderd", "je hebt dit bericht verwijderd", "данное сообщение удалено", "вы удалили данное сообщение",
    "вы удалили это сообщение", "це повідомлення було видалено", "ви видалили це повідомлення", "bu mesaj silindi", "bu mesajı sildiniz",
    "ta wiadomość została usunięta", "ta wiadomość została skasowana", "usunięto tę wiadomość", "pesan ini telah dihapus", "pesan ini dihapus",
    "anda menghapus pesan ini", "anda telah menghapus pesan ini", "mesej ini telah dipadamkan", "anda telah memadamkan mesej ini",
    "تم حذف هذه الرسالة", "لقد حذَفت هذه الرسالة", "أنت حذفت هذه الرسالة", "הודעה זו נמחקה", "מחקת הודעה זו", "מחקת את ההודעה הזו",
    "यह मैसेज मिटाया गया", "यह संदेश मिटाया गया", "आपने यह मैसेज डिलीट किया", "このメッセージは削除されました", "このメッセージを削除しました",
    "삭제된 메시지입니다", "이 메시지는 삭제되었습니다", "삭제한 메시지입니다", "此消息已删除", "您已删除这条消息", "此訊息已刪除", "您已刪除此訊息",
    "tin nhắn này đã bị xóa", "bạn đã xóa tin nhắn này", "bạn đã xoá tin nhắn này", "det här meddelandet raderades", "du raderade det här meddelandet",
    "denne meldingen ble slettet", "du slettet denne meldingen", "denne besked blev slettet", "du slettede denne besked",
    "tämä viesti poistettiin", "poistit tämän viestin", "tato zpráva byla smazána", "tuto zprávu jste smazal/a", "tato zpráva byla odstraněna",
    "táto správa bola odstránená", "túto správu ste odstránili", "acest mesaj a fost șters", "ați șters acest mesaj",
    "ez az üzenet törölve lett", "törölted ezt az üzenetet", "αυτό το μήνυμα διαγράφηκε", "διαγράψατε αυτό το μήνυμα",
    "s'ha esborrat aquest missatge", "has suprimit aquest missatge", "این پیام حذف شد", "شما این پیام را حذف کردید",
    "ova poruka je izbrisana", "izbrisali ste ovu poruku", "съобщението беше изтрито", "ข้อความนี้ได้ถูกลบ", "คุณได้ลบข้อความนี้",
];

/// Behind a file's name, in round brackets.
const ATTACHED: &[&str] = &[
    "file attached", "datei angehängt", "archivo adjunto", "arquivo anexado", "ficheiro anexado", "fichier joint", "file allegato",
    "bestand bijgevoegd", "bestand toegevoegd", "файл добавлен", "файл прикреплён", "файл прикреплен", "файл додано", "файл прикріплено",
    "soubor byl přiložen", "soubor přiložen", "súbor priložený", "plik dołączony", "załączono plik", "dosya ekli", "dosya eklendi",
    "ملف مرفق", "الملف مرفق", "تم إرفاق الملف", "קובץ מצורף", "הקובץ מצורף", "फ़ाइल संलग्न", "फ़ाइल अटैच की गई", "फाइल अटैच की गई",
    "添付ファイル", "ファイル添付", "첨부된 파일", "파일 첨부", "첨부 파일", "文件附件", "文件已附加", "附件", "檔案已附加", "附加檔案",
    "fil bifogad", "fil vedlagt", "fil vedhæftet", "vedhæftet fil", "tiedosto liitetty", "liitetiedosto", "file terlampir", "berkas terlampir",
    "fail dilampirkan", "tệp đính kèm", "tệp đã đính kèm", "fișier atașat", "csatolt fájl", "fájl csatolva", "συνημμένο αρχείο", "fitxer adjunt",
    "arxiu adjunt", "datoteka priložena", "ไฟล์ที่แนบ", "فایل پیوست شد",
];

/// In `<…>` where a file was, on Android.
const OMITTED: &[&str] = &[
    "media omitted", "video note omitted", "medien ausgeschlossen", "medien weggelassen", "videonotiz ausgelassen", "medien ausgelassen",
    "multimedia omitido", "media omitido", "medios omitidos", "archivo omitido", "archivos omitidos", "elemento multimedia omitido", "nota de video omitida",
    "mídia oculta", "arquivo de mídia oculto", "mídia omitida", "ficheiro não revelado", "multimédia oculto", "média omis", "médias omis", "media omis",
    "fichier omis", "média omises", "media omesso", "media omessi", "media weggelaten", "без медиафайлов", "файл пропущен", "медиафайл пропущен",
    "без медіафайлів", "медіа пропущено", "файл пропущено", "medya dahil edilmedi", "medya atlanmış", "pominięto multimedia", "multimedia pominięte",
    "pliki pominięto", "plik pominięty", "media tidak disertakan", "media dikecualikan", "media disingkirkan", "تم استبعاد الوسائط", "المדיה",
    "המדיה לא נכללה", "המדיה הוסרה", "מדיה הושמטה", "मीडिया के बिना", "मीडिया हटाया गया", "メディアなし", "メディアは含まれていません", "미디어 파일 제외됨",
    "미디어 파일을 생략한 대화내용", "미디어 제외됨", "媒体文件已忽略", "省略多媒体文件", "忽略多媒體檔", "多媒體檔案已略去", "media đã bị bỏ qua", "bỏ qua media", "media har utelämnats",
    "media utelämnades", "mediefil utelatt", "uten vedlegg", "media er utelatt", "mediefil udeladt", "medier udeladt", "media jätetty pois", "média vynechána",
    "média vynechány", "médiá vynechané", "conținut media omis", "hiányzó médiafájl", "médiafájl kihagyva", "εξαίρεση πολυμέσων", "mitjans omesos",
    "medijski zapis izostavljen", "без файл", "медији су изостављени", "media imerukwa", "สื่อถูกลบ", "รายการสื่อถูกลบ", "پیوست حذف شد", "میڈیا چھوڑ دیا گیا",
    "মিডিয়া বাদ দেওয়া হয়েছে",
];

/// What stands where a file was, on an iPhone: what kind of file it was, and the words of many languages for that.
const OMITTED_KINDS: &[(&str, &[&str])] = &[
    ("image/*", &[
        "image omitted", "התמונה הושמטה", "изображение отсутствует", "image absente", "immagine omessa", "imagem não revelada", "imagen omitida",
        "εικόνα παραλείφθηκε", "зображення відсутнє", "bild weggelassen", "لم يتم إدراج الصورة", "圖片已略去", "圖像已省略", "照片已忽略", "đã bỏ qua hình ảnh",
        "تصویر نکال دی گئی ہے", "görüntü dahil edilmedi", "ไม่มีรูปภาพ", "bild utesluten", "obrázok vynechaný", "obraz pominięty", "imagine omisă",
        "imagem ocultada", "afbeelding weggelaten", "bilde ikke inkludert", "imej tidak dimasukkan", "이미지 생략됨", "画像は含まれていません",
        "kép küldése sikertelen", "gambar tidak disertakan", "slika izostavljena", "फ़ोटो हटाई गई", "ei kuvaa", "تصویر حذف شد", "billede udeladt",
        "obrázek vynechán", "imatge omesa",
    ]),
    ("video/*", &[
        "video omitted", "video note omitted", "סרטון הווידאו הושמט", "видео отсутствует", "vidéo absente", "video omesso", "vídeo não revelado", "video omitido",
        "βίντεο παραλείφθηκε", "відео відсутнє", "video weggelassen", "videonotiz weggelassen", "لم يتم إدراج الفيديوهات", "影片已略去", "影片已省略", "视频已忽略", "đã bỏ video",
        "video dahil edilmedi", "วิดีโอถูกลบ", "video utesluten", "video vynechané", "wideo pominięte", "clip video omis", "vídeo omitido",
        "video weggelaten", "video utelatt", "video tidak dimasukkan", "비디오 생략됨", "ビデオは含まれていません", "videó kihagyva", "video tidak disertakan",
        "video izostavljen", "वीडियो छोड़ा गया", "videota ei sisällytetä", "ویدیو حذف شد", "video udeladt", "video vynecháno", "vídeo omès",
    ]),
    ("audio/*", &[
        "audio omitted", "קטע קול הושמט", "аудиофайл отсутствует", "аудио отсутствует", "audio omis", "audio omesso", "ficheiro de áudio não revelado", "audio omitido",
        "ήχος παραλείφθηκε", "аудіо відсутнє", "audio weggelassen", "لم يتم إدراج المقاطع الصوتية", "音訊已略去", "音訊已省略", "音频已忽略", "bỏ qua tệp âm thanh",
        "ses dahil edilmedi", "ไม่มีไฟล์เสียง", "ljud utelslutet", "ljud uteslutet", "zvuk vynechaný", "audio pominięte", "fără audio", "áudio ocultado",
        "audio weggelaten", "lyd utelatt", "audio tidak dimasukkan", "오디오 생략됨", "音声は含まれていません", "hang kihagyása", "audio tidak disertakan",
        "zvuk izostavljen", "ऑडियो हटाई गयी", "äänitiedostoa ei sisällytetä", "صدا حذف شد", "lyd udeladt", "zvukový soubor vynechán", "àudio omès",
    ]),
    ("image/gif", &[
        "gif omitted", "gif הושמט", "gif отсутствует", "gif retiré", "gif esclusa", "gif não revelada", "gif omitido", "παράληψη gif",
        "gif-анімацію пропущено", "gif weggelassen", "لم يتم إدراج صورة gif", "gif 已略去", "gif 圖片已被省略", "gif 动态图已被忽略", "đã bỏ qua ảnh gif",
        "gif dahil edilmedi", "gif utesluten", "gif vynechaný", "plik gif pominięty", "gif omis", "gif weggelaten", "gif utelatt", "gif tidak dimasukkan",
        "gif 생략됨", "gifは含まれていません", "gif fájl kihagyása", "gif tidak disertakan", "gif izostavljen", "gif छोड़ा गया", "gif-animaatio jätetty pois",
        "gif حذف شد", "gif udeladt", "gif vynechán", "gif omès",
    ]),
    ("image/webp", &[
        "sticker omitted", "סטיקר הושמט", "стикер не добавлен", "sticker omis", "sticker non incluso", "sticker não revelado", "sticker omitido",
        "αυτοκόλλητο παραλήφθηκε", "наклейку не додано", "sticker weggelassen", "تم حذف الملصقات", "貼圖已略去", "貼圖已忽略", "贴图已省略", "đã bỏ sticker",
        "çıkartma dahil edilmedi", "ไม่มีสติกเกอร์", "sticker utesluten", "nálepka vynechaná", "pominięto naklejkę", "figurinha omitida",
        "sticker weggelaten", "klistremerke utelatt", "pelekat tidak dimasukkan", "스티커 제외됨", "スタンプは含まれていません", "matrica kihagyva",
        "stiker tidak disertakan", "naljepnica izostavljena", "स्टिकर छोड़ा गया", "tarraa ei sisällytetty", "استیکر حذف شد", "klistermærke udeladt",
        "nálepka vynechána", "adhesiu omès",
    ]),
    ("text/vcard", &[
        "contact card omitted", "כרטיס איש קשר הושמט", "карточка контакта отсутствует", "fiche contact manquante", "scheda contatto omessa",
        "contacto não revelado", "tarjeta de contacto omitida", "η κάρτα επαφής παραλήφθηκε", "картка контакту відсутня", "kontaktkarte ausgelassen",
        "kontaktkarte weggelassen", "لم يتم إدراج بطاقة جهة اتصال", "聯絡人卡片已略去", "聯絡人卡片已省略", "联系人卡片已忽略", "bỏ qua thẻ liên lạc", "kişi kartı dahil edilmedi",
        "kontaktkort uteslutet", "karta kontaktu vynechaná", "pominięta wizytówka kontaktu", "carte de vizită contact omisă",
        "cartão do contato omitido", "visitekaartje weggelaten", "kontaktkort sløyfet", "kad kenalan tidak dimasukkan", "연락처 카드 생략됨",
        "連絡先カードを省略", "névjegykártya kihagyva", "kartu kontak tidak disertakan", "posjetnica izostavljena", "yhteystietokortti jätettiin pois",
        "kontaktkort udeladt", "vizitka vynechána", "targeta de contacte omesa",
    ]),
    ("", &[
        "document omitted", "מסמך הושמט", "документ отсутствует", "document manquant", "documento omesso", "documento não revelado", "documento omitido",
        "έγγραφο παραλείφθηκε", "документ пропущено", "dokument weggelassen", "لم يتم إدراج المستند", "文件已略去", "文件已忽略", "文档已省略",
        "đã bỏ qua tài liệu", "belge dahil edilmedi", "ละเว้นเอกสาร", "dokument uteslutet", "dokument vynechaný", "dokument pominięty", "document omis",
        "document weggelaten", "utelatt dokument", "dokumen tidak dimasukkan", "문서 생략됨", "ドキュメントは含まれていません", "dokumentum kihagyva",
        "dokumen tidak disertakan", "dokument izostavljen", "डॉक्यूमेंट छोड़ा गया", "dokumenttia ei sisällytetä", "سند حذف شد", "dokument udeladt",
        "dokument vynechán", "document omès",
    ]),
];

/// File names with `{}` for the title of the chat: the longest first where one begins as another does.
const TITLES: &[(&str, &str)] = &[
    ("whatsapp chat with ", ""),
    ("whatsapp chat - ", ""),
    ("whatsapp-chat mit ", ""),
    ("whatsapp chat mit ", ""),
    ("chat de whatsapp con ", ""),
    ("conversación de whatsapp con ", ""),
    ("conversa do whatsapp com ", ""),
    ("chat do whatsapp com ", ""),
    ("chat whatsapp con ", ""),
    ("chat whatsapp - ", ""),
    ("discussion whatsapp avec ", ""),
    ("whatsapp-chat met ", ""),
    ("whatsapp chat met ", ""),
    ("чат whatsapp с контактом ", ""),
    ("чат whatsapp с ", ""),
    ("чат whatsapp із контактом ", ""),
    ("чат whatsapp з ", ""),
    ("chat whatsapp s uživatelem ", ""),
    ("konverzace whatsapp s ", ""),
    ("chat whatsapp s používateľom ", ""),
    ("czat whatsapp z użytkownikiem ", ""),
    ("czat whatsapp z ", ""),
    ("rozmowa whatsapp z ", ""),
    ("chat whatsapp dengan ", ""),
    ("sembang whatsapp dengan ", ""),
    ("whatsapp-chatt med ", ""),
    ("whatsapp-chat med ", ""),
    ("whatsapp-samtale med ", ""),
    ("whatsapp chat cu ", ""),
    ("conversație whatsapp cu ", ""),
    ("xat de whatsapp amb ", ""),
    ("συνομιλία whatsapp με ", ""),
    ("cuộc trò chuyện whatsapp với ", ""),
    ("trò chuyện whatsapp với ", ""),
    ("whatsapp sohbeti - ", ""),
    ("دردشة واتساب مع ", ""),
    ("محادثة واتساب مع ", ""),
    ("دردشة whatsapp مع ", ""),
    ("צ'אט whatsapp עם ", ""),
    ("צ׳אט whatsapp עם ", ""),
    ("שיחת whatsapp עם ", ""),
    ("whatsapp चैट ", " के साथ"),
    ("", " के साथ whatsapp चैट"),
    ("", " ile whatsapp sohbeti"),
    ("", "님과 whatsapp 대화"),
    ("", " 님과의 whatsapp 대화"),
    ("", "とのwhatsappチャット"),
    ("", "とのトーク"),
    ("与", "的 whatsapp 聊天"),
    ("与 ", " 的 whatsapp 聊天记录"),
    ("與 ", " 的 whatsapp 對話"),
    ("whatsapp-keskustelu: ", ""),
    ("whatsapp beszélgetés - ", ""),
    ("whatsapp chat ", ""),
    ("whatsapp ", ""),
];

/// As a phrase is compared: without marks, a dot at the end, and capitals.
pub fn plain(text: &str) -> String {
    let seen: String = text.chars().filter(|c| !super::head::is_mark(*c)).collect();
    let seen = seen.trim().trim_end_matches(['.', '。', '।', '\u{a0}']).trim();
    seen.to_lowercase()
}

/// Whether a phrase, without its brackets, says that the message was edited.
pub fn is_edited(phrase: &str) -> bool {
    EDITED.contains(&plain(phrase).as_str())
}

/// Whether a text stands for a message that was deleted.
pub fn is_deleted(text: &str) -> bool {
    DELETED.contains(&plain(text).as_str())
}

/// Whether a phrase, without its brackets, says that a file is attached.
pub fn is_attached(phrase: &str) -> bool {
    ATTACHED.contains(&plain(phrase).as_str())
}

/// Whether a phrase, without its brackets, says that a file was left out.
pub fn is_omitted(phrase: &str) -> bool {
    let plain = plain(phrase);
    OMITTED.contains(&plain.as_str()) || OMITTED_KINDS.iter().any(|(_, words)| words.contains(&plain.as_str()))
}

/// What kind of file a text says was left out, and what stands before that.
pub fn omitted_kind(text: &str) -> Option<(&'static str, &str)> {
    // The phrase is the last thing, behind a mark that is not seen, or all there is.
    let start = text.rfind('\u{200e}').map_or(0, |at| at + '\u{200e}'.len_utf8());
    let phrase = plain(text.get(start..)?);
    let found = OMITTED_KINDS.iter().find(|(_, words)| words.contains(&phrase.as_str()))?;
    Some((found.0, &text[..start]))
}

/// The title of the chat that a file's name without its ending says.
pub fn title(name: &str) -> Option<&str> {
    let lower = name.to_lowercase();
    // Few letters are of another length when they are small.
    if lower.len() != name.len() {
        return None;
    }
    TITLES.iter().find_map(|(before, behind)| {
        let end = name.len().checked_sub(behind.len())?;
        let is_one = lower.starts_with(before) && lower.ends_with(behind);
        let title = name.get(before.len()..end).filter(|_| is_one)?;
        Some(title.trim()).filter(|title| !title.is_empty())
    })
}
