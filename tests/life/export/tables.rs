//! Tables, and lines of JSON.

use std::path::Path;

use serde_json::json;

use super::super::person::Person;
use super::file;

pub fn write(person: &Person, folder: &Path) {
    let mut runs = String::from("id,date,kind,km,note\n");
    for run in &person.runs {
        runs += &format!(
            "{},{},{},{}.{},{}\n",
            run.id,
            run.on,
            run.kind,
            run.tenths / 10,
            run.tenths % 10,
            run.note
        );
    }
    file(folder, "runs.csv", runs);
    let books = person.books.iter().map(|book| {
        json!({"id": book.id.to_string(), "title": book.title, "author": book.author, "finished": book.on.to_string(), "pages": book.pages})
            .to_string() + "\n"
    });
    file(folder, "books.jsonl", books.collect::<String>());
}
