'use strict';
/*
What the pages gain by script. Each works without it too. Texts of others are only ever set as text.

on                      does                                                        and uses
[data-copy=ID]          copies the text or value of #ID; is [hidden] without script
time[datetime]          local time, UTC in its title; a date without a time stays   [data-relative]: "5 minutes ago"
form[data-search]       sends itself as one types, and replaces #results            #results[data-say]: "12 links", is announced
[data-live=URL]         shows events {"hits":n,"unique":n}                          [data-live-value=hits|unique], [data-live-state]
figure[data-from]       svg.chart: values by pointer and arrow keys, local hours    .chart-readout, .chart-zone, the table (api/chart)
form[data-once]         can be sent once
form[data-import=URL]   sends an NDJSON file in parts: input[type=file], [name=owner]
a[data-export]          counts lines while it loads                                 data-total: links, from 100,000 on the browser loads it
*/
(() => {
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const number = n => Number(n).toLocaleString('en');
const count = (n, one) => number(n) + ' ' + one + (n === 1 ? '' : 's');

function fill(e, attributes, children) {
	for (const key in attributes) e.setAttribute(key, attributes[key]);
	e.append(...children);
	return e;
}
const make = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const drawn = (name, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

const announcer = make('div', { class: 'sr', 'aria-live': 'polite' });
const say = text => { announcer.textContent = text; };

function pause(ms, signal) {
	return new Promise((done, fail) => {
		const timer = setTimeout(done, ms);
		signal?.addEventListener('abort', () => { clearTimeout(timer); fail(signal.reason); }, { once: true });
	});
}

// Copy. Only secure pages have navigator.clipboard; on others the selection is copied.
async function copy(source) {
	const field = source.select instanceof Function;
	const text = field ? source.value : source.textContent.trim();
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch { /* the old way */ }
	if (field) source.select();
	else getSelection().selectAllChildren(source);
	const put = e => { e.clipboardData.setData('text/plain', text); e.preventDefault(); };
	document.addEventListener('copy', put);
	try {
		return document.execCommand('copy');
	} finally {
		document.removeEventListener('copy', put);
	}
}

document.addEventListener('click', async e => {
	const button = e.target.closest('[data-copy]');
	const source = button && document.getElementById(button.dataset.copy);
	if (!source) return;
	const told = await copy(source) ? 'Copied' : 'Press Ctrl+C';
	button.dataset.label ??= button.textContent;
	button.textContent = told;
	say(told);
	clearTimeout(button.timer);
	button.timer = setTimeout(() => { button.textContent = button.dataset.label; say(''); }, 2000);
});

// Time.
const units = [['year', 31536e3], ['month', 2592e3], ['day', 86400], ['hour', 3600], ['minute', 60]];
const format = (date, options) => date.toLocaleString(undefined, options);

function ago(date) {
	const seconds = (date - Date.now()) / 1000;
	const [unit, size] = units.find(u => Math.abs(seconds) >= u[1]) ?? ['second', Infinity];
	return new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' }).format(Math.trunc(seconds / size) + 0, unit);
}

function showTime(e) {
	const date = new Date(e.dateTime);
	if (!e.dateTime.includes('T') || isNaN(date)) return;
	try {
		const local = format(date, { dateStyle: 'medium', timeStyle: 'short' });
		const utc = date.toISOString().slice(0, 16).replace('T', ' ') + ' UTC';
		const relative = 'relative' in e.dataset;
		const text = relative ? ago(date) : local;
		if (e.textContent !== text) e.textContent = text;
		e.title = relative ? local + ' (' + utc + ')' : utc;
	} catch { /* keeps the text in UTC */ }
}
setInterval(() => all('time[data-relative]').forEach(showTime), 20000);

// Search. One entry of the history for each time one types; going back loads what was shown.
function search(form) {
	let timer, request, typing = false, shown = location.pathname + location.search;
	const results = () => document.getElementById('results');
	const idle = () => results().removeAttribute('aria-busy');
	const wanted = () => {
		const fields = [...new FormData(form)].filter(f => f[1] !== '');
		return new URL(form.getAttribute('action') || location.pathname, location).pathname +
			(fields.length ? '?' + new URLSearchParams(fields) : '');
	};
	async function load(address) {
		request = new AbortController();
		const { signal } = request, old = results();
		old.setAttribute('aria-busy', 'true');
		const answer = await fetch(address, { signal, headers: { Accept: 'text/html' } });
		const text = await answer.text();
		const fresh = new DOMParser().parseFromString(text, 'text/html').getElementById('results');
		signal.throwIfAborted();
		if (!answer.ok || !fresh) throw new Error('not a list');
		old.replaceWith(fresh);
		shown = address;
		enhance(fresh);
		say(fresh.dataset.say ?? count(all('tbody tr', fresh).length, 'result'));
	}
	async function run() {
		clearTimeout(timer);
		const address = wanted();
		request?.abort();
		if (address === shown) return idle();
		try {
			await load(address);
			history[typing ? 'replaceState' : 'pushState'](null, '', address);
			typing = true;
		} catch (e) {
			if (e.name !== 'AbortError') HTMLFormElement.prototype.submit.call(form);
		}
	}
	form.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(run, 250); });
	form.addEventListener('change', () => { typing = false; });
	form.addEventListener('submit', e => { e.preventDefault(); run(); });
	addEventListener('popstate', () => {
		clearTimeout(timer);
		request?.abort();
		const address = location.pathname + location.search;
		if (address === shown) return idle();
		const values = new URLSearchParams(location.search);
		for (const e of form.elements) {
			if (e.type === 'checkbox' || e.type === 'radio') e.checked = values.getAll(e.name).includes(e.value);
			else if (e.name) e.value = values.get(e.name) ?? '';
		}
		typing = false;
		load(address).catch(e => { if (e.name !== 'AbortError') location.reload(); });
	});
}

// Live figures. Closed while the page is hidden, because a server and a browser have few streams.
function live(root) {
	const state = root.querySelector('[data-live-state]');
	let source, timer, hiding, failures = 0, over = false;
	const tell = on => {
		if (!state) return;
		state.textContent = on ? 'live' : 'paused';
		state.classList.toggle('live', on);
	};
	const close = () => { clearTimeout(timer); source?.close(); source = null; tell(false); };
	const retry = () => {
		close();
		if (++failures < 12) timer = setTimeout(open, Math.min(1000 * 2 ** failures, 60000) * (1 + Math.random() / 2));
	};
	function open() {
		if (over || source) return;
		clearTimeout(timer);
		source = new EventSource(root.dataset.live);
		source.onmessage = e => {
			failures = 0;
			tell(true);
			const figures = JSON.parse(e.data);
			for (const value of all('[data-live-value]', root)) {
				const figure = figures[value.dataset.liveValue];
				if (Number.isFinite(figure)) value.textContent = number(figure);
			}
		};
		source.onerror = retry;
		source.addEventListener('end', e => {
			over = /"(unauthorized|deleted)"/.test(e.data);
			over ? close() : retry();
		});
	}
	document.addEventListener('visibilitychange', () => {
		clearTimeout(hiding);
		if (document.hidden) hiding = setTimeout(close, 30000);
		else { failures = 0; open(); }
	});
	addEventListener('pagehide', close);
	addEventListener('pageshow', e => { if (e.persisted) open(); });
	open();
}

// Charts. The table has the values; row i is bucket i.
function chart(figure) {
	const svg = figure.querySelector('svg.chart'), plot = svg.querySelector('svg');
	const readout = figure.querySelector('.chart-readout'), rows = all('tbody tr', figure);
	const { from, step, peak } = figure.dataset, hourly = step < 86400;
	const at = i => new Date((+from + i * step) * 1000);
	const name = i => format(at(i), hourly
		? { weekday: 'short', day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' }
		: { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' });
	const isOpen = i => 'open' in figure.dataset && i === rows.length - 1;
	if (hourly) {
		const short = { hour: 'numeric', minute: '2-digit' }, half = new Date().getTimezoneOffset() % 60;
		if (!half && new Intl.DateTimeFormat(undefined, short).resolvedOptions().hour12) delete short.minute;
		for (const axis of all('.axis', svg)) {
			let last;
			for (const text of all('text', axis)) {
				const date = at(text.dataset.bucket), day = format(date, { day: 'numeric', month: 'short' });
				text.textContent = format(date, short);
				if (day !== last) {
					last = day;
					text.append(drawn('tspan', { x: text.getAttribute('x'), dy: 16 }, day));
				}
			}
		}
		rows.forEach((row, i) => { row.cells[0].textContent = name(i) + (isOpen(i) ? ' (so far)' : ''); });
		const zone = new Intl.DateTimeFormat(undefined, { timeZoneName: 'short' }).formatToParts(at(0));
		for (const e of all('.chart-zone', figure)) e.textContent = '(' + zone.find(p => p.type === 'timeZoneName').value + ')';
	}
	if (!plot) return;
	const values = i => [...rows[i].cells].slice(1).map((cell, j) => {
		const text = cell.textContent.trim();
		return text + [' hit', ' visitor'][j] + (text === '1' ? '' : 's');
	}).join(', ');
	const band = drawn('rect', { class: 'band on', width: 100 / rows.length + '%', y: plot.getAttribute('y'), height: plot.getAttribute('height') });
	let current = -1;
	function show(i) {
		current = i;
		if (i < 0) {
			band.remove();
			readout.textContent = name(peak) + ': ' + values(peak) + ' (most hits)';
			return;
		}
		band.setAttribute('x', 100 * i / rows.length + '%');
		svg.append(band);
		readout.textContent = name(i) + ': ' + values(i) + (isOpen(i) ? ', so far' : '');
	}
	const point = e => {
		const box = svg.getBoundingClientRect();
		const i = Math.floor((e.clientX - box.left) / box.width * rows.length);
		if (i !== current && i >= 0 && i < rows.length) show(i);
	};
	svg.onpointerdown = svg.onpointermove = point;
	svg.addEventListener('pointerleave', e => { if (e.pointerType === 'mouse') show(-1); });
	figure.tabIndex = 0;
	figure.setAttribute('aria-label', figure.querySelector('figcaption').firstElementChild.textContent + '. Arrow keys read each value.');
	figure.addEventListener('blur', () => show(-1));
	figure.addEventListener('keydown', e => {
		const last = rows.length - 1;
		const to = {
			ArrowLeft: current < 0 ? last : Math.max(current - 1, 0), ArrowRight: Math.min(current + 1, last),
			Home: 0, End: last, Escape: -1,
		}[e.key];
		if (to === undefined || e.target !== figure || e.ctrlKey || e.altKey || e.metaKey) return;
		e.preventDefault();
		show(to);
	});
	show(-1);
}

// Forms that can be sent once. The buttons are disabled after the form's data was taken.
function release(form) {
	delete form.dataset.sent;
	for (const e of form.elements) if (e.dataset.waits) { e.disabled = false; delete e.dataset.waits; }
}
document.addEventListener('submit', e => {
	const form = e.target;
	if (e.defaultPrevented || !form.matches('[data-once]')) return;
	if (form.dataset.sent) return e.preventDefault();
	form.dataset.sent = 1;
	setTimeout(() => {
		for (const b of form.elements) if (b.type === 'submit' && !b.disabled) { b.disabled = true; b.dataset.waits = 1; }
	});
	setTimeout(release, 15000, form);
});
addEventListener('pageshow', () => all('form[data-once]').forEach(release));

// Import. Lines are cut as bytes, so that the server sees what the file has.
const maxLines = 1000, maxBytes = 4 << 20, maxRefused = 1000;

async function* linesOf(file) {
	const reader = file.stream().getReader();
	let rest = new Uint8Array(0);
	for (;;) {
		const { value, done } = await reader.read();
		if (done) break;
		const data = new Uint8Array(rest.length + value.length);
		data.set(rest);
		data.set(value, rest.length);
		let start = 0;
		for (let end; (end = data.indexOf(10, start)) >= 0; start = end + 1) yield data.subarray(start, end + 1);
		rest = data.slice(start);
		if (rest.length > maxBytes) break;
	}
	if (rest.length) yield rest;
}

async function sendLines(url, parts, signal, wait) {
	for (let tries = 1; ; tries++) {
		let problem = 'The server cannot be reached.', delay = Math.min(2 ** tries, 60), again = true;
		try {
			const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/x-ndjson', Accept: 'application/json' }, body: new Blob(parts), signal });
			if (answer.ok) return await answer.json();
			again = answer.status === 429 || answer.status === 503;
			delay = Math.min(+answer.headers.get('Retry-After') || delay, 120);
			const body = await answer.json().catch(() => ({}));
			problem = body.detail || body.title || 'The server answered ' + answer.status + '.';
		} catch { signal.throwIfAborted(); }
		if (!again || tries === 10) throw new Error(problem);
		wait(delay);
		await pause(delay * 1000, signal);
	}
}

function importFile(form) {
	const input = form.querySelector('input[type=file]');
	const bar = make('progress', { 'aria-label': 'Import' }), text = make('span', { role: 'status' });
	const cancel = make('button', { type: 'button', class: 'button' }, 'Cancel');
	const refused = make('ul', { class: 'refused' }), box = make('div', { class: 'progress' }, bar, text, cancel, refused);
	const warn = e => e.preventDefault();
	let stop;
	cancel.addEventListener('click', () => stop.abort());

	async function run(file) {
		const { signal } = stop, sums = { created: 0, existing: 0, failed: 0 };
		const url = new URL(form.dataset.import, location), owner = form.elements.owner?.value;
		if (owner) url.searchParams.set('owner', owner);
		const told = () => number(sums.created) + ' created, ' + number(sums.existing) + ' there already, ' + number(sums.failed) + ' refused.';
		let parts = [], numbers = [], size = 0, read = 0, line = 0;
		const flush = async () => {
			if (!parts.length) return;
			const answer = await sendLines(url, parts, signal, s => { text.textContent = 'Waiting ' + count(s, 'second') + '. ' + told(); });
			for (const key in sums) sums[key] += answer[key];
			for (const { index, problem } of answer.results) {
				if (problem && refused.childElementCount < maxRefused) refused.append(make('li', {}, 'Line ' + number(numbers[index]) + ': ' + (problem.detail || problem.title)));
			}
			bar.value = read;
			text.textContent = told();
			parts = [], numbers = [], size = 0;
		};
		try {
			for await (let bytes of linesOf(file)) {
				line++;
				if (bytes.length > maxBytes) throw new Error('Line ' + number(line) + ' is too long.');
				if (parts.length === maxLines || size + bytes.length > maxBytes) await flush();
				read += bytes.length;
				if (line === 1 && bytes[0] === 0xef && bytes[1] === 0xbb) bytes = bytes.subarray(3); // a byte order mark
				if (bytes.every(b => b === 32 || b === 9 || b === 13 || b === 10)) continue; // blank: the server does not count it
				parts.push(bytes);
				numbers.push(line);
				size += bytes.length;
			}
			await flush();
			bar.value = file.size;
			return (line ? 'Done. ' : 'The file is empty. ') + told();
		} catch (e) {
			return (signal.aborted ? 'Cancelled. ' : 'Stopped: ' + e.message + ' ') + told();
		}
	}

	form.addEventListener('submit', async e => {
		const file = input.files[0];
		if (!file || !file.stream) return;
		e.preventDefault();
		if (stop) return;
		stop = new AbortController();
		bar.max = file.size || 1;
		bar.value = 0;
		text.textContent = 'Reading';
		refused.replaceChildren();
		cancel.hidden = false;
		form.after(box);
		addEventListener('beforeunload', warn);
		const end = await run(file);
		removeEventListener('beforeunload', warn);
		text.textContent = end;
		cancel.hidden = true;
		stop = null;
	});
}

// Export. A large one is left to the browser, which writes it to the disk as it comes.
function exportLinks(link) {
	const text = make('span', { class: 'quiet', role: 'status' });
	let busy = false;
	link.addEventListener('click', async e => {
		if (!(+link.dataset.total < 1e5) || e.ctrlKey || e.metaKey || e.shiftKey) return;
		e.preventDefault();
		if (busy) return;
		busy = true;
		link.after(' ', text);
		const chunks = [];
		let lines = 0, bytes = 0;
		const told = () => count(lines, 'link') + ', ' + (bytes / 1e6).toFixed(1) + ' MB';
		try {
			const answer = await fetch(link.href);
			if (!answer.ok || answer.redirected) return location.assign(link.href); // shows the reason
			const reader = answer.body.getReader();
			for (let part; !(part = await reader.read()).done;) {
				chunks.push(part.value);
				bytes += part.value.length;
				for (const b of part.value) if (b === 10) lines++;
				text.textContent = told();
			}
			const url = URL.createObjectURL(new Blob(chunks, { type: 'application/x-ndjson' }));
			make('a', { href: url, download: link.download || 'links.ndjson' }).click();
			setTimeout(() => URL.revokeObjectURL(url), 60000);
			text.textContent = 'Done: ' + told();
		} catch {
			text.textContent = 'The export broke off after ' + told() + '. Please try again.';
		} finally {
			busy = false;
		}
	});
}

function enhance(root) {
	const each = (selector, f) => {
		for (const e of all(selector, root)) try { f(e); } catch (error) { console.error(error); } // the others go on
	};
	each('[data-copy]', e => { e.hidden = false; });
	each('time[datetime]', showTime);
	each('figure[data-from]', chart);
	each('form[data-search]', search);
	each('[data-live]', live);
	each('form[data-import]', importFile);
	each('a[data-export]', exportLinks);
}
document.body.append(announcer);
enhance(document);
})();
