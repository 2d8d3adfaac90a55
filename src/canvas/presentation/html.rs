//! A presentation as one HTML file: its slides one by one on the screen, and each on a sheet of its size in print. The file
//! needs nothing else, and without scripts it shows all slides one below the other.

use serde_json::Value;

use super::Size;
use crate::canvas::number;
use crate::canvas::picture::{escaped, slide_in_page};
use crate::model::planted_fault;

/// A slide for [`html`].
#[derive(Debug, Clone, Copy)]
pub struct SlidePicture<'a> {
    /// Its elements, back to front.
    pub elements: &'a [Value],
    /// What stands in it and only in the file: [`super::SlideFile::extras`].
    pub extras: &'a [Value],
    /// Its background, as the service sent it.
    pub background: &'a Value,
    /// The label of its group, if a person gave it a name.
    pub name: Option<&'a str>,
}

/// The page of a presentation with this name. Arrow keys, Page Up and Page Down, space, Home, End, clicks and two buttons
/// change the slide; `#3` at the end of the address is the third one.
#[must_use]
pub fn html(name: &str, size: Size, slides: &[SlidePicture<'_>]) -> String {
    planted_fault("drawing", &|| format!("{slides:?}"));
    let sides =
        [size.width, size.height].map(|side| if side.is_finite() { side.clamp(1.0, 100_000.0) } else { 1.0 });
    let [width, height] = sides.map(number);
    let title = escaped(name);
    // The words of the page are English; the language of the slides is not known.
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n:root{{--width:{width};--height:{height}}}\n\
         @page{{size:{width}px {height}px;margin:0}}\n{STYLE}</style>\n</head>\n<body>\n\
         <h1 class=\"unseen\" lang=\"\">{title}</h1>\n<main>\n"
    );
    for (index, slide) in slides.iter().enumerate() {
        let all = [slide.elements, slide.extras].concat();
        let picture = slide_in_page(&all, sides, slide.background, index);
        let at = index.saturating_add(1);
        let name =
            slide.name.map_or_else(String::new, |name| format!(": <span lang=\"\">{}</span>", escaped(name)));
        out.push_str(&format!(
            "<section id=\"{at}\" tabindex=\"-1\" aria-labelledby=\"title-{at}\">\
             <h2 class=\"unseen\" id=\"title-{at}\">Slide {at} of {}{name}</h2>\n<div lang=\"\">{}</div></section>\n",
            slides.len(),
            picture.trim_end()
        ));
    }
    let empty = if slides.is_empty() { "<p>This presentation has no slides.</p>\n" } else { "" };
    out.push_str(&format!(
        "{empty}</main>\n<nav aria-label=\"Slides\" hidden>\
         <button type=\"button\" id=\"previous\" aria-label=\"Previous slide\">←</button>\
         <span id=\"at\" role=\"status\"></span>\
         <button type=\"button\" id=\"next\" aria-label=\"Next slide\">→</button></nav>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    ));
    out
}

/// A picture is exactly as large as its slide, so that nothing shows beside it.
const STYLE: &str = "html,body{margin:0;background:#111;color:#eee;font:14px sans-serif}\n\
    .unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}\n\
    section{display:flex;min-height:100vh;align-items:center;justify-content:center;outline:none}\n\
    section[hidden],nav[hidden]{display:none}\n\
    section svg{display:block;overflow:hidden;height:auto;aspect-ratio:var(--width)/var(--height);\
    width:min(100vw,calc(100vh*var(--width)/var(--height)))}\n\
    nav{position:fixed;right:.5em;bottom:.5em;padding:.25em;border-radius:.25em;background:#111c;opacity:.4}\n\
    nav:hover,nav:focus-within{opacity:1}\n\
    button{font:inherit;color:inherit;background:none;border:1px solid #888;border-radius:.25em;padding:.25em .75em}\n\
    button:focus-visible{outline:2px solid #fff}\n\
    @media print{\n\
    html,body{background:none}\n\
    nav{display:none}\n\
    section,section[hidden]{display:block;min-height:0;break-inside:avoid}\n\
    section+section{break-before:page}\n\
    section svg{width:calc(var(--width)*1px);height:calc(var(--height)*1px);print-color-adjust:exact;\
    -webkit-print-color-adjust:exact}\n}\n";

const SCRIPT: &str = "\
const all=[...document.querySelectorAll('section')],by=id=>document.getElementById(id);let at=0;\
function go(to,focus){at=Math.max(0,Math.min(all.length-1,to));all.forEach((s,i)=>s.hidden=i!==at);\
if(!all.length)return;by('at').textContent=(at+1)+' / '+all.length;\
by('previous').disabled=at===0;by('next').disabled=at===all.length-1;\
history.replaceState(null,'','#'+(at+1));if(focus)all[at].focus({preventScroll:true})}\
const asked=()=>(parseInt(location.hash.slice(1))||1)-1;\
const keys={ArrowRight:()=>at+1,ArrowDown:()=>at+1,PageDown:()=>at+1,' ':()=>at+1,ArrowLeft:()=>at-1,ArrowUp:()=>at-1,\
PageUp:()=>at-1,Home:()=>0,End:()=>all.length-1};\
addEventListener('keydown',e=>{if(e.ctrlKey||e.metaKey||e.altKey||!keys[e.key])return;\
if(e.key===' '&&e.target.tagName==='BUTTON')return;go(keys[e.key](),true);e.preventDefault()});\
addEventListener('click',e=>{if(e.target.closest('nav')||String(getSelection()))return;\
go(at+(e.clientX<innerWidth/3?-1:1))});\
addEventListener('hashchange',()=>go(asked()));\
by('previous').addEventListener('click',()=>go(at-1));by('next').addEventListener('click',()=>go(at+1));\
document.querySelector('nav').hidden=!all.length;go(asked())";
