//! Text as the paper prepares it: cleaned, stemmed, counted, weighted by rarity (TF-IDF).

use std::collections::{BTreeMap, HashMap, HashSet};

use rust_stemmers::{Algorithm, Stemmer};

/// Words that carry no meaning of their own: articles, pronouns, auxiliaries, prepositions, conjunctions.
const STOP_WORDS: &str = "\
    a an the this that these those \
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself \
    it its itself they them their theirs themselves what which who whom \
    am is are was were be been being have has had having do does did doing can will should \
    of at by for with about against between into through during before after above below to from up down in out on off \
    over under \
    and but if or because as until while than so nor \
    again further then once here there when where why how all any both each few more most other some such no not only \
    own same too very just now s t d m o y ll re ve";

/// Cleans texts one by one; stems are looked up once.
pub(super) struct Cleaner {
    stop: HashSet<&'static str>,
    stemmer: Stemmer,
    stems: HashMap<String, String>,
}

impl Cleaner {
    pub(super) fn new() -> Self {
        Self {
            stop: STOP_WORDS.split_whitespace().collect(),
            stemmer: Stemmer::create(Algorithm::English),
            stems: HashMap::new(),
        }
    }

    /// The stems of a text: lower case, without tags, marks and stop words.
    pub(super) fn clean(&mut self, text: &str) -> Vec<String> {
        let text = without_tags(&text.to_lowercase());
        let marks = |c: char| !matches!(c, '?' | '|' | '!' | '\'' | '"' | '#');
        let text: String = text.chars().filter(|&c| marks(c)).collect();
        let words = text.split(|c: char| c.is_whitespace() || matches!(c, '.' | ',' | ')' | '(' | '/'));
        let mut stems = Vec::new();
        for word in words.filter(|w| !w.is_empty() && !self.stop.contains(w)) {
            let stem = match self.stems.get(word) {
                Some(stem) => stem.clone(),
                None => {
                    let stem = self.stemmer.stem(word).into_owned();
                    self.stems.insert(word.to_string(), stem.clone());
                    stem
                }
            };
            // A term is two letters or digits at least; other characters part terms.
            let terms = stem.split(|c: char| !c.is_alphanumeric() && c != '_');
            stems.extend(terms.filter(|t| t.chars().nth(1).is_some()).map(String::from));
        }
        stems
    }
}

/// Every `<...>` becomes a space; a `<` without `>` is text.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        match after.split_once('>') {
            Some((tag, tail)) if !tag.contains('\n') => {
                out.push(' ');
                rest = tail;
            }
            _ => {
                out.push('<');
                rest = after;
            }
        }
    }
    out + rest
}

/// Terms and their weights: `texts x terms`, each row of length 1.
pub(super) struct Weighted {
    pub(super) terms: Vec<String>,
    pub(super) x: Vec<f32>,
}

/// Weighs the `most` terms that occur most often: count x (ln((1 + n) / (1 + texts with it)) + 1).
pub(super) fn weigh(texts: &[Vec<String>], most: usize) -> Weighted {
    let mut totals: BTreeMap<&str, usize> = BTreeMap::new();
    for term in texts.iter().flatten() {
        *totals.entry(term).or_default() += 1;
    }
    let mut ranked: Vec<(&str, usize)> = totals.into_iter().collect();
    // Equal counts stay in alphabetical order.
    ranked.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    ranked.truncate(most);
    let mut terms: Vec<&str> = ranked.into_iter().map(|(term, _)| term).collect();
    terms.sort_unstable();
    let place: HashMap<&str, usize> = terms.iter().enumerate().map(|(j, &term)| (term, j)).collect();

    let counts: Vec<BTreeMap<usize, f64>> = texts
        .iter()
        .map(|text| {
            let mut row = BTreeMap::new();
            for j in text.iter().filter_map(|term| place.get(term.as_str())) {
                *row.entry(*j).or_insert(0.0) += 1.0;
            }
            row
        })
        .collect();
    let mut texts_with = vec![0.0; terms.len()];
    counts.iter().flat_map(BTreeMap::keys).for_each(|&j| texts_with[j] += 1.0);
    let n = texts.len() as f64;
    let rarity: Vec<f64> = texts_with.iter().map(|df| ((1.0 + n) / (1.0 + df)).ln() + 1.0).collect();

    let mut x = vec![0.0f32; texts.len() * terms.len()];
    for (i, row) in counts.iter().enumerate() {
        let norm = row.iter().map(|(&j, c)| (c * rarity[j]).powi(2)).sum::<f64>().sqrt();
        for (&j, c) in row {
            x[i * terms.len() + j] = (c * rarity[j] / norm) as f32;
        }
    }
    Weighted { terms: terms.into_iter().map(String::from).collect(), x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cleaned() {
        let mut cleaner = Cleaner::new();
        let stems = cleaner.clean("The <br />BEST dogs' food!! I've tasted (really), and/or 2 < 3 a-b cats");
        assert_eq!(stems, ["best", "dog", "food", "ive", "tast", "realli", "cat"]);
        assert!(cleaner.clean("").is_empty());
    }

    #[test]
    fn weights_are_those_of_the_formula() {
        let text = |words: &str| words.split(' ').map(String::from).collect::<Vec<_>>();
        let texts = [text("good good bad"), text("good dog"), text("rare")];
        let weighted = weigh(&texts, 3);
        // "bad", "dog", "rare" occur once each: the first two in the alphabet stay.
        assert_eq!(weighted.terms, ["bad", "dog", "good"]);
        let (good, bad) = (2.0 * ((4.0f64 / 3.0).ln() + 1.0), (4.0f64 / 2.0).ln() + 1.0);
        let norm = good.hypot(bad);
        let expected = [bad / norm, 0.0, good / norm];
        for (got, want) in weighted.x[..3].iter().zip(expected) {
            assert!((f64::from(*got) - want).abs() < 1e-6, "{:?}", weighted.x);
        }
        assert_eq!(weighted.x[6..], [0.0; 3]);
    }
}
