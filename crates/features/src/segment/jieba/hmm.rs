//! jieba's hidden Markov model, which joins characters into words that the dictionary lacks: each
//! character begins a word, ends it, is inside it, or is one by itself.

use std::ops::Range;

/// The part of a character in its word, by its number in the model's file.
type State = u8;

/// The most probable state before each state of a character.
pub(super) type Choices = [State; N_STATES];

const BEGIN: State = 0;
const END: State = 1;
const MIDDLE: State = 2;
const SINGLE: State = 3;
const N_STATES: usize = 4;

/// The two states that may stand before each state. The second one is taken where both are equally
/// probable.
const BEFORE: [[State; 2]; N_STATES] = [[END, SINGLE], [BEGIN, MIDDLE], [BEGIN, MIDDLE], [END, SINGLE]];

/// The characters that the model knows.
const CHARS: Range<u32> = 0x4e00..0x9fd6;

/// The logarithm of the probability of what the model's file does not have.
const IMPOSSIBLE: f64 = -3.14e100;

/// The model: natural logarithms of probabilities.
pub(crate) struct Hmm {
    initial: [f64; N_STATES],
    /// The steps from the first state to the second one.
    transition: [[f64; N_STATES]; N_STATES],
    /// The characters of [`CHARS`], each in every state.
    emission: Vec<[f64; N_STATES]>,
}

impl Hmm {
    /// Reads the model's file: a line of initial probabilities, four of transitions, and for each
    /// state one of `character:probability,…`. Lines that start with `#` are comments.
    ///
    /// # Panics
    /// If the text is not a model: only the one that is built in is read.
    pub(crate) fn new(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let mut line = || lines.next().expect("the model has all lines");
        let numbers = |line: &str| {
            let mut numbers = line.split(' ').map(number);
            std::array::from_fn(|_| numbers.next().expect("a line has a number for each state"))
        };
        let initial = numbers(line());
        let transition = std::array::from_fn(|_| numbers(line()));
        let mut emission = vec![[IMPOSSIBLE; N_STATES]; CHARS.len()];
        for state in [BEGIN, END, MIDDLE, SINGLE].map(usize::from) {
            for entry in line().split(',') {
                let (c, probability) = entry.split_once(':').expect("an entry has two parts");
                if let Some(c) = c.chars().next().and_then(place) {
                    emission[c][state] = number(probability);
                }
            }
        }
        Self { initial, transition, emission }
    }

    /// Hands each word of a text to `emit`: by the model where it knows the characters, elsewhere
    /// runs of ASCII letters and digits, and what is between them.
    pub(super) fn cut<'t>(&self, text: &'t str, choices: &mut Vec<Choices>, emit: &mut impl FnMut(&'t str)) {
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let len = rest.find(|c| is_known(c) != is_known(first)).unwrap_or(rest.len());
            let (part, after) = rest.split_at(len);
            if is_known(first) {
                self.cut_known(part, choices, emit);
            } else {
                cut_unknown(part, emit);
            }
            rest = after;
        }
    }

    /// Hands each word of a run of characters that the model knows to `emit`.
    fn cut_known<'t>(&self, run: &'t str, choices: &mut Vec<Choices>, emit: &mut impl FnMut(&'t str)) {
        let mut state = self.walk(run, choices);
        // From the last character to the first, each one's state takes the place of its choices.
        for of_character in choices.iter_mut().rev() {
            let earlier = of_character[usize::from(state)];
            of_character[0] = state;
            state = earlier;
        }
        let mut start = 0;
        for ((at, c), &[state, ..]) in run.char_indices().zip(choices.iter()) {
            let end = at + c.len_utf8();
            match state {
                BEGIN => start = at,
                MIDDLE => {}
                END => emit(&run[start..end]),
                _ => emit(&run[at..end]),
            }
        }
    }

    /// Fills `choices` with the most probable state before each state of each character, and
    /// returns the most probable state of the last one: A. J. Viterbi, IEEE Transactions on
    /// Information Theory 13(2), 1967. The choices of the first character are never read.
    fn walk(&self, run: &str, choices: &mut Vec<Choices>) -> State {
        let mut emissions =
            run.chars().map(|c| place(c).map_or(&[IMPOSSIBLE; N_STATES], |place| &self.emission[place]));
        let first = emissions.next().expect("a run has a character");
        let mut scores: [f64; N_STATES] = std::array::from_fn(|state| self.initial[state] + first[state]);
        choices.clear();
        choices.push([BEGIN; N_STATES]);
        for emission in emissions {
            let mut of_character = [BEGIN; N_STATES];
            scores = std::array::from_fn(|state| {
                let [first, second] = BEFORE[state].map(|earlier| {
                    let earlier = usize::from(earlier);
                    scores[earlier] + self.transition[earlier][state] + emission[state]
                });
                of_character[state] = BEFORE[state][usize::from(first <= second)];
                if first > second { first } else { second }
            });
            choices.push(of_character);
        }
        if scores[usize::from(END)] > scores[usize::from(SINGLE)] { END } else { SINGLE }
    }
}

/// Hands runs of ASCII letters and digits, with what binds them, to `emit`, and what is between
/// them.
fn cut_unknown<'t>(mut text: &'t str, emit: &mut impl FnMut(&'t str)) {
    while !text.is_empty() {
        let gap = text.bytes().position(|byte| byte.is_ascii_alphanumeric()).unwrap_or(text.len());
        let len = if gap > 0 { gap } else { identifier_len(text.as_bytes()) };
        let (part, after) = text.split_at(len);
        emit(part);
        text = after;
    }
}

/// Returns the length of the letters and digits that a text begins with: a point, a low line or a
/// hyphen binds those on both sides of it, and a percent sign may end them.
fn identifier_len(text: &[u8]) -> usize {
    let is_letter_or_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let mut len = 0;
    loop {
        while is_letter_or_digit(len) {
            len += 1;
        }
        if matches!(text.get(len), Some(b'.' | b'_' | b'-')) && is_letter_or_digit(len + 1) {
            len += 1;
        } else {
            return len + usize::from(text.get(len) == Some(&b'%'));
        }
    }
}

/// Returns true for a character that the model knows.
#[inline]
fn is_known(c: char) -> bool {
    CHARS.contains(&u32::from(c))
}

/// Returns the place of a character in the emissions.
fn place(c: char) -> Option<usize> {
    is_known(c).then(|| (u32::from(c) - CHARS.start) as usize)
}

fn number(text: &str) -> f64 {
    text.parse().expect("the model is of numbers")
}
