'use strict';
const here = location.pathname, $ = id => document.getElementById(id), nav = $('nav'), main = $('main');
let state = { workspaces: [], decks: [], storage: { folders: [], files: [] } };
let open = decodeURIComponent(location.hash.slice(1)), sending = 0, loading, isStale = false;
const timers = new Map();

const make = (tag, cls, text) => { const e = document.createElement(tag); if (cls) e.className = cls; if (text !== undefined) e.textContent = text; return e; };
const pages = () => state.workspaces.flatMap(space => space.pages.map(page => ({ ...page, space })));
const byKey = (place, key) => place.querySelector(`[data-key="${CSS.escape(key)}"]`);
function button(label, key, run) {
  const b = make('button', '', label);
  b.dataset.act = b.dataset.key = key;
  b.onclick = run;
  return b;
}
/* The status line is read aloud. */
function say(text) { $('said').textContent = text; }

/* What the address names: a page, a page in the trash, a whiteboard, a presentation, the stored files. */
function find(id) {
  if (id === 'storage') return { kind: 'storage', title: 'Storage', item: state.storage };
  const page = pages().find(page => page.id === id);
  if (page) return { kind: 'page', title: page.title, item: page };
  for (const space of state.workspaces) {
    const trashed = space.trash.find(page => page.id === id), board = space.boards.find(board => board.id === id);
    if (trashed) return { kind: 'trashed', title: trashed.title, item: trashed };
    if (board) return { kind: 'board', title: board.name, item: board };
  }
  const deck = state.decks.find(deck => deck.id === id);
  return deck && { kind: 'deck', title: deck.name, item: deck };
}

async function act(what) {
  sending++;
  try {
    const answer = await fetch(here + 'act', { method: 'POST', body: JSON.stringify(what) });
    return answer.ok ? await answer.json() : {};
  } catch { return {}; } finally { sending--; await load(); }
}
/* Typing is sent when it pauses. */
function soon(key, what) {
  clearTimeout(timers.get(key)?.timer);
  timers.set(key, { what, timer: setTimeout(() => flush(key), 350) });
}
function flush(key) {
  const waiting = timers.get(key);
  if (!waiting) return;
  clearTimeout(waiting.timer);
  timers.delete(key);
  return act(waiting.what);
}
/* One request at a time, so that an older answer never replaces a newer one. */
function load() {
  isStale = true;
  loading ??= (async () => {
    try {
      while (isStale) {
        isStale = false;
        const answer = await fetch(here + 'state');
        if (!answer.ok) return;
        state = await answer.json();
        drawNav();
        draw();
      }
    } catch { /* The demo has ended, which `events` tells. */ } finally { loading = undefined; }
  })();
  return loading;
}

/* Replaces what is in `place`. The focus stays on the element with the same key, or in the same place. */
function replace(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement : undefined, key = focused?.dataset.key;
  place.replaceChildren(...children);
  if (focused) ((key && byKey(place, key)) || place).focus({ preventScroll: true });
}

let drawnNav = '';
function drawNav() {
  const wanted = JSON.stringify([open, state.decks.map(deck => [deck.id, deck.name]), state.workspaces.map(space => [space.id, space.name, space.trash,
    space.boards.map(board => [board.id, board.name]), space.pages.map(page => [page.id, page.parent, page.icon, page.title])])]);
  if (wanted === drawnNav) return;
  drawnNav = wanted;
  const entry = (id, icon, label) => {
    const li = make('li'), a = make('a'), sign = make('span', '', icon + ' ');
    sign.setAttribute('aria-hidden', 'true');
    a.href = '#' + id;
    a.dataset.key = 'to ' + id;
    if (id === open) a.setAttribute('aria-current', 'page');
    a.append(sign, label);
    a.onclick = () => { if (id === open) showMenu(false); };
    li.append(a);
    return li;
  };
  const list = (title, entries) => {
    if (!entries.length) return [];
    const ul = make('ul');
    ul.append(...entries);
    return [make('h3', '', title), ul];
  };
  const ofSpace = space => {
    const ids = new Set(space.pages.map(page => page.id));
    const tree = parent => {
      const ul = make('ul');
      for (const page of space.pages.filter(page => (ids.has(page.parent) ? page.parent : null) === parent)) {
        const li = entry(page.id, page.icon || '📄', page.title), inside = tree(page.id);
        if (inside.children.length) li.append(inside);
        ul.append(li);
      }
      return ul;
    };
    const head = make('div', 'head');
    const add = button('New page', 'new-page', async () => begin((await act({ act: 'page', workspace: space.id, title: 'New page' })).id));
    add.dataset.key += space.id;
    add.setAttribute('aria-label', 'New page in ' + space.name);
    head.append(make('h2', '', space.name), add);
    return [head, tree(null), ...list('Whiteboards', space.boards.map(board => entry(board.id, '🖼', board.name))),
      ...list('Trash', space.trash.map(page => entry(page.id, '🗑', page.title)))];
  };
  const personal = make('div', 'head');
  personal.append(make('h2', '', 'Personal'));
  replace(nav, ...state.workspaces.flatMap(ofSpace), personal,
    ...list('Presentations', state.decks.map(deck => entry(deck.id, '📽', deck.name))), ...list('Files', [entry('storage', '🗂', 'Storage')]));
}
/* A narrow window shows either the contents or the page. */
function showMenu(shows) {
  nav.classList.toggle('open', shows);
  $('menu').setAttribute('aria-expanded', shows);
}
$('menu').onclick = () => {
  showMenu(!nav.classList.contains('open'));
  if (nav.classList.contains('open')) (nav.querySelector('[aria-current]') || nav).focus();
};
nav.onkeydown = event => {
  if (event.key === 'Escape' && nav.classList.contains('open')) { showMenu(false); $('menu').focus(); }
};
document.querySelector('.skip').onclick = event => { event.preventDefault(); showMenu(false); main.focus(); };

function go(id) { if (id) location.hash = id; }
/* A new page: its title is there to be typed over. */
async function begin(id) {
  if (!id) return;
  go(id);
  await new Promise(done => setTimeout(done));
  const title = main.querySelector('h1 .text');
  title?.focus();
  if (title) getSelection().selectAllChildren(title);
}
addEventListener('hashchange', () => {
  open = decodeURIComponent(location.hash.slice(1));
  const wasMenu = nav.classList.contains('open');
  showMenu(false);
  drawNav();
  draw();
  main.scrollTop = 0;
  if (wasMenu) main.focus();
});

function draw() {
  const found = find(open);
  if (!found) {
    const first = pages()[0];
    if (first && open !== first.id) { open = first.id; drawNav(); draw(); } else if (!first) replace(main);
    return;
  }
  document.title = found.title + ' – espejo demo';
  if (found.kind === 'page') return drawPage(found.item);
  const wanted = JSON.stringify([found, main.clientWidth]);
  if (main.drawn === wanted && main.firstElementChild) return;
  const article = make('article');
  article.append(make('h1', '', found.title));
  replace(main, article);
  main.drawn = wanted;
  ({ trashed: drawTrashed, board: drawBoard, deck: drawDeck, storage: drawStorage })[found.kind](found.item, article);
}
addEventListener('resize', draw);

function drawTrashed(page, article) {
  const restore = button('Restore', 'restore', async () => {
    await act({ act: 'restore', page: page.id });
    say(`“${page.title}” is restored.`);
  });
  article.append(make('p', '', 'This page is in the trash, with the subpages that it had.'), restore);
}
async function trash(page) {
  const all = pages(), beneath = id => all.filter(one => one.parent === id).reduce((sum, one) => sum + 1 + beneath(one.id), 0), count = beneath(page.id);
  const more = count ? ` and its ${count === 1 ? 'subpage' : count + ' subpages'}` : '';
  if (!await ask(`Move “${page.title}”${more} to the trash?\nYou can restore it from there.`, 'Move to trash')) return;
  await act({ act: 'trash', page: page.id });
  say(`“${page.title}” is in the trash.`);
  byKey(main, 'restore')?.focus();
}
function ask(question, yes) {
  const dialog = $('ask');
  $('question').textContent = question;
  $('yes').textContent = yes;
  return new Promise(answer => {
    let agreed = false;
    $('yes').onclick = () => { agreed = true; dialog.close(); };
    $('no').onclick = () => dialog.close();
    // The event of an earlier question may come late, when this one is open already.
    dialog.onclose = () => { if (!dialog.open) answer(agreed); };
    dialog.showModal();
  });
}

function drawPage(page) {
  let article = main.querySelector('article');
  if (!article || article.dataset.id !== page.id) {
    article = make('article');
    article.dataset.id = page.id;
    const tools = make('div', 'tools'), title = make('h1'), text = make('div', 'text');
    tools.append(
      button('New subpage', 'new-subpage', async () => begin((await act({ act: 'page', workspace: page.space.id, parent: page.id, title: 'New page' })).id)),
      button('Add text', 'new-block', () => add(page.id, last(page.id), 'paragraph')),
      button('Add to-do', 'new-box', () => add(page.id, last(page.id), 'checkListItem')),
      button('Move to trash', 'trash', () => trash(find(page.id)?.item || page)));
    textbox(text, 'Title');
    text.oninput = () => soon('title', { act: 'title', page: page.id, title: text.textContent });
    text.onkeydown = event => { if (event.key === 'Enter') { event.preventDefault(); enter(page.id); } };
    text.onblur = async () => { await flush('title'); draw(); };
    title.append(text);
    article.append(tools, title, make('div', 'blocks'));
    replace(main, article);
    main.drawn = '';
  }
  const title = article.querySelector('h1 .text');
  if (document.activeElement !== title && title.textContent !== page.title) title.textContent = page.title;
  settle(article.querySelector('.blocks'), page.content, page.id);
}
function textbox(element, label) {
  element.contentEditable = 'plaintext-only';
  element.setAttribute('role', 'textbox');
  element.setAttribute('aria-label', label);
}

const last = id => pages().find(page => page.id === id)?.content.at(-1)?.id;
const textIn = id => main.querySelector(`[data-block="${CSS.escape(id)}"] > .row > .text`);
async function add(page, after, type) {
  const made = await act({ act: 'block', page, after, type });
  if (made.id) textIn(made.id)?.focus();
}
/* Goes on from the title to the text; an empty page gets one. */
function enter(page) {
  const first = main.querySelector('.blocks .text');
  if (first) first.focus(); else add(page, undefined, 'paragraph');
}
/* Removes an empty block. The focus goes to the end of the text before it. */
async function remove(page, block) {
  const all = [...main.querySelectorAll('.text')], before = all[all.indexOf(textIn(block)) - 1];
  await act({ act: 'remove', page, block });
  if (!before?.isConnected) return main.focus();
  before.focus();
  getSelection().selectAllChildren(before);
  getSelection().collapseToEnd();
}

/* Brings the drawn blocks in line with the real ones. The text in which a person types is drawn when the focus leaves it. */
function settle(place, blocks, page) {
  const drawn = new Map([...place.children].map(e => [e.dataset.block, e]));
  let number = 0, at = place.firstElementChild;
  for (const block of blocks) {
    number = block.type === 'numberedListItem' ? number + 1 : 0;
    const said = JSON.stringify([block.type, block.props, block.content, number]);
    let element = drawn.get(block.id);
    if (!element) {
      element = make('div');
      element.dataset.block = block.id;
      element.append(make('div', 'row'), make('div', 'inside'));
      fill(element, block, page, number);
      element.said = said;
      if (place.dataset.filled) flash(element);
    } else if (element.said !== said && !(document.activeElement === textIn(block.id))) {
      const shown = e => e.firstChild.textContent + e.classList.contains('done'), before = shown(element);
      fill(element, block, page, number);
      element.said = said;
      if (shown(element) !== before) flash(element);
    }
    drawn.delete(block.id);
    if (element !== at) place.insertBefore(element, at); else at = at.nextElementSibling;
    settle(element.lastChild, block.children || [], page);
  }
  drawn.forEach(element => element.remove());
  place.dataset.filled = 'yes';
}
function flash(element) {
  if (element.contains(document.activeElement)) return;
  element.classList.add('changed');
  requestAnimationFrame(() => setTimeout(() => element.classList.remove('changed'), 60));
}

const NAMES = { paragraph: 'Paragraph', heading: 'Heading', bulletListItem: 'Bullet', numberedListItem: 'Numbered item', checkListItem: 'To-do', toggleListItem: 'Toggle', quote: 'Quote' };
/* Draws one block. What can have the focus is changed in place. */
function fill(element, block, page, number) {
  const row = element.firstChild, props = block.props || {}, runs = Array.isArray(block.content) ? block.content : [];
  const isNew = element.dataset.type !== block.type;
  element.dataset.type = block.type;
  element.classList.add('block', block.type);
  element.classList.toggle('done', props.checked === true);
  if (!NAMES[block.type]) return row.replaceChildren(otherOf(block, runs));
  if (isNew) {
    element.className = 'block ' + block.type + (props.checked === true ? ' done' : '');
    row.replaceChildren(...[markOf(block, page), textOf(block, page)].filter(e => e));
  }
  const mark = row.querySelector('.mark'), text = row.querySelector('.text');
  text.replaceChildren(...runs.map(runOf));
  if (runs.every(run => run.type === 'text')) textbox(text, NAMES[block.type] + (block.type === 'heading' ? ' ' + (props.level || 1) : ''));
  else { text.contentEditable = 'false'; text.removeAttribute('role'); text.removeAttribute('aria-label'); }
  if (block.type === 'checkListItem') {
    mark.checked = props.checked === true;
    mark.setAttribute('aria-label', 'Done: ' + text.textContent);
  }
  if (block.type === 'numberedListItem') mark.textContent = number + '.';
  if (block.type === 'heading') {
    row.setAttribute('role', 'heading');
    row.setAttribute('aria-level', (props.level || 1) + 1);
    row.style.fontSize = ['28px', '23px', '19px', '17px', '16px', '15px'][(props.level || 1) - 1] || '16px';
  }
}
function markOf(block, page) {
  const signs = { bulletListItem: '•', toggleListItem: '▾', numberedListItem: '' };
  if (block.type !== 'checkListItem') return signs[block.type] === undefined ? null : make('span', 'mark', signs[block.type]);
  const box = make('input', 'mark');
  box.type = 'checkbox';
  box.onchange = () => act({ act: 'tick', page, block: block.id, checked: box.checked });
  return box;
}
function textOf(block, page) {
  const text = make('div', 'text'), key = 'text ' + block.id;
  text.oninput = () => soon(key, { act: 'text', page, block: block.id, text: text.textContent });
  text.onblur = async () => { await flush(key); draw(); };
  text.onkeydown = async event => {
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      await flush(key);
      add(page, block.id, /ListItem$/.test(block.type) ? block.type : 'paragraph');
    } else if (event.key === 'Backspace' && text.textContent === '') {
      event.preventDefault();
      clearTimeout(timers.get(key)?.timer);
      timers.delete(key);
      remove(page, block.id);
    }
  };
  return text;
}
function runOf(run) {
  if (run.type === 'link') { const a = make('a'); a.href = run.href; a.rel = 'noreferrer'; (run.content || []).forEach(part => a.append(runOf(part))); return a; }
  const styles = run.styles || {};
  const tags = Object.entries({ bold: 'b', italic: 'i', underline: 'u', strike: 's', code: 'code' }).filter(([style]) => styles[style]);
  return tags.reduce((node, [, tag]) => { const e = make(tag); e.append(node); return e; }, document.createTextNode(run.text || ''));
}
function otherOf(block, runs) {
  if (block.type === 'divider') return make('hr');
  if (block.type === 'codeBlock') return make('pre', 'other', runs.map(run => run.text || '').join(''));
  const rows = block.type === 'table' && block.content?.rows, props = block.props || {}, name = props.name || props.caption || props.title;
  if (!rows) return make('div', 'other', block.type + (name ? ': ' + name : ''));
  const table = make('table'), wide = scrolled('Table');
  for (const row of rows) {
    const tr = make('tr');
    for (const cell of row.cells || []) {
      const td = make('td');
      (Array.isArray(cell) ? cell : cell.content || []).forEach(run => td.append(runOf(run)));
      tr.append(td);
    }
    table.append(tr);
  }
  wide.append(table);
  return wide;
}
/* What may be wider than the window. It can have the focus, so that arrow keys move it. */
function scrolled(label) {
  const place = make('div', 'wide');
  place.tabIndex = 0;
  place.setAttribute('role', 'region');
  place.setAttribute('aria-label', label);
  return place;
}

/* A whiteboard is never drawn so small that it cannot be read; a slide is drawn as a whole. */
function drawBoard(board, article) {
  article.style.maxWidth = '1100px';
  const all = board.elements.map(e => ({ ...e, left: e.x + Math.min(0, e.width), top: e.y + Math.min(0, e.height), right: e.x + Math.max(0, e.width), bottom: e.y + Math.max(0, e.height) }));
  const most = (key, start) => Math.max(start, ...all.map(e => e[key])), least = key => Math.min(0, ...all.map(e => e[key]));
  const left = least('left') - 30, top = least('top') - 30;
  const place = scrolled('Whiteboard ' + board.name);
  article.append(place);
  drawCanvas(place, all, { left, top, width: most('right', 400) + 30 - left, height: most('bottom', 300) + 30 - top }, 'white', .6);
}
function drawDeck(deck, article) {
  deck.slides.forEach((slide, at) => {
    const place = make('section');
    article.append(make('h2', '', `Slide ${at + 1} of ${deck.slides.length}`), place);
    drawCanvas(place, slide.elements, { left: 0, top: 0, width: deck.width, height: deck.height }, slide.background?.color || 'white', 0);
  });
}
function drawCanvas(place, elements, area, ground, least) {
  const scale = Math.max(least, Math.min(1, (place.clientWidth - 2) / area.width)), canvas = make('div', 'canvas');
  canvas.style.cssText = `width: ${area.width * scale}px; height: ${area.height * scale}px`;
  canvas.style.background = ground;
  place.append(canvas);
  const filled = { sticky: '#fde68a', rectangle: 'rgb(148 163 184 / .25)', ellipse: 'rgb(148 163 184 / .25)' };
  for (const e of [...elements].sort((a, b) => (a.z_index || 0) - (b.z_index || 0))) {
    const style = e.style || {}, x = (e.x - area.left) * scale, y = (e.y - area.top) * scale;
    if (e.type === 'connector') { canvas.append(line(x, y, x + e.width * scale, y + e.height * scale)); continue; }
    const shape = make('div', 'shape ' + (filled[e.type] ? e.type : e.type === 'text' ? 'text-only' : 'unknown'));
    Object.assign(shape.style, { left: x + 'px', top: y + 'px', width: e.width * scale + 'px', height: e.height * scale + 'px' });
    if (filled[e.type]) shape.style.background = style.color || filled[e.type];
    if (style.stroke) shape.style.border = '1px solid ' + style.stroke;
    const label = filled[e.type] || e.type === 'text' ? e.content : `${e.type}: ${e.content || ''}`;
    const words = make('div', 'words', label || '');
    Object.assign(words.style, { fontWeight: style.bold ? '700' : '400', fontStyle: style.italic ? 'italic' : '', textAlign: style.textAlign || '' });
    shape.append(words);
    canvas.append(shape);
    words.style.color = inkOn(shape, ground);
    fit(shape, words, (Number(style.fontSize) || 16) * scale);
  }
}
function line(...ends) {
  const space = 'http://www.w3.org/2000/svg', svg = document.createElementNS(space, 'svg'), path = document.createElementNS(space, 'line');
  ['x1', 'y1', 'x2', 'y2'].forEach((name, at) => path.setAttribute(name, ends[at]));
  path.setAttribute('stroke', '#64748b');
  svg.append(path);
  return svg;
}
/* Black or white, whichever can be read on the shape, or on what is behind it. */
function inkOn(shape, ground) {
  const numbers = color => (color.match(/[\d.]+/g) || []).map(Number);
  const behind = make('div');
  behind.style.color = ground;
  shape.append(behind);
  const under = numbers(getComputedStyle(behind).color), [r, g, b, a = 1] = numbers(getComputedStyle(shape).backgroundColor);
  behind.remove();
  const [red, green, blue] = [r, g, b].map((part, at) => part * a + under[at] * (1 - a));
  return (red * 299 + green * 587 + blue * 114) / 1000 < 128 ? '#fff' : '#1f2937';
}
/* Makes a text smaller until its shape holds it. What is too long even then is shown past the edge, never cut. */
function fit(shape, words, size) {
  const isOver = () => words.scrollHeight > words.clientHeight + 1 || words.scrollWidth > words.clientWidth + 1;
  words.style.fontSize = size + 'px';
  while (!shape.classList.contains('text-only') && size > 9 && isOver()) words.style.fontSize = --size + 'px';
}

function drawStorage(storage, article) {
  const size = bytes => bytes < 1e3 ? bytes + ' B' : bytes < 1e6 ? (bytes / 1e3).toFixed(1) + ' kB' : (bytes / 1e6).toFixed(1) + ' MB';
  const list = folder => {
    const ul = make('ul', 'files');
    for (const inner of storage.folders.filter(one => one.parent === folder)) {
      const li = make('li'), inside = list(inner.id);
      li.append(make('b', '', inner.name), inside.children.length ? inside : make('span', '', ' (empty)'));
      ul.append(li);
    }
    for (const file of storage.files.filter(one => one.folder === folder)) {
      const li = make('li', '', file.name + ' ');
      li.append(make('span', '', size(file.size)));
      ul.append(li);
    }
    return ul;
  };
  article.append(make('p', '', 'Your personal files. Change them in the folder Storage of the mirror.'), list(null));
}

const events = new EventSource(here + 'events');
events.onmessage = () => { if (!sending) load(); };
events.onopen = () => { $('away').textContent = ''; };
events.onerror = () => { $('away').textContent = 'The demo has ended.'; };
load();
