//! Exact counts over two texts, on which the verdicts of an index stand.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use features::shingles::{Grams, TextSketcher};
use features::{NormalForm, Recipe};
use index::{CountTexts, Counter, Text};
use minhash::Comparison;

/// Bytes of recently counted texts and their n-grams that each thread keeps.
const CACHE_BYTES_MAX: usize = 8 << 20;

/// The number of recently counted texts that each thread keeps.
const CACHED_MAX: usize = 64;

/// A text of more bytes is long: a thread frees the memory it holds of such texts.
const LONG_BYTES: usize = 64 << 10;

thread_local! {
    static CACHE: RefCell<Cache> = RefCell::default();
}

/// Frees the memory that this thread holds of counted long texts. Each of the many threads of a
/// service meets long texts in time.
pub fn forget_long_texts() {
    CACHE.with_borrow_mut(|cache| {
        if cache.longest_bytes > LONG_BYTES {
            *cache = Cache::default();
        }
    });
}

/// Counts n-grams of texts in one normal form.
struct NGrams {
    name: &'static str,
    form: NormalForm,
}

/// A counter for each normal form that an index may have.
static COUNTERS: [NGrams; 3] = [
    NGrams { name: "n-grams 1", form: NormalForm::FIRST },
    NGrams { name: "n-grams 2", form: NormalForm { version: 2, fold_diacritics: false } },
    NGrams { name: "n-grams 2, folded", form: NormalForm { version: 2, fold_diacritics: true } },
];

/// The counter of an index that keeps texts and has this recipe; `None` for a recipe of another
/// version, by which no text can be compared.
#[must_use]
pub fn counter(recipe: &BTreeMap<String, String>) -> Option<Counter> {
    let form = Recipe::from_fields(recipe).ok()?.normal_form();
    let counter = COUNTERS.iter().find(|counter| counter.form == form)?;
    Some(Counter::new(counter))
}

/// The n-grams of a text in its given form, or reduced by a sketcher of the same form.
pub(crate) fn grams(sketcher: &mut TextSketcher, text: &Text) -> Grams {
    if text.is_reduced() { sketcher.grams_of_reduced(text) } else { sketcher.grams(text) }
}

impl NGrams {
    fn of_both<T>(&self, a: &Text, b: &Text, tell: impl FnOnce(&Grams, &Grams) -> T) -> T {
        CACHE.with_borrow_mut(|cache| {
            cache.set_form(self.form);
            let [a, b] = [a, b].map(|text| cache.grams(text));
            let told = tell(&a, &b);
            cache.give_back();
            told
        })
    }
}

impl CountTexts for NGrams {
    fn name(&self) -> &'static str {
        self.name
    }

    fn compare(&self, a: &Text, b: &Text) -> Comparison {
        self.of_both(a, b, Grams::compare)
    }

    fn are_copies(&self, a: &Text, b: &Text) -> bool {
        self.of_both(a, b, Grams::are_copies)
    }
}

/// The texts counted last, the latest first.
#[derive(Default)]
struct Cache {
    sketcher: TextSketcher,
    /// The length of the longest text that was counted.
    longest_bytes: usize,
    latest: VecDeque<(Text, Rc<Grams>)>,
}

impl Cache {
    fn set_form(&mut self, form: NormalForm) {
        if self.sketcher.form() != form {
            self.sketcher.set_form(form);
            self.latest.clear();
        }
    }

    fn grams(&mut self, text: &Text) -> Rc<Grams> {
        self.longest_bytes = self.longest_bytes.max(text.len());
        let known = self.latest.iter().position(|(known, _)| known.is(text));
        let entry = match known.and_then(|at| self.latest.remove(at)) {
            Some(entry) => entry,
            None => (text.clone(), Rc::new(grams(&mut self.sketcher, text))),
        };
        let grams = Rc::clone(&entry.1);
        self.latest.push_front(entry);
        grams
    }

    fn give_back(&mut self) {
        let mut n_bytes = 0;
        let mut fits = |(text, grams): &(Text, Rc<Grams>)| {
            n_bytes += text.len() + grams.heap_bytes();
            n_bytes <= CACHE_BYTES_MAX
        };
        let n_kept = self.latest.iter().take(CACHED_MAX).take_while(|entry| fits(entry)).count();
        self.latest.truncate(n_kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_and_changes_no_count() {
        let text = |n: usize| Text::from(format!("{n} {}", "the ferries leave the harbour ".repeat(n)));
        let counter = counter(&Recipe::default().fields()).unwrap();
        let mut cache = Cache::default();
        let texts: Vec<Text> = (0..300).map(|n| text(n * 7)).collect();
        for pair in texts.windows(2) {
            let [a, b] = [&pair[0], &pair[1]].map(|text| cache.grams(text));
            assert_eq!(Grams::compare(&a, &b), counter.compare(&pair[0], &pair[1]));
            cache.give_back();
            let n_bytes: usize =
                cache.latest.iter().map(|(text, grams)| text.len() + grams.heap_bytes()).sum();
            assert!(cache.latest.len() <= CACHED_MAX && n_bytes <= CACHE_BYTES_MAX);
        }
        assert!(cache.latest.len() > 2, "texts that are met again are found");
    }

    /// An index counts in the form of its recipe.
    #[test]
    fn each_form_counts_its_own_way() {
        let similarity = |recipe: Recipe, a: &str, b: &str| {
            counter(&recipe.fields()).unwrap().compare(&a.into(), &b.into()).similarity.get()
        };
        let first = Recipe { version: 1, ..Recipe::default() };
        let copies = |a: &str, b: &str| {
            let counter = counter(&Recipe::default().fields()).unwrap();
            (counter.are_copies(&a.into(), &b.into()), counter.compare(&a.into(), &b.into()).similarity.get())
        };
        assert_eq!(copies("The fine is 9.", "the  FINE is: 9"), (true, 1.0));
        assert_eq!(copies("哈哈哈", "哈哈哈哈哈哈"), (false, 1.0));
        let [plus, sharp] = ["I write C++ at work.", "I write C# at work."];
        assert!(similarity(first, plus, sharp) == 1.0 && similarity(Recipe::default(), plus, sharp) < 1.0);
        let unknown = [("version".to_owned(), "99".to_owned())].into();
        assert_eq!(counter(&unknown), None);
    }
}
