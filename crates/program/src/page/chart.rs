//! Curves of shares as SVG. The drawing takes its colours from the page's style, by day or night.
//! Curves also differ in marks and dashes, not in colour alone.

use std::fmt::Write;

use maud::{Markup, html};

/// CSS of charts and legends, for a [`Page`](super::Page) with charts.
pub const CHART_STYLE: &str = include_str!("chart.css");

/// Size of the drawing, in its own units.
const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 232.0;

/// Places of the axes.
const LEFT: f64 = 34.0;
const RIGHT: f64 = WIDTH - 10.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 40.0;

/// Half the size of a mark.
const MARK: f64 = 3.0;

/// Labels of the axis of shares.
const SHARES: [f64; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];

/// A chart of shares, from 0 to 1, along an axis.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Description for readers who do not see the chart.
    pub name: String,
    /// The axis along which the shares are drawn.
    pub axis: Axis,
    /// Curves in the order of drawing: a later one covers those before.
    pub curves: Vec<Curve>,
}

/// The horizontal axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Name of the quantity along the axis.
    pub name: String,
    /// Value at the left end.
    pub from: f64,
    /// Value at the right end, greater than `from`.
    pub to: f64,
    /// Labels and the values at which they stand.
    pub ticks: Vec<(f64, String)>,
}

/// A curve of a chart.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Kind of the curve, which sets its style.
    pub kind: CurveKind,
    /// Number of the subject: sets one of four colours and marks, which repeat from number 4 on.
    pub number: usize,
    /// Points of the curve, which is broken at a point without a share.
    pub dots: Vec<Dot>,
}

/// Kind of a curve, which sets its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveKind {
    /// Measurements: a line with a mark at each dot.
    Measured,
    /// Measurements on the way to the final ones: hollow marks without a line.
    Before,
    /// Computed values: a dashed line without marks.
    Computed,
}

/// A point of a curve.
#[derive(Clone, Debug)]
pub struct Dot {
    /// Value along the axis.
    pub at: f64,
    /// Share from 0 to 1, if there is one.
    pub share: Option<f64>,
    /// Least and greatest value that the true share may have, if known.
    pub between: Option<(f64, f64)>,
    /// Text shown when the dot is pointed at.
    pub says: String,
}

impl Dot {
    /// Returns a dot of a computed curve.
    #[must_use]
    pub fn computed(at: f64, share: f64) -> Self {
        Self { at, share: Some(share), between: None, says: String::new() }
    }
}

impl Chart {
    /// Returns the drawing, as wide as the element around it.
    #[must_use]
    pub fn svg(&self) -> Markup {
        html! {
            svg.chart viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(self.name) {
                @for share in SHARES {
                    path.grid d=(format!("M{LEFT} {y}H{RIGHT}", y = shown(y(share)))) {}
                    text x=(LEFT - 5.0) y=(shown(y(share) + 3.5)) text-anchor="end" { (share) }
                }
                @for (at, says) in &self.axis.ticks {
                    path.grid d=(format!("M{} {BOTTOM}v4", shown(self.x(*at)))) {}
                    text x=(shown(self.x(*at))) y=(BOTTOM + 16.0) text-anchor="middle" { (says) }
                }
                text x=((LEFT + RIGHT) / 2.0) y=(HEIGHT - 6.0) text-anchor="middle" { (self.axis.name) }
                @for curve in &self.curves { (self.curve(curve)) }
            }
        }
    }

    fn curve(&self, curve: &Curve) -> Markup {
        let class = format!("curve {} {}", curve.kind.class(), colour(curve.number));
        html! {
            g class=(class) {
                @if curve.kind != CurveKind::Before { path.line d=(self.line(&curve.dots)) {} }
                @if curve.kind != CurveKind::Computed {
                    @for dot in &curve.dots {
                        @if let Some(share) = dot.share {
                            g {
                                @if !dot.says.is_empty() { title { (dot.says) } }
                                @if let Some((least, greatest)) = dot.between {
                                    path.between d=(format!("M{} {}V{}", shown(self.x(dot.at)), shown(y(least)), shown(y(greatest)))) {}
                                }
                                path.mark d=(mark(curve.number, self.x(dot.at), y(share))) {}
                            }
                        }
                    }
                }
            }
        }
    }

    fn line(&self, dots: &[Dot]) -> String {
        let mut line = String::new();
        let mut pen = 'M';
        for dot in dots {
            let Some(share) = dot.share else {
                pen = 'M';
                continue;
            };
            // Writing to a string cannot fail.
            let _ = write!(line, "{pen}{} {}", shown(self.x(dot.at)), shown(y(share)));
            pen = 'L';
        }
        line
    }

    fn x(&self, at: f64) -> f64 {
        let share = (at - self.axis.from) / (self.axis.to - self.axis.from);
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }
}

fn y(share: f64) -> f64 {
    BOTTOM - share.clamp(0.0, 1.0) * (BOTTOM - TOP)
}

/// Formats a length to a tenth, finer than a screen shows.
fn shown(length: f64) -> String {
    format!("{length:.1}")
}

impl CurveKind {
    fn class(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Before => "before",
            Self::Computed => "computed",
        }
    }
}

fn colour(number: usize) -> &'static str {
    ["one", "two", "three", "four"][number % 4]
}

/// Returns the path of a circle, a square, a triangle or a diamond.
fn mark(number: usize, x: f64, y: f64) -> String {
    let (x, y) = (shown(x), shown(y));
    let (half, whole) = (MARK, 2.0 * MARK);
    match number % 4 {
        0 => format!("M{x} {y}m-{half} 0a{half} {half} 0 1 0 {whole} 0a{half} {half} 0 1 0 -{whole} 0z"),
        1 => format!("M{x} {y}m-{half} -{half}h{whole}v{whole}h-{whole}z"),
        2 => format!("M{x} {y}m0 -{half}l{half} {whole}h-{whole}z"),
        _ => format!("M{x} {y}m0 -{far}l{far} {far}l-{far} {far}l-{far} -{far}z", far = shown(MARK * 1.3)),
    }
}

/// Returns the legend: the name of each kind and number of curve.
#[must_use]
pub fn legend(curves: &[(CurveKind, usize, &str)]) -> Markup {
    html! {
        ul.legend {
            @for (kind, number, name) in curves {
                li {
                    svg viewBox="0 0 28 10" aria-hidden="true" {
                        g class=(format!("curve {} {}", kind.class(), colour(*number))) {
                            @if *kind != CurveKind::Before { path.line d="M2 5H26" {} }
                            @if *kind != CurveKind::Computed { path.mark d=(mark(*number, 14.0, 5.0)) {} }
                        }
                    }
                    " " (name)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(dots: Vec<Dot>) -> String {
        let axis =
            Axis { name: "size".to_owned(), from: 0.0, to: 10.0, ticks: vec![(5.0, "<5>".to_owned())] };
        let curves = vec![Curve { kind: CurveKind::Measured, number: 1, dots }];
        Chart { name: "\"shares\"".to_owned(), axis, curves }.svg().into_string()
    }

    #[test]
    fn a_curve_is_broken_where_there_is_no_share() {
        let dot = |at, share| Dot { at, share, between: Some((0.0, 1.0)), says: "a & b".to_owned() };
        let svg = chart(vec![dot(0.0, Some(1.0)), dot(1.0, Some(0.0)), dot(2.0, None), dot(9.0, Some(2.0))]);
        for part in [
            "d=\"M34.0 10.0L65.6 192.0M318.4 10.0\"",
            "aria-label=\"&quot;shares&quot;\"",
            "&lt;5&gt;",
            "<title>a &amp; b</title>",
            "M34.0 192.0V10.0",
            "class=\"curve measured two\"",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("class=\"mark\"").count(), 3);
    }

    /// A curve without dots has an empty path, which browsers accept.
    #[test]
    fn nothing_is_drawn_of_nothing() {
        assert!(chart(Vec::new()).contains("d=\"\""));
    }
}
