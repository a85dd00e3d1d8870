//! A small writer of SVG: shapes and text, in one style.

use std::fmt::Write;

/// Text in the figures, in user units; figures stay readable at half their size.
pub(crate) const FONT: f64 = 15.0;
/// Axes and text.
pub(crate) const INK: &str = "#222222";
/// Lines that only guide the eye.
pub(crate) const FAINT: &str = "#dddddd";

/// Colours that stay apart for colour-blind readers (Okabe and Ito), the strongest contrasts first.
pub(crate) const PALETTE: [&str; 7] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];

/// Dashes that tell lines apart where colours do not: in print, and for every reader.
pub(crate) const DASHES: [&str; 4] = ["", "8 4", "2 3", "10 3 2 3"];

/// Where text is anchored.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing.
pub(crate) struct Svg {
    body: String,
    width: f64,
    height: f64,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { body: String::new(), width, height }
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let (x1, y1, x2, y2) = (n(from.0), n(from.1), n(to.0), n(to.1));
        let _ = writeln!(
            self.body,
            r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>"#
        );
    }

    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(r#" stroke-dasharray="{dash}""#) };
        let _ = writeln!(
            self.body,
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{dash}/>"#,
            list(points)
        );
    }

    /// A band that lets through what lies below it.
    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], colour: &str) {
        let points = list(points);
        let _ = writeln!(self.body, r#"<polygon points="{points}" fill="{colour}" fill-opacity="0.18"/>"#);
    }

    /// From its upper left corner.
    pub(crate) fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), colour: &str) {
        let (x, y, w, h) = (n(at.0), n(at.1), n(size.0), n(size.1));
        let _ = writeln!(self.body, r#"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="{colour}"/>"#);
    }

    /// Equal rectangles from their upper left corners, without seams between them.
    pub(crate) fn tiles(&mut self, corners: &[(f64, f64)], size: (f64, f64), colour: &str) {
        let (w, h) = (n(size.0), n(size.1));
        let tile = |c: &(f64, f64)| format!("M{} {}h{w}v{h}h-{w}z", n(c.0), n(c.1));
        let path: String = corners.iter().map(tile).collect();
        let _ = writeln!(self.body, r#"<path d="{path}" fill="{colour}" shape-rendering="crispEdges"/>"#);
    }

    /// A vertical line with ends of this width; none where there is no room for them.
    pub(crate) fn whisker(&mut self, x: f64, (low, high): (f64, f64), ends: f64, colour: &str) {
        let (left, low, high) = (n(x - ends / 2.0), n(low), n(high));
        let path = if ends < 3.0 {
            format!("M{} {low}V{high}", n(x))
        } else {
            let (whole, half) = (n(ends), n(ends / 2.0));
            format!("M{left} {low}h{whole}m-{half} 0V{high}m-{half} 0h{whole}")
        };
        let _ = writeln!(self.body, r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.2"/>"#);
    }

    pub(crate) fn circle(&mut self, at: (f64, f64), radius: f64, fill: &str) {
        let _ =
            writeln!(self.body, r#"<circle cx="{}" cy="{}" r="{radius}" fill="{fill}"/>"#, n(at.0), n(at.1));
    }

    pub(crate) fn text(&mut self, at: (f64, f64), text: &str, anchor: Anchor, size: f64) {
        self.words(at, text, anchor, size, "");
    }

    /// For titles.
    pub(crate) fn bold(&mut self, at: (f64, f64), text: &str, anchor: Anchor, size: f64) {
        self.words(at, text, anchor, size, r#" font-weight="bold""#);
    }

    /// The name of something drawn in this colour, legible across other lines.
    pub(crate) fn label(&mut self, at: (f64, f64), text: &str, colour: &str) {
        let halo = r##"stroke="#ffffff" stroke-width="5" stroke-linejoin="round" paint-order="stroke""##;
        let more = format!(r#" font-weight="bold" fill="{colour}" {halo}"#);
        self.words(at, text, Anchor::Start, FONT, &more);
    }

    /// Read from below, around its anchor.
    pub(crate) fn upright(&mut self, at: (f64, f64), text: &str, size: f64) {
        let turn = format!(r#" transform="rotate(-90 {} {})""#, n(at.0), n(at.1));
        self.words(at, text, Anchor::Middle, size, &turn);
    }

    fn words(&mut self, at: (f64, f64), text: &str, anchor: Anchor, size: f64, more: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = writeln!(
            self.body,
            r#"<text x="{}" y="{}" font-size="{size}" text-anchor="{anchor}"{more}>{}</text>"#,
            n(at.0),
            n(at.1),
            escaped(text)
        );
    }

    /// The file. `title` is what a screen reader says.
    pub(crate) fn finish(self, title: &str) -> String {
        let (w, h) = (n(self.width), n(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             role=\"img\" font-family=\"Helvetica, Arial, sans-serif\" fill=\"{INK}\">\n<title>{}</title>\n\
             <rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }
}

/// Two decimals at most: a fraction of a pixel, and small files.
fn n(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn list(points: &[(f64, f64)]) -> String {
    points.iter().map(|p| format!("{},{}", n(p.0), n(p.1))).collect::<Vec<_>>().join(" ")
}

/// Text as XML and HTML have it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A colour of a map from dark blue over grey to yellow, `t` from 0 to 1: even steps of lightness, for every reader.
pub(crate) fn ramp(t: f64) -> String {
    const STOPS: [[f64; 3]; 6] = [
        [0.0, 32.0, 81.0],
        [43.0, 68.0, 110.0],
        [102.0, 105.0, 112.0],
        [148.0, 142.0, 119.0],
        [200.0, 184.0, 102.0],
        [253.0, 231.0, 70.0],
    ];
    let last = STOPS.len() - 1;
    let at = t.clamp(0.0, 1.0) * last as f64;
    let low = (at as usize).min(last - 1);
    let part = at - low as f64;
    let mix = |c: usize| (STOPS[low][c] + part * (STOPS[low + 1][c] - STOPS[low][c])).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_the_file() {
        let mut svg = Svg::new(10.0, 20.0);
        svg.text((1.0, 2.0), "a < b & \"c\"", Anchor::Middle, FONT);
        let file = svg.finish("<t>");
        assert!(file.contains("a &lt; b &amp; &quot;c&quot;") && file.contains("<title>&lt;t&gt;</title>"));
        assert!(file.starts_with("<svg") && file.ends_with("</svg>\n"));
    }

    #[test]
    fn numbers_are_short_and_ramps_end_where_they_should() {
        assert_eq!([1.0, 1.25, 0.126, -0.001].map(n), ["1", "1.25", "0.13", "-0"]);
        assert_eq!(
            (ramp(-1.0).as_str(), ramp(0.0).as_str(), ramp(1.0).as_str()),
            ("#002051", "#002051", "#fde746")
        );
    }
}
