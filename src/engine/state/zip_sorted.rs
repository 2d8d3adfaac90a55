//! Two sequences in one order, walked side by side: quicker than a search in the second for each item of the first.

use std::cmp::Ordering;

/// Each item of the first sequence, with the one of the second that is equal to it. `order`: how an item of the second
/// compares with one of the first. No two items of a sequence are equal.
pub(crate) fn zip_sorted<A, B>(
    first: impl IntoIterator<Item = A>,
    second: impl IntoIterator<Item = B>,
    order: impl Fn(&B, &A) -> Ordering,
) -> impl Iterator<Item = (A, Option<B>)> {
    let mut second = second.into_iter().peekable();
    first.into_iter().map(move |item| {
        while second.next_if(|other| order(other, &item) == Ordering::Less).is_some() {}
        let equal = second.next_if(|other| order(other, &item) == Ordering::Equal);
        (item, equal)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_meets_its_equal() {
        let met = |first: &[u32], second: &[u32]| {
            zip_sorted(first, second, |b, a| b.cmp(a)).map(|(a, b)| (*a, b.copied())).collect::<Vec<_>>()
        };
        assert_eq!(
            met(&[1, 3, 4, 7], &[0, 3, 5, 6, 7, 9]),
            [(1, None), (3, Some(3)), (4, None), (7, Some(7))]
        );
        assert_eq!(met(&[1, 2], &[]), [(1, None), (2, None)]);
        assert_eq!(met(&[], &[1]), []);
    }
}
