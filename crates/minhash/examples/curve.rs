//! The S-curve of a band scheme, and the cheapest one for a wish.
//! `cargo run -p pigeonhole-minhash --example curve [BANDS ROWS DISTANCE]`, or without arguments for the two that are in use.
#![expect(clippy::print_stdout, reason = "the table is its output")]

use pigeonhole_minhash::{BandScheme, Similarity, Wish, kept_by_suffix, met_by_bands};

const SIMILARITIES: [f64; 14] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];

fn main() {
    let numbers: Vec<u32> =
        std::env::args().skip(1).map(|arg| arg.parse().expect("BANDS ROWS DISTANCE are numbers")).collect();
    match numbers[..] {
        [bands, rows, distance] => match BandScheme::<256>::new(1, bands, rows, distance) {
            Ok(scheme) => show(&scheme),
            Err(error) => println!("{error}"),
        },
        _ => {
            show(&BandScheme::long());
            show(&BandScheme::short());
            cheapest();
        }
    }
}

fn show<const BINS: usize>(scheme: &BandScheme<BINS>) {
    let (bands, rows, distance) = (scheme.bands(), scheme.rows(), scheme.suffix_distance_max());
    println!("{bands} bands of {rows} rows, suffixes within {distance} bits\n");
    println!("| similarity | in a band | left by the suffix | met |\n|---|---|---|---|");
    for similarity in SIMILARITIES.map(Similarity::clamped) {
        let (in_a_band, kept) = (met_by_bands(bands, rows, similarity), kept_by_suffix(distance, similarity));
        println!(
            "| {:.2} | {in_a_band:.6} | {kept:.6} | {:.6} |",
            similarity.get(),
            scheme.recall(similarity)
        );
    }
    println!();
}

fn cheapest() {
    println!(
        "| wished recall at | strangers | of similarity | cheapest | its recall | its cost |\n|---|---|---|---|---|---|"
    );
    for (similarity, recall) in [(0.8, 0.99), (0.8, 0.998), (0.8, 0.9995), (0.7, 0.99), (0.5, 0.9)] {
        for (n_strangers, stranger) in [(1e6, 0.05), (1e6, 0.13), (1e9, 0.05)] {
            let [similarity, stranger_similarity] = [similarity, stranger].map(Similarity::clamped);
            let wish = Wish { similarity, recall, n_strangers, stranger_similarity };
            let start = format!("| {recall} at {:.1} | {n_strangers:e} | {stranger}", similarity.get());
            match wish.cheapest::<256>(1) {
                Ok(scheme) => println!(
                    "{start} | {scheme} | {:.5} | {:.0} rows |",
                    scheme.recall(similarity),
                    wish.cost(&scheme)
                ),
                Err(error) => println!("{start} | {error} | | |"),
            }
        }
    }
}
