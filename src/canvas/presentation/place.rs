//! Where the groups of a file are to stand: those that a person moved stay, the others lie one below the other.

use super::area::Area;
use super::survey::{Group, Role, Survey};
use super::written::slot;
use super::{Known, LocalOnly, SlideTarget};

/// The place of each target's group. A group that is to be laid out keeps clear of groups that stay and of what stands
/// outside of all slides, because what it covered would become a part of its slide.
pub(super) fn places(survey: &Survey<'_>, known: &Known<'_>, targets: &[SlideTarget<'_>]) -> Vec<[f64; 2]> {
    let size = known.size.whole();
    let leaves = |slide: usize| {
        known.slides.get(slide).is_some_and(|slide| targets.iter().all(|target| target.id != slide.id))
    };
    let around = survey.nodes.iter().filter(|node| match &node.role {
        Role::NewSlide => true,
        Role::Local(LocalOnly::Group, _) => false,
        Role::Local(_, None) => true,
        // What a slide that leaves does not take along stays where it stands.
        Role::New(slide) | Role::Moved(_, slide) | Role::Local(_, Some(slide)) => leaves(*slide),
        _ => false,
    });
    let mut taken: Vec<Area> = around.filter_map(|node| Area::of(&node.value)).collect();
    let mut places: Vec<Option<[f64; 2]>> = vec![None; targets.len()];
    // Those that keep their place come first. One that changes its size keeps it only where that leaves it alone.
    for is_certain in [true, false] {
        for (number, (target, place)) in targets.iter().zip(&mut places).enumerate() {
            let index = known.slides.iter().position(|slide| slide.id == target.id);
            let own = index.and_then(|index| Some((index, survey.slides.get(index)?)));
            let Some((origin, keeps)) =
                own.and_then(|(index, group)| kept(survey, index, group, number, size))
            else {
                continue;
            };
            let area = Area { origin, size };
            let is_free = || taken.iter().all(|other| !other.overlaps(&area));
            if keeps == is_certain && (is_certain || is_free()) {
                *place = Some(origin);
                taken.push(area);
            }
        }
    }
    let places = places.into_iter().enumerate().map(|(number, place)| {
        place.unwrap_or_else(|| {
            let origin = free_slot(known, number, size, &taken);
            taken.push(Area { origin, size });
            origin
        })
    });
    places.collect()
}

/// The place that a group has and may keep, and whether it keeps it whatever else is there.
fn kept(
    survey: &Survey<'_>,
    index: usize,
    group: &Group<'_>,
    number: usize,
    size: [f64; 2],
) -> Option<([f64; 2], bool)> {
    let was = survey.written.groups.get(&index);
    let origin = group.origin.or_else(|| was.map(|was| was.area.origin))?;
    let is_ours = was.is_some_and(|was| was.area.origin == origin) && survey.written.is_laid_out(index);
    if is_ours {
        let stays = was.is_some_and(|was| was.number == number && was.area.size == size);
        return (stays && group.origin.is_some()).then_some((origin, true));
    }
    let is_whole = group.origin.is_some() && group.area.is_some_and(|area| area.size == size);
    Some((origin, is_whole))
}

/// The first free place at the height of a slide's number.
fn free_slot(known: &Known<'_>, number: usize, size: [f64; 2], taken: &[Area]) -> [f64; 2] {
    let [step, _] = slot(known.size, number, 1);
    let mut origin = slot(known.size, number, 0);
    // Each turn passes one of the others at least. What lies further out than numbers are exact is not passed.
    for _ in taken {
        let Some(other) = taken.iter().find(|other| other.overlaps(&Area { origin, size })) else { break };
        let [right, _] = other.end();
        origin[0] = ((right / step).floor() + 1.0) * step;
    }
    origin
}
