//! Colours: CSS as the service keeps it, hex or a preset as a canvas file says it. Gradients, variables and whatever
//! else CSS has are no colours here.

/// A colour without its transparency, as a canvas file can say it, and the transparency beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Colour {
    pub(super) rgb: [u8; 3],
    pub(super) alpha: f64,
}

/// A sticky note without a colour of its own (API document, "style.color meaning by type").
pub(super) const STICKY: Colour = Colour { rgb: [0xfd, 0xe6, 0x8a], alpha: 1.0 };

/// What the six presets of JSON Canvas are here: their names, in the app's palette; orange is the palette's kin.
const PRESETS: [&str; 6] = ["#fecaca", "#fed7aa", "#fde68a", "#bbf7d0", "#bfdbfe", "#ddd6fe"];

impl Colour {
    /// A CSS colour: hex of 3, 4, 6 or 8 digits, `rgb()`, `hsl()`, or a name.
    pub(super) fn css(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        if let Some(digits) = text.strip_prefix('#') {
            return hex(digits);
        }
        if let Some((name, inside)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
            let parts: Vec<&str> =
                inside.split([',', '/', ' ']).map(str::trim).filter(|part| !part.is_empty()).collect();
            return match (name.trim(), parts.as_slice()) {
                ("rgb" | "rgba", [r, g, b, rest @ ..]) => {
                    let rgb = [channel(r)?, channel(g)?, channel(b)?];
                    Some(Self { rgb, alpha: alpha(rest)? })
                }
                ("hsl" | "hsla", [h, s, l, rest @ ..]) => {
                    let degrees: f64 = h.trim_end_matches("deg").parse().ok()?;
                    let rgb = from_hsl(degrees, percent(s)?, percent(l)?);
                    Some(Self { rgb, alpha: alpha(rest)? })
                }
                _ => None,
            };
        }
        if text == "transparent" {
            return Some(Self { rgb: [255; 3], alpha: 0.0 });
        }
        let (_, digits) =
            NAMES.split_whitespace().filter_map(|pair| pair.split_once('=')).find(|n| n.0 == text)?;
        hex(digits)
    }

    /// A colour as a canvas file says it: `#RRGGBB`, a preset, and for good measure any CSS colour.
    pub(super) fn canvas(text: &str) -> Option<Self> {
        match text.trim().parse::<usize>() {
            Ok(preset) => Self::css(PRESETS.get(preset.checked_sub(1)?)?),
            Err(_) => Self::css(text),
        }
    }

    /// `#rrggbb`.
    pub(super) fn hex(self) -> String {
        let [r, g, b] = self.rgb;
        format!("#{r:02x}{g:02x}{b:02x}")
    }

    /// How light it looks, from 0 to 1.
    pub(super) fn lightness(self) -> f64 {
        let [r, g, b] = self.rgb.map(|channel| f64::from(channel) / 255.0);
        let own = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        own * self.alpha + (1.0 - self.alpha)
    }

    /// The attributes of an SVG shape that is painted with it.
    pub(super) fn paint(self, attribute: &str) -> String {
        let opacity = if self.alpha < 1.0 {
            format!(" {attribute}-opacity=\"{}\"", super::number(self.alpha))
        } else {
            String::new()
        };
        format!("{attribute}=\"{}\"{opacity}", self.hex())
    }
}

fn hex(digits: &str) -> Option<Colour> {
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let long = match digits.len() {
        3 | 4 => digits.chars().flat_map(|digit| [digit, digit]).collect(),
        6 | 8 => digits.to_owned(),
        _ => return None,
    };
    let byte = |at: usize| u8::from_str_radix(long.get(at..at + 2)?, 16).ok();
    let alpha = if long.len() == 8 { f64::from(byte(6)?) / 255.0 } else { 1.0 };
    Some(Colour { rgb: [byte(0)?, byte(2)?, byte(4)?], alpha })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a byte just before")]
fn byte(value: f64) -> u8 {
    value.clamp(0.0, 255.0).round() as u8
}

fn channel(part: &str) -> Option<u8> {
    match part.strip_suffix('%') {
        Some(part) => part.parse::<f64>().ok().map(|value| byte(value * 255.0 / 100.0)),
        None => part.parse::<f64>().ok().map(byte),
    }
}

fn percent(part: &str) -> Option<f64> {
    part.strip_suffix('%')?.parse::<f64>().ok().map(|value| (value / 100.0).clamp(0.0, 1.0))
}

fn alpha(rest: &[&str]) -> Option<f64> {
    match rest {
        [] => Some(1.0),
        [one] => match one.strip_suffix('%') {
            Some(_) => percent(one),
            None => one.parse::<f64>().ok().map(|value| value.clamp(0.0, 1.0)),
        },
        _ => None,
    }
}

fn from_hsl(degrees: f64, saturation: f64, lightness: f64) -> [u8; 3] {
    let reach = saturation * lightness.min(1.0 - lightness);
    [0.0, 8.0, 4.0].map(|n| {
        let k = (n + degrees.rem_euclid(360.0) / 30.0) % 12.0;
        byte(255.0 * (lightness - reach * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0)))
    })
}

/// The named colours of CSS Color 4.
const NAMES: &str = "aliceblue=f0f8ff antiquewhite=faebd7 aqua=00ffff aquamarine=7fffd4 azure=f0ffff beige=f5f5dc \
bisque=ffe4c4 black=000000 blanchedalmond=ffebcd blue=0000ff blueviolet=8a2be2 brown=a52a2a burlywood=deb887 \
cadetblue=5f9ea0 chartreuse=7fff00 chocolate=d2691e coral=ff7f50 cornflowerblue=6495ed cornsilk=fff8dc crimson=dc143c \
cyan=00ffff darkblue=00008b darkcyan=008b8b darkgoldenrod=b8860b darkgray=a9a9a9 darkgreen=006400 darkgrey=a9a9a9 \
darkkhaki=bdb76b darkmagenta=8b008b darkolivegreen=556b2f darkorange=ff8c00 darkorchid=9932cc darkred=8b0000 \
darksalmon=e9967a darkseagreen=8fbc8f darkslateblue=483d8b darkslategray=2f4f4f darkslategrey=2f4f4f \
darkturquoise=00ced1 darkviolet=9400d3 deeppink=ff1493 deepskyblue=00bfff dimgray=696969 dimgrey=696969 \
dodgerblue=1e90ff firebrick=b22222 floralwhite=fffaf0 forestgreen=228b22 fuchsia=ff00ff gainsboro=dcdcdc \
ghostwhite=f8f8ff gold=ffd700 goldenrod=daa520 gray=808080 green=008000 greenyellow=adff2f grey=808080 \
honeydew=f0fff0 hotpink=ff69b4 indianred=cd5c5c indigo=4b0082 ivory=fffff0 khaki=f0e68c lavender=e6e6fa \
lavenderblush=fff0f5 lawngreen=7cfc00 lemonchiffon=fffacd lightblue=add8e6 lightcoral=f08080 lightcyan=e0ffff \
lightgoldenrodyellow=fafad2 lightgray=d3d3d3 lightgreen=90ee90 lightgrey=d3d3d3 lightpink=ffb6c1 lightsalmon=ffa07a \
lightseagreen=20b2aa lightskyblue=87cefa lightslategray=778899 lightslategrey=778899 lightsteelblue=b0c4de \
lightyellow=ffffe0 lime=00ff00 limegreen=32cd32 linen=faf0e6 magenta=ff00ff maroon=800000 mediumaquamarine=66cdaa \
mediumblue=0000cd mediumorchid=ba55d3 mediumpurple=9370db mediumseagreen=3cb371 mediumslateblue=7b68ee \
mediumspringgreen=00fa9a mediumturquoise=48d1cc mediumvioletred=c71585 midnightblue=191970 mintcream=f5fffa \
mistyrose=ffe4e1 moccasin=ffe4b5 navajowhite=ffdead navy=000080 oldlace=fdf5e6 olive=808000 olivedrab=6b8e23 \
orange=ffa500 orangered=ff4500 orchid=da70d6 palegoldenrod=eee8aa palegreen=98fb98 paleturquoise=afeeee \
palevioletred=db7093 papayawhip=ffefd5 peachpuff=ffdab9 peru=cd853f pink=ffc0cb plum=dda0dd powderblue=b0e0e6 \
purple=800080 rebeccapurple=663399 red=ff0000 rosybrown=bc8f8f royalblue=4169e1 saddlebrown=8b4513 salmon=fa8072 \
sandybrown=f4a460 seagreen=2e8b57 seashell=fff5ee sienna=a0522d silver=c0c0c0 skyblue=87ceeb slateblue=6a5acd \
slategray=708090 slategrey=708090 snow=fffafa springgreen=00ff7f steelblue=4682b4 tan=d2b48c teal=008080 \
thistle=d8bfd8 tomato=ff6347 turquoise=40e0d0 violet=ee82ee wheat=f5deb3 white=ffffff whitesmoke=f5f5f5 \
yellow=ffff00 yellowgreen=9acd32";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn css_and_canvas_colours_are_read() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(Colour::canvas(text).map(Colour::hex).as_deref(), expected, "{text}");
        }
        check("#FDE68A", Some("#fde68a"));
        check("#abc", Some("#aabbcc"));
        check("#abcd", Some("#aabbcc"));
        check("#11223344", Some("#112233"));
        check("rgb(255, 0, 10)", Some("#ff000a"));
        check("rgba(100% 0% 50% / 20%)", Some("#ff0080"));
        check("hsl(120, 100%, 25%)", Some("#008000"));
        check("hsl(0deg 0% 100%)", Some("#ffffff"));
        check("Rebecca", None);
        check("rebeccapurple", Some("#663399"));
        check("transparent", Some("#ffffff"));
        check("3", Some("#fde68a"));
        check("4", Some("#bbf7d0"));
        for text in ["", "0", "7", "#ab", "#ééé", "var(--x)", "url(#a)", "red; x", "rgb(1,2)", "rgb(a,b,c)"]
        {
            check(text, None);
        }
    }
}
