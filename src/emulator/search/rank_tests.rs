//! Ranks beside those of a real PostgreSQL. The figures were made once with PostgreSQL 15.18, each by
//! `ts_rank(setweight(to_tsvector('spanish', TITLE), 'A') || to_tsvector('spanish', TEXT), q, NORM)` and `… @@ q`, with `q` for
//! `websearch_to_tsquery('spanish', QUERY)`.

use super::query::Query;
use super::rank::{Ranking, Weight};
use super::text::Text;

/// Title, text, query, normalization; the rank, and whether the query finds the text.
type Row<'a> = (&'a str, &'a str, &'a str, u8, f32, bool);

const ROWS: &[Row] = &[
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR informe", 0, 0.030396355, true),
    ("", "El plan del taller: revisar frenos y cadena trabajo", "frenos OR informe", 0, 0.030396355, true),
    ("", "Notas de la semana: informe, presupuesto y reuniones", "frenos OR informe", 0, 0.030396355, true),
    (
        "",
        "Notas de la semana: informe, presupuesto y reuniones trabajo",
        "frenos OR informe",
        0,
        0.030396355,
        true,
    ),
    (
        "Informe semanal",
        "Los frenos, otra vez los frenos; el informe dice que los frenos fallan",
        "frenos OR informe",
        0,
        0.3529355,
        true,
    ),
    (
        "",
        "El plan del taller: revisar frenos y cadena",
        r#"frenos OR informe OR "plan trabajo semana presupuesto zzqqxx""#,
        0,
        0.017369347,
        true,
    ),
    (
        "",
        "El plan del taller: revisar frenos y cadena trabajo",
        r#"frenos OR informe OR "plan trabajo semana presupuesto zzqqxx""#,
        0,
        0.02605402,
        true,
    ),
    (
        "",
        "Notas de la semana: informe, presupuesto y reuniones",
        r#"frenos OR informe OR "plan trabajo semana presupuesto zzqqxx""#,
        0,
        0.02605402,
        true,
    ),
    (
        "",
        "Notas de la semana: informe, presupuesto y reuniones trabajo",
        r#"frenos OR informe OR "plan trabajo semana presupuesto zzqqxx""#,
        0,
        0.034738693,
        true,
    ),
    (
        "Informe semanal",
        "Los frenos, otra vez los frenos; el informe dice que los frenos fallan",
        r#"frenos OR informe OR "plan trabajo semana presupuesto zzqqxx""#,
        0,
        0.10083871,
        true,
    ),
    ("", "El plan del taller: revisar frenos y cadena", "frenos cadena", 0, 0.098500855, true),
    ("", "El plan del taller: revisar frenos y cadena trabajo", "frenos cadena", 0, 0.098500855, true),
    ("", "Notas de la semana: informe, presupuesto y reuniones", "frenos cadena", 0, 1e-20, false),
    ("", "Notas de la semana: informe, presupuesto y reuniones trabajo", "frenos cadena", 0, 1e-20, false),
    (
        "Informe semanal",
        "Los frenos, otra vez los frenos; el informe dice que los frenos fallan",
        "frenos cadena",
        0,
        1e-20,
        false,
    ),
    ("", "El plan del taller: revisar frenos y cadena", "informe", 0, 0.0, false),
    ("", "El plan del taller: revisar frenos y cadena trabajo", "informe", 0, 0.0, false),
    ("", "Notas de la semana: informe, presupuesto y reuniones", "informe", 0, 0.06079271, true),
    ("", "Notas de la semana: informe, presupuesto y reuniones trabajo", "informe", 0, 0.06079271, true),
    (
        "Informe semanal",
        "Los frenos, otra vez los frenos; el informe dice que los frenos fallan",
        "informe",
        0,
        0.6231253,
        true,
    ),
    ("", "El plan del taller: revisar frenos y cadena", r#""plan del taller""#, 0, 0.098500855, true),
    ("", "El plan del taller: revisar frenos y cadena trabajo", r#""plan del taller""#, 0, 0.098500855, true),
    ("", "Notas de la semana: informe, presupuesto y reuniones", r#""plan del taller""#, 0, 1e-20, false),
    (
        "",
        "Notas de la semana: informe, presupuesto y reuniones trabajo",
        r#""plan del taller""#,
        0,
        1e-20,
        false,
    ),
    (
        "Informe semanal",
        "Los frenos, otra vez los frenos; el informe dice que los frenos fallan",
        r#""plan del taller""#,
        0,
        1e-20,
        false,
    ),
    ("", "El plan del taller: revisar frenos y cadena", "frenos -cadena OR reunión", 0, 0.040528473, false),
    (
        "",
        "El plan del taller: revisar frenos y cadena trabajo",
        "frenos -cadena OR reunión",
        0,
        0.040528473,
        false,
    ),
    (
        "",
        "Notas de la semana: informe, presupuesto y reuniones",
        "frenos -cadena OR reunión",
        0,
        0.020264236,
        true,
    ),
    (
        "",
        "Notas de la semana: informe, presupuesto y reuniones trabajo",
        "frenos -cadena OR reunión",
        0,
        0.020264236,
        true,
    ),
    (
        "Informe semanal",
        "Los frenos, otra vez los frenos; el informe dice que los frenos fallan",
        "frenos -cadena OR reunión",
        0,
        0.027581878,
        true,
    ),
    ("", "El plan del taller: revisar frenos y cadena", "-frenos", 0, 0.06079271, false),
    ("", "El plan del taller: revisar frenos y cadena trabajo", "-frenos", 0, 0.06079271, false),
    ("", "Notas de la semana: informe, presupuesto y reuniones", "-frenos", 0, 0.0, true),
    ("", "Notas de la semana: informe, presupuesto y reuniones trabajo", "-frenos", 0, 0.0, true),
    (
        "Informe semanal",
        "Los frenos, otra vez los frenos; el informe dice que los frenos fallan",
        "-frenos",
        0,
        0.082745634,
        false,
    ),
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR plan", 1, 0.02351783, true),
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR plan", 2, 0.012158542, true),
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR plan", 8, 0.012158542, true),
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR plan", 16, 0.02351783, true),
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR plan", 32, 0.057308756, true),
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR plan", 3, 0.004703566, true),
    ("", "El plan del taller: revisar frenos y cadena", "frenos OR plan", 33, 0.02297745, true),
    ("Frenos y más frenos", "El plan del taller: revisar frenos", "frenos OR plan", 0, 0.4137282, true),
    ("Frenos y más frenos", "El plan del taller: revisar frenos", "frenos OR plan", 1, 0.14737296, true),
    ("Frenos y más frenos", "El plan del taller: revisar frenos", "frenos OR plan", 2, 0.0689547, true),
    ("Frenos y más frenos", "El plan del taller: revisar frenos", "frenos OR plan", 8, 0.10343205, true),
    ("Frenos y más frenos", "El plan del taller: revisar frenos", "frenos OR plan", 16, 0.17818303, true),
    ("Frenos y más frenos", "El plan del taller: revisar frenos", "frenos OR plan", 32, 0.29265046, true),
    ("Frenos y más frenos", "El plan del taller: revisar frenos", "frenos OR plan", 27, 0.0026445866, true),
    ("", "", "plan", 0, 0.0, false),
];

/// How often `plan` stands before `taller`, and two words as often between that and one more; the rank of both together,
/// and of either. Of one word 255 places are kept.
const LONG: &[(usize, f32, f32)] = &[
    (2, 0.26214662, 0.07176917),
    (30, 0.6107, 0.07943147),
    (254, 0.6107543, 0.08027739),
    (255, 0.6107543, 0.08027739),
    (256, 0.5679353, 0.08027739),
    (300, 9.399877e-07, 0.08027739),
    (9_000, 2.8310687e-14, 0.08027739),
];

/// Two numbers of 32 bits are as good as equal when they are neighbours or next to it.
#[track_caller]
fn same(ours: f32, theirs: f32, of: &str) {
    let apart = ours.to_bits().abs_diff(theirs.to_bits());
    assert!(apart <= 2, "{of}: {ours} here, {theirs} there");
}

#[test]
fn ranks_are_those_of_postgresql() {
    for (title, text, query, normalization, rank, found) in ROWS {
        let mut words = Text::new(title, Weight::A);
        words.add(text, Weight::D);
        let (of, query) = (format!("{title:?} {text:?} {query:?} {normalization}"), Query::new(query));
        let ranking = Ranking { normalization: *normalization, ..Ranking::default() };
        same(ranking.worth(&query, &words), *rank, &of);
        assert_eq!(query.matches(&words), *found, "{of}");
    }
    for (times, together, either) in LONG {
        let words = format!("{}taller {}plan", "plan ".repeat(*times), "otro sitio ".repeat(*times));
        let words = Text::new(&words, Weight::D);
        for (query, rank) in [("plan taller", together), ("plan OR taller", either)] {
            same(Ranking::default().worth(&Query::new(query), &words), *rank, &format!("{times} {query}"));
        }
    }
}

#[test]
fn a_word_of_an_alternative_that_cannot_match_moves_the_rank_unless_it_is_constant_or_rounded_away() {
    let query = Query::new("frenos OR \"plan trabajo semana presupuesto zzqqxx\"");
    let [before, after] = ["frenos", "frenos y trabajo"].map(|text| Text::new(text, Weight::D));
    let moves = |ranking: Ranking| ranking.shown(1.0, &query, &before) != ranking.shown(1.0, &query, &after);
    assert!(moves(Ranking::default()));
    assert!(moves(Ranking { decimals: Some(4), ..Ranking::default() }));
    assert!(!moves(Ranking { decimals: Some(1), ..Ranking::default() }));
    assert!(!moves(Ranking::CONSTANT));
    assert!(!Query::new("\"plan trabajo semana presupuesto zzqqxx\"").matches(&after));
}
