//! The segmenter beside jieba-rs.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;

use super::{CutBuffers, Hmm, Jieba, UserWords};
use crate::built_in;

static REFERENCE: LazyLock<jieba_rs::Jieba> = LazyLock::new(jieba_rs::Jieba::new);

fn cut<'t>(jieba: &Jieba, text: &'t str, hmm: bool, buffers: &mut CutBuffers) -> Vec<&'t str> {
    let mut words = Vec::new();
    jieba.cut(text, hmm, buffers, |word| words.push(word));
    words
}

fn cut_by_reference<'t>(jieba: &jieba_rs::Jieba, text: &'t str, hmm: bool) -> Vec<&'t str> {
    jieba.cut(text, hmm).iter().map(|token| token.word).collect()
}

/// Runs of jieba's characters: words of the dictionary, frequent characters and rare ones.
fn run() -> impl Strategy<Value = String> {
    let words = Vec::from_iter(built_in::words(built_in::dictionary().leak()).into_iter().step_by(97));
    let part = prop_oneof![
        4 => proptest::sample::select(words).prop_map(|(word, _)| word.to_owned()),
        4 => "[的是在不了有和人这中大为上个国我以要他时来用们生到作地]{1,6}",
        2 => "[\u{4e00}-\u{9fff}]{1,3}",
        1 => "[\u{3400}-\u{4dbf}\u{f900}-\u{faff}\u{20000}-\u{2a6df}\u{2f800}-\u{2fa1f}]{1,2}",
        2 => "[a-cX0-2+#&._%-]{1,6}",
    ];
    proptest::collection::vec(part, 1..20)
        .prop_map(|parts| parts.concat().chars().filter(|&c| super::characters::is_of_run(c)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn runs_are_cut_as_by_jieba_rs(run in run()) {
        let mut buffers = CutBuffers::default();
        for hmm in [true, false] {
            let words = cut(built_in::jieba(), &run, hmm, &mut buffers);
            prop_assert_eq!(words, cut_by_reference(&REFERENCE, &run, hmm));
        }
    }

    /// Dictionaries of few characters have every collision and tie.
    #[test]
    fn made_up_dictionaries_and_user_words_are_those_of_jieba_rs(
        words in proptest::collection::btree_map("[一丁七万丈三ab]{1,4}", 0_u64..40, 1..60),
        user_words in proptest::collection::vec(
            ("[一丁七万丈三上ab·]{1,4}", proptest::option::of(0_u64..40)), 0..12
        ),
        runs in proptest::collection::vec("[一丁七万丈三上下ab.]{1,24}", 1..8),
    ) {
        let text: String = words.iter().map(|(word, n)| format!("{word} {n}\n")).collect();
        let mut reference = jieba_rs::Jieba::with_dict(&mut text.as_bytes()).unwrap();
        let hmm = Arc::new(Hmm::new(&built_in::hmm()));
        let words = Vec::from_iter(words.iter().map(|(word, &n)| (word.as_str(), n)));
        let base = Jieba::new(&words, hmm);
        let mut added = UserWords::new(&base);
        for (word, frequency) in user_words {
            let of_reference = reference.add_word(&word, frequency.map(|n| n as usize), None);
            prop_assert_eq!(added.add(&word, frequency), of_reference as u64, "{}", word);
        }
        let jieba = added.build(&words);
        let mut buffers = CutBuffers::default();
        for run in &runs {
            for hmm in [true, false] {
                let words = cut(&jieba, run, hmm, &mut buffers);
                prop_assert_eq!(words, cut_by_reference(&reference, run, hmm));
            }
        }
    }
}

/// Every word of the dictionary is one of the trie, with its frequency.
#[test]
fn the_dictionary_is_all_there() {
    let text = built_in::dictionary();
    let frequencies: BTreeMap<_, _> = built_in::words(&text).into_iter().collect();
    for (&word, &frequency) in &frequencies {
        assert_eq!(built_in::jieba().frequency(word), Some(frequency), "{word}");
        let mut longer = word.to_owned();
        longer.push('龘');
        assert_eq!(built_in::jieba().frequency(&longer), frequencies.get(longer.as_str()).copied());
    }
}
