//! What a canvas looks like, as SVG: no script, nothing fetched, readable on light and dark ground because it brings its
//! own.
//!
//! The API document tells colours, sizes and texts, not fonts and margins: those are chosen here.

use crate::model::planted_fault;
use serde_json::Value;

use super::colour::Colour;
use super::layout::Font;
use super::node::{View, colour_of, style_text, type_of};
use super::number;

const INK: &str = "#1f2937";
const LIGHT_INK: &str = "#f9fafb";
const GROUND: Colour = Colour { rgb: [0xf8, 0xfa, 0xfc], alpha: 1.0 };
const WHITE: Colour = Colour { rgb: [255; 3], alpha: 1.0 };
/// Around the elements of a whiteboard.
const MARGIN: f64 = 40.0;
/// The longer side of a whiteboard's picture as it opens, in pixels; it can be scaled without loss.
const OPENS_AT: f64 = 1600.0;
const FONTS: &str = "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif";
/// Lines of one text: what is longer than any box is not drawn to its end.
const LINES_MAX: usize = 400;

/// The prefix of a whiteboard.
const BOARD: &str = "b";

/// A rectangle: x, y, width, height.
type Area = [f64; 4];

/// A whiteboard's picture: as large as what is on it.
#[must_use]
pub fn board(elements: &[Value]) -> String {
    planted_fault("drawing", &|| format!("{elements:?}"));
    let area = bounds(elements);
    let scale = (OPENS_AT / area[2].max(area[3])).min(1.0);
    let size = [area[2] * scale, area[3] * scale];
    svg(elements, area, Some(size), GROUND, BOARD)
}

/// A slide's picture within a page that holds several, which gives it its size. `index` tells them apart: names inside a
/// picture must not meet those of the next one.
pub(super) fn slide_in_page(
    elements: &[Value],
    [width, height]: [f64; 2],
    background: &Value,
    index: usize,
) -> String {
    let area = [0.0, 0.0, width.clamp(1.0, 100_000.0), height.clamp(1.0, 100_000.0)];
    svg(elements, area, None, ground_of(background), &format!("s{index}e"))
}

/// `prefix` begins the names inside. Rectangles have round corners on whiteboards and square ones on slides, which they
/// may fill from edge to edge.
fn svg(elements: &[Value], area: Area, size: Option<[f64; 2]>, ground: Colour, prefix: &str) -> String {
    let round = prefix == BOARD;
    let [x, y, width, height] = area.map(number);
    let size = size.map_or_else(String::new, |[w, h]| {
        format!(" width=\"{}\" height=\"{}\"", number(w.max(1.0)), number(h.max(1.0)))
    });
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{size} viewBox=\"{x} {y} {width} {height}\" font-family=\"{FONTS}\">\n\
         <rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {}/>\n",
        ground.paint("fill")
    );
    for (index, element) in elements.iter().enumerate() {
        draw(&mut out, element, ground, &format!("{prefix}{index}"), round);
    }
    out.push_str("</svg>\n");
    out
}

fn ground_of(background: &Value) -> Colour {
    background.get("color").and_then(Value::as_str).and_then(Colour::css).unwrap_or(WHITE)
}

fn place_of(element: &Value) -> Area {
    ["x", "y", "width", "height"].map(|key| {
        let number = element.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        if number.is_finite() { number.clamp(-1e7, 1e7) } else { 0.0 }
    })
}

fn bounds(elements: &[Value]) -> Area {
    let mut edges: Option<Area> = None;
    for element in elements {
        let [x, y, width, height] = place_of(element);
        let own = [x.min(x + width), y.min(y + height), x.max(x + width), y.max(y + height)];
        edges = Some(
            edges.map_or(own, |e| [e[0].min(own[0]), e[1].min(own[1]), e[2].max(own[2]), e[3].max(own[3])]),
        );
    }
    let [left, top, right, bottom] = edges.unwrap_or([0.0, 0.0, 320.0, 180.0]);
    [left - MARGIN, top - MARGIN, right - left + 2.0 * MARGIN, bottom - top + 2.0 * MARGIN]
}

fn draw(out: &mut String, element: &Value, ground: Colour, id: &str, round: bool) {
    let [mut x, mut y, mut width, mut height] = place_of(element);
    let kind = type_of(element);
    if kind == "connector" {
        // Which elements it joins is not told, so neither is which way it runs.
        out.push_str(&format!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"#94a3b8\" stroke-width=\"2\" stroke-dasharray=\"6 6\"/>\n",
            number(x),
            number(y),
            number(x + width),
            number(y + height)
        ));
        return;
    }
    if width < 0.0 {
        (x, width) = (x + width, -width);
    }
    if height < 0.0 {
        (y, height) = (y + height, -height);
    }
    let area = [x, y, width, height];
    let opacity = opacity_of(element);
    if opacity < 1.0 {
        out.push_str(&format!("<g opacity=\"{}\">\n", number(opacity)));
    }
    let under = shape(out, element, kind, area, ground, round);
    text(out, element, kind, area, under, id);
    if opacity < 1.0 {
        out.push_str("</g>\n");
    }
}

/// Draws what is under the text, and says its colour.
fn shape(
    out: &mut String,
    element: &Value,
    kind: &str,
    [x, y, width, height]: Area,
    ground: Colour,
    round: bool,
) -> Colour {
    let rect = |radius: f64, paint: &str| {
        format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" {paint}/>\n",
            number(x),
            number(y),
            number(width),
            number(height),
            number(radius.min(width / 4.0).min(height / 4.0))
        )
    };
    let stroke = style_text(element, "stroke").and_then(Colour::css);
    match kind {
        "text" => ground,
        "sticky" => {
            let colour = colour_of(element).unwrap_or(GROUND);
            out.push_str(&format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"#0f172a\" fill-opacity=\"0.14\"/>\n",
                number(x + 1.0),
                number(y + 3.0),
                number(width),
                number(height)
            ));
            let line = stroke.map_or_else(String::new, |stroke| format!(" {}", stroke.paint("stroke")));
            out.push_str(&rect(4.0, &format!("{}{line}", colour.paint("fill"))));
            over(colour, ground)
        }
        "rectangle" | "ellipse" => {
            let fill = colour_of(element);
            let paint = match fill {
                Some(fill) => fill.paint("fill"),
                None => "fill=\"#94a3b8\" fill-opacity=\"0.18\"".to_owned(),
            };
            let line = match (stroke, fill) {
                (Some(stroke), _) => format!(" {} stroke-width=\"2\"", stroke.paint("stroke")),
                (None, Some(_)) => String::new(),
                (None, None) => " stroke=\"#64748b\" stroke-width=\"2\"".to_owned(),
            };
            let paint = format!("{paint}{line}");
            if kind == "rectangle" {
                out.push_str(&rect(if round { 6.0 } else { 0.0 }, &paint));
            } else {
                out.push_str(&format!(
                    "<ellipse cx=\"{}\" cy=\"{}\" rx=\"{}\" ry=\"{}\" {paint}/>\n",
                    number(x + width / 2.0),
                    number(y + height / 2.0),
                    number(width / 2.0),
                    number(height / 2.0)
                ));
            }
            fill.map_or(ground, |fill| over(fill, ground))
        }
        _ => {
            let paint = "fill=\"#e2e8f0\" stroke=\"#94a3b8\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";
            out.push_str(&rect(6.0, paint));
            Colour { rgb: [0xe2, 0xe8, 0xf0], alpha: 1.0 }
        }
    }
}

/// A colour as it looks on another.
fn over(colour: Colour, ground: Colour) -> Colour {
    let mix = |at: usize| {
        let (own, under) = (f64::from(colour.rgb[at]), f64::from(ground.rgb[at]));
        own * colour.alpha + under * (1.0 - colour.alpha)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of two bytes is a byte"
    )]
    Colour { rgb: [0, 1, 2].map(|at| mix(at).round() as u8), alpha: 1.0 }
}

fn text(out: &mut String, element: &Value, kind: &str, area: Area, under: Colour, id: &str) {
    let view = View::of(element);
    let words = view.kind.words().1.replace("**", if super::node::has_text(kind) { "**" } else { "" });
    if words.trim().is_empty() {
        return;
    }
    let [x, y, width, height] = area;
    let is_shape = matches!(kind, "rectangle" | "ellipse");
    let is_text = kind == "text";
    let font = Font {
        size: length(element, "fontSize").filter(|size| *size > 0.0).unwrap_or(16.0).clamp(1.0, 2_000.0),
        bold: flag(element, "bold"),
        spacing: length(element, "letterSpacing").unwrap_or(0.0).clamp(-50.0, 200.0),
    };
    let line = line_height(element, font.size, is_text);
    // Of an ellipse, the rectangle within it.
    let (inset_x, inset_y) = match kind {
        "ellipse" => (width * 0.146, height * 0.146),
        "text" => (0.0, 0.0),
        _ => (12.0_f64.min(width / 8.0), 12.0_f64.min(height / 8.0)),
    };
    let room = [(width - 2.0 * inset_x).max(1.0), (height - 2.0 * inset_y).max(1.0)];
    let mut lines = font.wrap(&words, room[0]);
    lines.truncate(LINES_MAX);
    if !is_text {
        cut_to_height(&mut lines, room[1], line, &font, room[0]);
    }
    let align = style_text(element, "textAlign").unwrap_or(if is_shape { "center" } else { "left" });
    let (anchor, at_x) = match align {
        "center" => ("middle", x + width / 2.0),
        "right" | "end" => ("end", x + width - inset_x),
        _ => ("start", x + inset_x),
    };
    #[expect(clippy::cast_precision_loss, reason = "a text of 2^52 lines is not drawn")]
    let tall = lines.len() as f64 * line;
    let top = if is_shape { y + ((height - tall) / 2.0).max(inset_y.min(height / 2.0)) } else { y + inset_y };
    let clip = !is_text;
    if clip {
        out.push_str(&format!(
            "<clipPath id=\"{id}\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
            number(x),
            number(y),
            number(width),
            number(height)
        ));
    }
    let ink = ink_of(element, kind, under);
    out.push_str(&format!(
        "<text font-size=\"{}\" {ink} text-anchor=\"{anchor}\" xml:space=\"preserve\"{}{}{}{}{}>",
        number(font.size),
        if font.bold { " font-weight=\"700\"" } else { "" },
        if flag(element, "italic") { " font-style=\"italic\"" } else { "" },
        if font.spacing == 0.0 {
            String::new()
        } else {
            format!(" letter-spacing=\"{}\"", number(font.spacing))
        },
        family(element),
        if clip { format!(" clip-path=\"url(#{id})\"") } else { String::new() },
    ));
    // Not every program draws a line under words whose parent says so.
    let underline = if flag(element, "underline") { " text-decoration=\"underline\"" } else { "" };
    for (index, words) in lines.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "lines are few")]
        let baseline = top + index as f64 * line + (line - font.size) / 2.0 + font.size * 0.8;
        if !words.trim().is_empty() {
            out.push_str(&format!(
                "<tspan x=\"{}\" y=\"{}\"{underline}>{}</tspan>",
                number(at_x),
                number(baseline),
                escaped(words)
            ));
        }
    }
    out.push_str("</text>\n");
}

/// Leaves the lines that fit, the last one with an ellipsis when some do not.
fn cut_to_height(lines: &mut Vec<String>, room: f64, line: f64, font: &Font, width: f64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and clamped")]
    let fit = ((room + 0.35 * line) / line).floor().clamp(1.0, 10_000.0) as usize;
    if lines.len() <= fit {
        return;
    }
    lines.truncate(fit);
    if let Some(last) = lines.last_mut() {
        while !last.is_empty() && font.width(last) + font.width("…") > width {
            last.pop();
        }
        last.push('…');
    }
}

fn ink_of(element: &Value, kind: &str, under: Colour) -> String {
    let own = style_text(element, "fill").filter(|_| kind == "text").and_then(Colour::css);
    match own {
        Some(ink) => ink.paint("fill"),
        None if under.lightness() < 0.5 => format!("fill=\"{LIGHT_INK}\""),
        None => format!("fill=\"{INK}\""),
    }
}

fn style<'a>(element: &'a Value, key: &str) -> Option<&'a Value> {
    element.get("style")?.get(key)
}

fn flag(element: &Value, key: &str) -> bool {
    match style(element, key) {
        Some(Value::Bool(on)) => *on,
        Some(Value::String(text)) => text == "true" || text == "bold",
        _ => false,
    }
}

/// A number, or a text such as `24px`.
fn length(element: &Value, key: &str) -> Option<f64> {
    let number = match style(element, key)? {
        Value::String(text) => text.trim().trim_end_matches("px").trim().parse().ok()?,
        value => value.as_f64()?,
    };
    Some(number).filter(|number: &f64| number.is_finite())
}

/// A factor of the font size; a large number is pixels.
fn line_height(element: &Value, size: f64, is_text: bool) -> f64 {
    let usual = if is_text { 1.25 } else { 1.35 };
    match length(element, "lineHeight").filter(|height| *height > 0.0) {
        Some(pixels) if pixels > 4.0 => pixels.min(4_000.0),
        Some(factor) => size * factor,
        None => size * usual,
    }
}

fn opacity_of(element: &Value) -> f64 {
    match length(element, "opacity") {
        Some(percent) if percent > 1.0 => (percent / 100.0).min(1.0),
        Some(part) => part.clamp(0.0, 1.0),
        None => 1.0,
    }
}

fn family(element: &Value) -> String {
    let Some(own) = style_text(element, "fontFamily") else { return String::new() };
    let tame: String = own.chars().filter(|c| c.is_alphanumeric() || " ,-_'".contains(*c)).collect();
    // An odd quote would spoil the fallback after it.
    let tame = if tame.matches('\'').count().is_multiple_of(2) { tame } else { tame.replace('\'', "") };
    if tame.trim().is_empty() {
        return String::new();
    }
    format!(" font-family=\"{}, {FONTS}\"", tame.trim())
}

/// Text for XML: nothing in it means anything, and what XML cannot hold is left out.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}
