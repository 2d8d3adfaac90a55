//! Mathematics between dollars, prices, bare addresses, and tags: what is text and what is Markdown.

use serde_json::Value;

use super::super::{Allowed, parse, patch_for, render_for, told};
use super::others::texts;
use super::{ids, read};

/// The styled words of a page, each as `style:words`.
fn styled(blocks: &[Value]) -> Vec<String> {
    let runs = blocks.iter().flat_map(|block| block["content"].as_array().cloned().unwrap_or_default());
    let one = |run: Value| {
        let styles: Vec<String> = run["styles"].as_object()?.keys().cloned().collect();
        (!styles.is_empty()).then(|| format!("{}:{}", styles.join("+"), run["text"].as_str().unwrap()))
    };
    runs.filter_map(one).collect()
}

#[test]
fn prices_cost_no_emphasis() {
    for (text, want) in [
        ("El pan cuesta $5 y **la leche** $3.\n", "bold:la leche"),
        ("Cuesta 5$ y **luego** 6$ más.\n", "bold:luego"),
        ("De **$99** a $49, *solo hoy*.\n", "bold:$99 italic:solo hoy"),
        ("Entre US$50 y **US$60** hay poca diferencia.\n", "bold:US$60"),
        ("$5 *cada uno*, o 3$ si son dos.\n", "italic:cada uno"),
        ("Antes $10 **(caro)** y ahora 8$.\n", "bold:(caro)"),
        ("Son $1.000, `código` y $2.000 *más*.\n", "code:código italic:más"),
        ("El kilo a 2$, **el medio** a 1$.\n", "bold:el medio"),
        ("*Oferta*: $3, $4 y **$5**.\n", "italic:Oferta bold:$5"),
        ("Pagó 5$ y ~~debe 3$~~ nada.\n", "strike:debe 3$"),
        ("Costó $7 _en total_, no 9$.\n", "italic:en total"),
    ] {
        let blocks = read(text, &[]);
        assert_eq!(styled(&blocks).join(" "), want, "{text}");
        let second = render_for(&blocks, &Allowed::documented()).text;
        assert!(!second.contains('\\'), "{second}");
        assert_eq!(read(&second, &blocks), blocks);
    }
}

#[test]
fn mathematics_keep_every_character_here_and_elsewhere() {
    for text in [
        "Sea $\\{x, y\\}$ con $\\int f(x)\\,dx$ y $\\|v\\|$.",
        "Con $a_{i} * b_{j}$ y $c_1 * d_1$ vale $x*y*z$.",
        "Un $\\alpha_1$, **negrita** y $\\beta_2$ al final.",
        "La fórmula $$x_1^2 + \\{y\\}$$ dentro del texto.",
        "Ver https://example.org/_a_/b_c_/d y www.example.org/_x_/y.",
        "Pulsa <kbd>C</kbd>, un H<sub>2</sub>O y <span style=\"color:red\">rojo</span>.",
        "Nota[^1] y ![foto](https://example.org/a.png) con [[enlace]] y [otra](otra.md).",
        "Un $a < b$ y $c > d$ con $\\langle u, v \\rangle$.",
    ] {
        let file = format!("{text}\n");
        let blocks = parse(&file, &[], &Allowed::all(), &mut ids());
        let plain = text.replace("**", "");
        assert_eq!(texts(&blocks), [plain]);
        assert_eq!(render_for(&blocks, &Allowed::all()).text, file);
        let mut new = blocks.clone();
        new[0]["content"]
            .as_array_mut()
            .unwrap()
            .push(serde_json::json!({"type": "text", "text": " Ya.", "styles": {}}));
        assert_eq!(patch_for(&file, &blocks, &new, &Allowed::all()), format!("{text} Ya.\n"));
    }
    // What the base has as it was read before stays as it is.
    let base = parse("Sea ${x}$ y *a*.\n", &[], &Allowed::all(), &mut ids());
    assert_eq!(read("Sea $\\{x\\}$ y *a*.\n\n", &base), base);
    // A tag of no element is not shown by readers of Markdown, so it is escaped.
    let blocks = read("Un Vec\\<T> y \\<nombre>.\n", &[]);
    assert_eq!(render_for(&blocks, &Allowed::all()).text, "Un Vec\\<T> y \\<nombre>.\n");
}

/// Rewritings of formatters that keep what a text means.
#[test]
fn what_formatters_rewrite_is_no_edit() {
    for (text, rewritten) in [
        ("Ver https://example.org/a hoy.\n", "Ver <https://example.org/a> hoy.\n"),
        ("Ver [a] hoy.\n\n[a]: https://example.org \"T\"\n", "Ver [a](https://example.org \"T\") hoy.\n"),
        ("Ver [a][] hoy.\n\n[a]: https://example.org\n", "Ver [a](https://example.org) hoy.\n"),
        ("Ver [a] hoy.\n\n[a]: https://example.org\n", "Ver [a] hoy.\n\n[a]: <https://example.org>\n"),
        (
            "Ver [a] hoy.\n\n[a]: https://example.org\n\nFin.\n",
            "Ver [a] hoy.\n\nFin.\n\n[a]: https://example.org\n",
        ),
        ("> [!note] Uno\n> dos tres\n> cuatro\n", "> [!note] Uno dos\n> tres cuatro\n"),
        ("- a\n  clave:: valor\n\nFin\nde __hoy__\n", "- a clave:: valor\n\nFin de __hoy__\n"),
        ("$$\na_1 * b_1\n$$\n", "$$\na_1 \\* b_1\n$$\n"),
        ("Usa `jj git\ninit` aquí.\n", "Usa `jj git init` aquí.\n"),
    ] {
        let base = parse(text, &[], &Allowed::all(), &mut ids());
        assert_eq!(parse(rewritten, &base, &Allowed::all(), &mut ids()), base, "{rewritten}");
    }
}

#[test]
fn pictures_of_this_machine_are_told_in_each_form() {
    let said = |text: &str| -> Vec<String> {
        let blocks = parse(text, &[], &Allowed::all(), &mut ids());
        told(text, &blocks).iter().map(ToString::to_string).collect()
    };
    let picture = |name: &str, line: usize| {
        format!("the picture {name} in line {line} is only on this machine, and is sent as text")
    };
    assert_eq!(said("Ver ![[pegada.png]] y ![[Nota]].\n"), [picture("pegada.png", 1)]);
    assert_eq!(said("Uno\n\n<img src=\"img/a.png\" width=\"3\">\n"), [picture("img/a.png", 3)]);
    assert_eq!(said("`![[a.png]]` y <img src=\"https://example.org/a.png\">\n"), [""; 0]);
    // A footnote of one word is no file.
    assert_eq!(said("Texto[^1].\n\n[^1]: Ibid.\n"), [""; 0]);
}
