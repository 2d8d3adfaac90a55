//! Rectangles in a file, and how they lie to each other.

use serde_json::Value;

use crate::canvas::node::{GEOMETRY, View, relative, rounded};

/// A rectangle in pixels: the left upper corner and the size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Area {
    pub(super) origin: [f64; 2],
    pub(super) size: [f64; 2],
}

impl Area {
    /// Where a node stands, if it says so in numbers.
    pub(super) fn of(node: &Value) -> Option<Self> {
        let number = |key: &str| node.get(key).and_then(Value::as_f64).filter(|number| number.is_finite());
        let [x, y, width, height] = GEOMETRY.map(number);
        Some(Self { origin: [x?, y?], size: [width?, height?] })
    }

    /// The right lower corner.
    pub(super) fn end(&self) -> [f64; 2] {
        let ([x, y], [width, height]) = (self.origin, self.size);
        [x + width, y + height]
    }

    pub(super) fn centre(&self) -> [f64; 2] {
        let ([x, y], [width, height]) = (self.origin, self.size);
        [x + width / 2.0, y + height / 2.0]
    }

    pub(super) fn contains(&self, [x, y]: [f64; 2]) -> bool {
        let ([left, top], [right, bottom]) = (self.origin, self.end());
        (left..=right).contains(&x) && (top..=bottom).contains(&y)
    }

    pub(super) fn encloses(&self, other: &Self) -> bool {
        self.contains(other.origin) && self.contains(other.end())
    }

    /// Whether they have a point in common, be it of their edges.
    pub(super) fn touches(&self, other: &Self) -> bool {
        self.meets(other, |own, theirs| own <= theirs)
    }

    /// Whether one covers a part of the other.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.meets(other, |own, theirs| own < theirs)
    }

    fn meets(&self, other: &Self, before: impl Fn(f64, f64) -> bool) -> bool {
        let ([left, top], [right, bottom]) = (self.origin, self.end());
        let ([x, y], [to_x, to_y]) = (other.origin, other.end());
        before(left, to_x) && before(x, right) && before(top, to_y) && before(y, bottom)
    }
}

/// Whether a node stands where its element does, from this origin on.
pub(super) fn has_stayed(node: &Value, element: &Value, origin: [f64; 2]) -> bool {
    let place = View::of(element).place;
    let mut both = ["x", "y"].into_iter().zip(place).zip(origin);
    both.all(|((key, place), origin)| {
        node.get(key).and_then(|value| rounded(&relative(value, origin, Some(place)))) == Some(place)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_touch_and_do_not_overlap() {
        let area = |x, y, width, height| Area { origin: [x, y], size: [width, height] };
        let own = area(0.0, 0.0, 10.0, 10.0);
        #[track_caller]
        fn check(own: Area, other: Area, touches: bool, overlaps: bool, encloses: bool) {
            assert_eq!((own.touches(&other), own.overlaps(&other)), (touches, overlaps), "{other:?}");
            assert_eq!((other.touches(&own), other.overlaps(&own)), (touches, overlaps), "{other:?}");
            assert_eq!(own.encloses(&other), encloses, "{other:?}");
        }
        check(own, area(2.0, 2.0, 3.0, 3.0), true, true, true);
        check(own, area(10.0, 0.0, 5.0, 5.0), true, false, false);
        check(own, area(9.0, 9.0, 5.0, 5.0), true, true, false);
        check(own, area(11.0, 0.0, 5.0, 5.0), false, false, false);
        check(own, area(0.0, -20.0, 10.0, 5.0), false, false, false);
        assert!(own.contains(own.centre()) && !own.contains([10.5, 5.0]));
    }
}
