//! What a page draws, as far as it is text: the positions of the words decide where words and lines end.

use std::collections::HashMap;
use std::rc::Rc;

use super::super::{Budget, Stop, Text};
use super::font::Font;
use super::object::{Dict, Lexer, Object};
use super::{File, Page};

/// How deeply drawings may be nested.
const DEEPEST: usize = 8;
/// The most states that are saved.
const MOST_SAVED: usize = 64;
/// The most operands of one operator.
const MOST_OPERANDS: usize = 64;
/// The most fonts that are kept.
const MOST_FONTS: usize = 16;

/// Two rows of a matrix, and its translation.
type Matrix = [f64; 6];
const SAME: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

/// First `one`, then `other`.
fn times(one: &Matrix, other: &Matrix) -> Matrix {
    let row = |x: f64, y: f64, is_place: f64| {
        [0, 1].map(|at| x * other[at] + y * other[at + 2] + is_place * other[at + 4])
    };
    let rows = [row(one[0], one[1], 0.0), row(one[2], one[3], 0.0), row(one[4], one[5], 1.0)];
    [rows[0][0], rows[0][1], rows[1][0], rows[1][1], rows[2][0], rows[2][1]]
}

/// The state for drawing text.
#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    /// The extra space between letters, and between words.
    letter: f64,
    word: f64,
    /// The horizontal scale, 1 for normal width.
    stretch: f64,
    leading: f64,
    /// Where the line begins, and where the next letter goes.
    line: Matrix,
    at: Matrix,
}

fn number(operands: &[Object], nth: usize) -> f64 {
    operands.get(nth).and_then(Object::number).unwrap_or(0.0)
}

impl State {
    const fn new(matrix: Matrix) -> Self {
        Self {
            matrix,
            font: None,
            size: 1.0,
            letter: 0.0,
            word: 0.0,
            stretch: 1.0,
            leading: 0.0,
            line: SAME,
            at: SAME,
        }
    }

    /// Begins a line at a distance from the beginning of the previous one.
    fn begin(&mut self, x: f64, y: f64) {
        self.line = times(&[1.0, 0.0, 0.0, 1.0, x, y], &self.line);
        self.at = self.line;
    }

    fn go(&mut self, by: f64) {
        self.at = times(&[1.0, 0.0, 0.0, 1.0, by, 0.0], &self.at);
    }

    /// Applies an operator that sets how or where text is drawn, if it is one.
    fn set(&mut self, operator: &[u8], operands: &[Object]) {
        let number = |nth| number(operands, nth);
        match operator {
            b"cm" => {
                if let Some(matrix) = matrix_of(operands) {
                    self.matrix = times(&matrix, &self.matrix);
                }
            }
            b"BT" => (self.line, self.at) = (SAME, SAME),
            b"Tc" => self.letter = number(0),
            b"Tw" => self.word = number(0),
            b"Tz" => self.stretch = number(0) / 100.0,
            b"TL" => self.leading = number(0),
            b"Td" => self.begin(number(0), number(1)),
            b"TD" => {
                self.leading = -number(1);
                self.begin(number(0), number(1));
            }
            b"Tm" => {
                self.line = matrix_of(operands).unwrap_or(SAME);
                self.at = self.line;
            }
            b"T*" | b"'" => self.begin(0.0, -self.leading),
            b"\"" => {
                (self.word, self.letter) = (number(0), number(1));
                self.begin(0.0, -self.leading);
            }
            _ => {}
        }
    }
}

/// Draws one page after the other.
pub struct Drawing<'f, 'a> {
    file: &'f File<'a>,
    fonts: HashMap<u32, Rc<Font>>,
    /// Where the last text ended.
    end: Option<(f64, f64)>,
}

impl<'f, 'a> Drawing<'f, 'a> {
    pub fn new(file: &'f File<'a>) -> Self {
        Self { file, fonts: HashMap::new(), end: None }
    }

    /// The text of a page: first what it draws, then its annotations and filled-in fields.
    pub fn page(&mut self, page: &Page, budget: &mut Budget, text: &mut Text) -> Result<(), Stop> {
        self.end = None;
        let Object::Dict(dict) = self.file.object(page.number, budget)? else { return Ok(()) };
        let content = match dict.get("Contents") {
            Some(Object::Reference(number)) => match self.file.object(*number, budget)? {
                Object::Array(all) => all,
                _ => vec![Object::Reference(*number)],
            },
            Some(Object::Array(all)) => all.clone(),
            _ => Vec::new(),
        };
        let mut bytes = Vec::new();
        for part in &content {
            let Object::Reference(number) = part else { continue };
            match self.file.undone(*number, budget) {
                Ok(part) => {
                    budget.pay(part.len())?;
                    bytes.extend_from_slice(&part);
                    // A part may end within a drawing, but not within a word.
                    bytes.push(b'\n');
                }
                Err(stop @ (Stop::TooLarge | Stop::Full)) => return Err(stop),
                Err(_) => {}
            }
        }
        let resources = match self.file.object(page.resources_of, budget)? {
            Object::Dict(holder) => self.file.dict(&holder, "Resources", budget)?,
            _ => None,
        };
        self.draw(&bytes, &resources.unwrap_or_default(), SAME, 0, budget, text)?;
        let notes = self.file.get(&dict, "Annots", budget)?;
        for note in notes.as_ref().and_then(|notes| notes.array()).unwrap_or_default() {
            let note = self.file.resolved(note, budget)?;
            let Some(looks) =
                note.dict().map(|note| self.file.dict(note, "AP", budget)).transpose()?.flatten()
            else {
                continue;
            };
            if let Some(Object::Reference(number)) = looks.get("N") {
                text.line()?;
                self.form(*number, SAME, 0, budget, text)?;
            }
        }
        Ok(())
    }

    /// Draws the form with this number.
    fn form(
        &mut self,
        number: u32,
        matrix: Matrix,
        depth: usize,
        budget: &mut Budget,
        text: &mut Text,
    ) -> Result<(), Stop> {
        if depth == DEEPEST {
            return Ok(());
        }
        let Some(form) = self.file.stream(number, budget)? else { return Ok(()) };
        if form.dict.get("Subtype").and_then(Object::name) != Some(b"Form") {
            return Ok(());
        }
        let bytes = match self.file.undone(number, budget) {
            Ok(bytes) => bytes,
            Err(stop @ (Stop::TooLarge | Stop::Full)) => return Err(stop),
            Err(_) => return Ok(()),
        };
        let resources = self.file.dict(&form.dict, "Resources", budget)?.unwrap_or_default();
        let own = self.file.get(&form.dict, "Matrix", budget)?;
        let own = own.as_ref().and_then(|own| own.array()).and_then(matrix_of).unwrap_or(SAME);
        self.draw(&bytes, &resources, times(&own, &matrix), depth + 1, budget, text)
    }

    fn draw(
        &mut self,
        bytes: &[u8],
        resources: &Dict,
        matrix: Matrix,
        depth: usize,
        budget: &mut Budget,
        text: &mut Text,
    ) -> Result<(), Stop> {
        let fonts = self.file.dict(resources, "Font", budget)?.unwrap_or_default();
        let mut forms: Option<Dict> = None;
        let mut lexer = Lexer::new(bytes, 0);
        let mut operands: Vec<Object> = Vec::new();
        let mut state = State::new(matrix);
        let mut saved: Vec<State> = Vec::new();
        while let Some(object) = lexer.object(budget)? {
            let Object::Word(operator) = object else {
                if operands.len() < MOST_OPERANDS {
                    operands.push(object);
                }
                continue;
            };
            match operator.as_slice() {
                b"q" if saved.len() < MOST_SAVED => saved.push(state.clone()),
                b"Q" => {
                    // The position of text is not part of the saved state.
                    let (line, at) = (state.line, state.at);
                    state = saved.pop().unwrap_or(state);
                    (state.line, state.at) = (line, at);
                }
                b"Tf" => {
                    let named = operands.first().and_then(Object::name).map(String::from_utf8_lossy);
                    let font = named.and_then(|name| fonts.get(&name));
                    state.font = font.map(|font| self.font(font, budget)).transpose()?.flatten();
                    state.size = number(&operands, 1);
                }
                b"Tj" | b"'" | b"\"" | b"TJ" => {
                    state.set(&operator, &operands);
                    self.show_all(&operands, &mut state, text)?;
                }
                b"Do" => {
                    if forms.is_none() {
                        forms = Some(self.file.dict(resources, "XObject", budget)?.unwrap_or_default());
                    }
                    let named = operands.last().and_then(Object::name).map(String::from_utf8_lossy);
                    let form = named.zip(forms.as_ref()).and_then(|(name, forms)| forms.get(&name));
                    if let Some(Object::Reference(number)) = form {
                        self.form(*number, state.matrix, depth, budget, text)?;
                    }
                }
                // The bytes of an inline picture.
                b"ID" => {
                    let rest = &bytes[lexer.at..];
                    let end = memchr::memmem::find_iter(rest, b"EI").find(|at| {
                        let around = [at.checked_sub(1), Some(at + 2)];
                        around.iter().flatten().all(|at| rest.get(*at).is_none_or(u8::is_ascii_whitespace))
                    });
                    let end = end.map_or(rest.len(), |end| end + 2);
                    budget.pay(end)?;
                    lexer.at += end;
                }
                other => state.set(other, &operands),
            }
            operands.clear();
        }
        Ok(())
    }

    fn font(&mut self, object: &Object, budget: &mut Budget) -> Result<Option<Rc<Font>>, Stop> {
        let number = if let Object::Reference(number) = object { Some(*number) } else { None };
        if let Some(known) = number.and_then(|number| self.fonts.get(&number)) {
            return Ok(Some(Rc::clone(known)));
        }
        let resolved = self.file.resolved(object, budget)?;
        let Some(dict) = resolved.dict() else { return Ok(None) };
        let font = match Font::open(self.file, dict, budget) {
            Ok(font) => Rc::new(font),
            Err(stop @ (Stop::TooLarge | Stop::Full)) => return Err(stop),
            Err(_) => return Ok(None),
        };
        // A limit, so that not all fonts of a book are kept.
        if self.fonts.len() == MOST_FONTS {
            self.fonts.clear();
        }
        if let Some(number) = number {
            self.fonts.insert(number, Rc::clone(&font));
        }
        Ok(Some(font))
    }

    /// Draws a string, or the strings of an array with the space between them.
    fn show_all(&mut self, operands: &[Object], state: &mut State, text: &mut Text) -> Result<(), Stop> {
        let Some(last) = operands.last() else { return Ok(()) };
        for part in last.array().unwrap_or(std::slice::from_ref(last)) {
            match part {
                Object::Text(string) => self.show(string, state, text)?,
                Object::Number(back) => state.go(-back / 1000.0 * state.size * state.stretch),
                _ => {}
            }
        }
        Ok(())
    }

    /// Draws a string: between it and what was drawn before, there is a line end, a blank or nothing.
    fn show(&mut self, string: &[u8], state: &mut State, text: &mut Text) -> Result<(), Stop> {
        let Some(font) = state.font.clone() else { return Ok(()) };
        let whole = times(&state.at, &state.matrix);
        // The size of a letter at this place, and the direction of the line.
        let (right, up) = ((whole[0], whole[1]), (whole[2], whole[3]));
        let length = right.0.hypot(right.1);
        let (wide, high) = (length * state.size.abs(), up.0.hypot(up.1) * state.size.abs());
        if let Some(end) = self.end
            && wide > 0.0
            && wide.is_finite()
        {
            let (x, y) = (whole[4] - end.0, whole[5] - end.1);
            let along = (x * right.0 + y * right.1) / length;
            let across = (x * right.1 - y * right.0) / length;
            if across.abs() > 0.5 * high || along < -wide {
                text.line()?;
            } else if along > if font.has_widths { 0.15 } else { 0.3 } * wide {
                text.blank()?;
            }
        }
        let mut by = 0.0;
        font.show(string, &mut |glyph| {
            let word = if glyph.is_blank { state.word } else { 0.0 };
            by += (glyph.width / 1000.0 * state.size + state.letter + word) * state.stretch;
            if glyph.text == " " { text.blank() } else { text.push(glyph.text) }
        })?;
        state.go(by);
        let end = times(&state.at, &state.matrix);
        self.end = Some((end[4], end[5]));
        Ok(())
    }
}

fn matrix_of(numbers: &[Object]) -> Option<Matrix> {
    let mut matrix = SAME;
    for (at, to) in matrix.iter_mut().enumerate() {
        *to = numbers.get(at)?.number()?;
    }
    Some(matrix)
}
