'use strict';
/*
What the pages gain by script. Each works without it too. Texts of others are only ever set as text.

on                      does                                                        and uses
[data-copy=ID]          copies the text or value of #ID, without ID that of [id^=short-] in its row; is [hidden] without script
time[datetime]          local time, UTC in its title; a date without a time stays   [data-relative]: "5 minutes ago"
input[data-utc=ID]      a datetime-local, sent in UTC, is typed in local time   #ID names the zone
input[data-day=ID]      a date is sent with its end in local time               #ID names the zone
form[data-search]       sends itself as one types, and replaces #results            #results[data-say]: "12 links", is announced
[data-live=URL]         shows events {"hits":n,"unique":n}                          [data-live-value=hits|unique], [data-live-state]; [data-newer] is shown once hits differ
figure[data-from]       svg.chart: values by pointer and arrow keys, local hours    .chart-readout, .chart-zone, the table (api/chart); [data-zone]: whose hours
form[data-once]         can be sent once; leaving it asks first, once it is changed
select[data-template]   fills the fields utm_… of its form                          option[data-source], [data-medium] …
input[data-tags]        suggests for the last of several tags                       its datalist
details.menu            closes by Escape, and by a click elsewhere
.cut                    has its whole text as its title, if it is cut off
form[data-chosen]       is shown once a box of it is ticked; says how many are     [data-pick-all]: a box for all, [data-count]
form[data-import=URL]   sends an NDJSON file in parts: input[type=file], [name=owner]
a[data-go]              Ctrl+K opens what its address answers to words in a window over the page    #results of the answer
a[data-keys]            ? opens its page in such a window   [data-single-keys]: a box that turns keys without Ctrl off
a[data-earlier], a[data-later]          the arrow keys press them
a[data-busy]                            shows that its page is being fetched
a[data-export]          counts lines while it loads                                 data-total: links, from 100,000 on the browser loads it
*/
(() => {
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
// The server puts the texts of a page's language here; without one a text is as it stands in this file.
const words = {};
const said = (text, ...values) => (words[text] ?? text).replace(/\{(\d)!?\}/g, (hole, i) => values[i]);
// Dates are in the language of the page: as the visitor writes them, if that is a kind of it.
const { lang } = document.documentElement, own = new Intl.DateTimeFormat().resolvedOptions().locale;
const locale = own.split('-')[0] === lang ? own : lang === 'en' ? 'en-GB' : lang;
const number = n => Number(n).toLocaleString(lang);
const counted = (n, one, many) => number(n) + ' ' + said(n === 1 ? one : many);
const sentence = text => text[0].toUpperCase() + text.slice(1) + (text.endsWith('.') ? '' : '.');

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

document.addEventListener('click', e => {
	const link = e.target.closest('a[data-busy]');
	if (!link || e.button || e.ctrlKey || e.metaKey || e.shiftKey) return;
	link.classList.add('busy');
	link.setAttribute('aria-busy', 'true');
});
addEventListener('pageshow', () => all('.busy[data-busy]').forEach(link => {
	link.classList.remove('busy');
	link.removeAttribute('aria-busy');
}));

document.addEventListener('click', async e => {
	const button = e.target.closest('[data-copy]');
	const source = button && (document.getElementById(button.dataset.copy) ?? button.closest('tr')?.querySelector('[id^=short-]'));
	if (!source) return;
	const told = await copy(source) ? said('Copied') : said('Press Ctrl+C');
	button.dataset.label ??= button.textContent;
	button.textContent = told;
	say(told);
	clearTimeout(button.timer);
	button.timer = setTimeout(() => { button.textContent = button.dataset.label; say(''); }, 2000);
});

// Menus close by Escape, and by a click elsewhere.
const menus = () => all('details.menu[open]');
document.addEventListener('click', e => menus().forEach(menu => { if (!menu.contains(e.target)) menu.open = false; }));
document.addEventListener('keydown', e => {
	if (e.key === 'Escape') menus().forEach(menu => {
		if (menu.contains(document.activeElement)) menu.querySelector('summary').focus();
		menu.open = false;
	});
});

// A line that is cut off. That is known once it is shown, so the list does not send each text twice.
document.addEventListener('pointerover', e => {
	const line = e.target.closest('.cut');
	if (line && !line.title && line.scrollWidth > line.clientWidth) line.title = line.textContent.trim();
});

// Time.
const units = [['year', 31536e3], ['month', 2592e3], ['day', 86400], ['hour', 3600], ['minute', 60]];
const format = (date, options) => date.toLocaleString(locale, options);

function ago(date) {
	const seconds = (date - Date.now()) / 1000;
	const [unit, size] = units.find(u => Math.abs(seconds) >= u[1]) ?? ['second', Infinity];
	return new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(Math.trunc(seconds / size) + 0, unit);
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

// A time that a form sends in UTC. One that is not touched is sent as it was, whatever its zone does
// in that hour.
function utcTime(input) {
	const was = input.value, date = new Date(was + 'Z'), sent = make('input', { type: 'hidden', name: input.name, value: was });
	const text = d => d.toISOString().slice(0, d.getUTCSeconds() ? 19 : 16);
	if (was && isNaN(date)) return;
	if (was) input.value = text(new Date(date - date.getTimezoneOffset() * 60000));
	const shown = input.value;
	if (was && !shown) return void (input.value = was); // the local time is in the year 10000, which no field can show
	input.removeAttribute('name');
	input.after(sent);
	input.addEventListener('input', () => {
		const typed = new Date(input.value);
		sent.value = input.value === shown ? was : isNaN(typed) ? input.value : text(typed);
	});
	document.getElementById(input.dataset.utc).textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// A date that ends where the visitor is: the form also sends NAME_end, the last second of that day.
function localDay(input) {
	input.form.addEventListener('formdata', e => {
		const last = new Date(input.value + 'T23:59:59');
		if (!isNaN(last)) e.formData.set(input.name + '_end', last.toISOString().slice(0, 19) + 'Z');
	});
	document.getElementById(input.dataset.day).textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
}

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
		const found = all('tbody tr', fresh).length;
		say(fresh.dataset.say ?? counted(found, 'result', 'results'));
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
	form.addEventListener('input', () => { clearTimeout(timer); timer = setTimeout(() => form.checkValidity() && run(), 250); });
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

// Live figures. A browser has six connections to a server, so all of its pages share one stream: that of the page
// that was looked at last. Pages of the same figures show its events, others wait until somebody looks at them. A
// hidden page has no stream. The page with the stream says all the time that it has it; once nothing was heard for
// long, because that page crashed or the server is gone, each of the others tries it itself.
function live(root) {
	const url = root.dataset.live;
	const state = root.querySelector('[data-live-state]'), hits = root.querySelector('[data-live-value=hits]');
	const drawn = hits && +hits.textContent.replace(/\D/g, ''); // as the rest of the page has them
	const beatEvery = 4000, silence = 12000;
	let source, timer, pulse, channel, rank = 0, fed = false, failures = 0, over = false;
	const tell = on => {
		if (!state) return;
		state.textContent = on ? said('live') : said('paused');
		state.classList.toggle('live', on);
	};
	const show = text => {
		const figures = JSON.parse(text);
		tell(true);
		if (hits) for (const e of all('[data-newer]')) e.hidden = figures.hits === drawn;
		for (const value of all('[data-live-value]', root)) {
			const figure = figures[value.dataset.liveValue];
			if (Number.isFinite(figure)) value.textContent = number(figure);
		}
	};
	const close = () => { clearTimeout(timer); clearInterval(pulse); source?.close(); source = null; fed = false; tell(false); };
	const listen = () => {
		clearTimeout(timer);
		timer = setTimeout(() => { close(); if (failures < 12) open(); }, silence + Math.random() * 1000);
	};
	const retry = () => {
		close();
		if (++failures < 12) timer = setTimeout(open, Math.min(1000 * 2 ** failures, 60000) * (1 + Math.random() / 2));
	};
	function open() {
		if (over || source || fed || document.hidden) return;
		clearTimeout(timer);
		rank = Date.now() + Math.random();
		channel?.postMessage({ rank });
		source = new EventSource(url);
		source.onmessage = e => { failures = 0; show(e.data); channel?.postMessage({ url, text: e.data }); };
		source.onerror = retry;
		pulse = setInterval(() => source.readyState === EventSource.OPEN && channel?.postMessage({ beat: true }), beatEvery);
		source.addEventListener('end', e => {
			const { reason } = JSON.parse(e.data);
			over = reason === 'unauthorized' || reason === 'deleted';
			if (over) leave();
			else if (reason === 'time') { close(); open(); } else retry();
		});
	}
	// Of two pages that open at once, the one with the lower rank gives way.
	function hear({ data }) {
		if (data.rank) {
			if (data.rank < rank) channel.postMessage({ rank });
			else { rank = 0; close(); listen(); }
		} else if (data.free) {
			close();
			timer = setTimeout(open, Math.random() * 500);
		} else if (!rank) {
			listen();
			if (data.url === url) {
				fed = true;
				show(data.text);
			}
		}
	}
	const leave = () => {
		if (rank) channel?.postMessage({ free: true });
		channel?.close();
		channel = null;
		rank = 0;
		close();
	};
	const enter = () => {
		if (document.hidden) return;
		if (globalThis.BroadcastChannel && !channel) {
			channel = new BroadcastChannel('live');
			channel.onmessage = hear;
		}
		failures = 0;
		open();
	};
	document.addEventListener('visibilitychange', () => document.hidden ? leave() : enter());
	addEventListener('focus', enter);
	addEventListener('pagehide', leave);
	addEventListener('pageshow', enter);
	tell(false);
	enter();
}

// Charts. The table has the values; row i is bucket i.
function chart(figure) {
	const { from, step, peak, open } = figure.dataset, hourly = step < 86400, one = q => figure.querySelector(q);
	const svg = one('svg.chart'), plot = svg.querySelector('svg'), readout = one('.chart-readout');
	const rows = all('tbody tr', figure), last = rows.length - 1;
	const day = { day: 'numeric', month: 'short' }, hour = { hour: 'numeric', minute: '2-digit' }, timeZone = figure.dataset.zone;
	const at = (i, options) => new Date((+from + i * step) * 1000).toLocaleString(locale, { timeZone, ...options });
	const name = i => at(i, { ...day, weekday: 'short', ...(hourly ? hour : { year: 'numeric', timeZone: 'UTC' }) });
	const soFar = i => open !== undefined && i === last;
	const values = i => [1, 2].filter(j => rows[i].cells[j]).map(j => (n => j < 2 ? counted(n, 'hit', 'hits') : counted(n, 'visitor', 'visitors'))(+rows[i].cells[j].textContent.replace(/\D/g, ''))).join(', ');

	// The server's ticks are at round hours of UTC. As many are put at round hours of the visitor.
	const clock = new Intl.DateTimeFormat('en', { hour: 'numeric', hourCycle: 'h23', timeZone }), hourAt = i => +clock.format(new Date((+from + i * step) * 1000));
	function localTicks(axis) {
		const old = all('text', axis), every = old[1] ? old[1].dataset.bucket - old[0].dataset.bucket : 24;
		const y = old[0].getAttribute('y'), least = axis.classList.contains('dense') ? 560 : 240, end = 15; // pixels, as in api/chart
		let before, midnights = 0;
		axis.replaceChildren();
		for (let i = 0; i <= last; i++) {
			const center = (i + .5) / rows.length, date = at(i, day), x = 100 * center + '%';
			const skipped = every < 24 ? hourAt(i) % every : hourAt(i) || midnights++ % Math.round(every / 24);
			if (skipped || (1 - center) * least < end) continue;
			const text = drawn('text', { x, y }, every < 24 ? at(i, hour).replace(/:00(?=\s[AP]M)/i, '') : date);
			if (every < 24 && date !== before) text.append(drawn('tspan', { x, dy: 16 }, before = date));
			axis.append(text);
		}
	}
	if (hourly) {
		for (const axis of all('.axis', svg)) localTicks(axis);
		rows.forEach((row, i) => { row.cells[0].textContent = name(i) + (soFar(i) ? ' (' + said('so far') + ')' : ''); });
		const zone = new Intl.DateTimeFormat(locale, { timeZoneName: 'short', timeZone }).formatToParts(new Date(from * 1000)).find(p => p.type === 'timeZoneName');
		for (const e of all('.chart-zone', figure)) e.textContent = '(' + zone.value + ')';
	}
	if (!plot) return;

	const band = drawn('rect', { class: 'band on', width: 100 / rows.length + '%', y: plot.getAttribute('y'), height: plot.getAttribute('height') });
	let current = -1;
	const show = i => {
		current = i;
		band.setAttribute('x', 100 * i / rows.length + '%');
		i < 0 ? band.remove() : svg.append(band);
		const shown = i < 0 ? peak : i;
		readout.replaceChildren(make('bdi', {}, name(shown)), ': ' + values(shown) + (i < 0 ? ' (' + said('most hits') + ')' : soFar(i) ? ', ' + said('so far') : ''));
	};
	svg.onpointerdown = svg.onpointermove = e => {
		const box = svg.getBoundingClientRect(), i = Math.floor((e.clientX - box.left) / box.width * rows.length);
		if (i !== current && i >= 0 && i <= last) show(i);
	};
	const openDay = () => { const link = current < 0 ? null : rows[current].querySelector('a'); if (link) location = link.href; };
	svg.onclick = e => { if (e.pointerType === 'mouse') openDay(); };
	svg.onpointerleave = e => { if (e.pointerType === 'mouse') show(-1); };
	figure.tabIndex = 0;
	figure.ariaLabel = one('figcaption').firstElementChild.textContent + '. ' + said('Arrow keys read each value.');
	figure.onblur = () => show(-1);
	figure.onkeydown = e => {
		const to = {
			ArrowLeft: current < 0 ? last : Math.max(current - 1, 0), ArrowRight: Math.min(current + 1, last), Home: 0, End: last, Escape: -1,
		}[e.key];
		if (e.key === 'Enter' && e.target === figure) openDay();
		if (to === undefined || e.target !== figure || e.ctrlKey || e.altKey || e.metaKey) return;
		e.preventDefault();
		show(to);
	};
	show(-1);
}

// Forms that can be sent once. A button that is disabled too early is not in the form's data.
const release = form => {
	delete form.dataset.sent;
	for (const b of all('[data-waits]', form)) b.disabled = b.toggleAttribute('data-waits');
};
document.addEventListener('submit', e => {
	const form = e.target;
	if (e.defaultPrevented || !form.matches('[data-once]')) return;
	if (form.dataset.sent) return e.preventDefault();
	form.dataset.sent = 1;
	setTimeout(() => all('button:enabled', form).forEach(b => { b.disabled = b.toggleAttribute('data-waits'); }));
	setTimeout(release, 15000, form); // it was stopped, or answered by a download
});
addEventListener('pageshow', () => all('form[data-once]').forEach(release));

// Leaving a form asks first if something was typed into it, or was kept from before an error or signing in again.
// A link of the form itself says that it is cancelled.
function keepsTyped(form) {
	const typed = () => [...new FormData(form)].map(([name, value]) => name + '=' + (value.name ?? value)).join('\n');
	const drawn = form.querySelector('[aria-invalid], [role=alert]') ? null : typed(), warn = e => e.preventDefault();
	const free = () => removeEventListener('beforeunload', warn);
	const change = () => typed() === drawn ? free() : addEventListener('beforeunload', warn);
	form.addEventListener('input', change);
	form.addEventListener('change', change);
	form.addEventListener('click', e => { if (e.target.closest('a')) free(); });
	document.addEventListener('submit', e => { if (e.target === form && !e.defaultPrevented) free(); });
	change();
}

// Import. Lines are cut as bytes, so that the server sees what the file has.
const ours = /^\ufeff?\s*(\{[^\n[{]*"code"\s*:|$)/; // lines of links in JSON, or nothing
const maxLines = 1000, maxBytes = 4 << 20, maxRefused = 1000;

const partBytes = 1 << 20;

async function countLines(file, signal) {
	let lines = 1;
	for (const reader = file.stream().getReader(); ;) {
		const part = await reader.read();
		signal.throwIfAborted();
		if (part.done) return lines;
		for (const b of part.value) if (b === 10) lines++;
	}
}

// linesFromEnd yields the lines from the last to the first, without their ends: exports have the
// newest link first, and lists show the link that was made last first.
async function* linesFromEnd(file) {
	let rest = new Uint8Array(0);
	for (let start = file.size; start > 0 && rest.length <= maxBytes;) {
		const end = start;
		start = Math.max(0, end - partBytes);
		const part = new Uint8Array(await file.slice(start, end).arrayBuffer()), data = new Uint8Array(part.length + rest.length);
		data.set(part);
		data.set(rest, part.length);
		let to = data.length, at;
		for (; to > 0 && (at = data.lastIndexOf(10, to - 1)) >= 0; to = at) yield data.subarray(at + 1, to);
		rest = data.slice(0, to);
	}
	yield rest;
}

async function sendLines(url, lines, signal, waits) {
	for (let tries = 1; ; tries++) {
		let problem = said('The server cannot be reached.'), again = true, delay = 2 ** tries;
		try {
			const answer = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/x-ndjson' }, body: new Blob(lines), signal });
			if (answer.ok) return await answer.json();
			again = answer.status === 429 || answer.status === 503;
			delay = +answer.headers.get('Retry-After') || delay;
			problem = answer.status === 401 ? said('You are not signed in any more.') :
				(await answer.json().catch(() => 0)).detail ?? said('The server answered {0}.', answer.status);
		} catch { signal.throwIfAborted(); }
		if (!again || tries === 9) throw new Error(problem);
		waits(delay = Math.min(delay, 60));
		await pause(delay * 1000, signal);
	}
}

// renewExport shows how many links there are after an import.
async function renewExport() {
	const answer = await fetch(location.pathname, { headers: { Accept: 'text/html' } });
	const part = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('export-part');
	if (!part) return;
	document.getElementById('export-part').replaceWith(part);
	enhance(part);
}

function importFile(form) {
	const bar = make('progress', { 'aria-label': said('Import') }), text = make('span', { role: 'status' });
	const cancel = make('button', { type: 'button', class: 'button' }, said('Cancel')), refused = make('ul');
	const box = make('div', { class: 'progress' }, bar, text, cancel, refused), warn = e => e.preventDefault();
	let stop;
	cancel.onclick = () => stop.abort();

	async function run(file) {
		const { signal } = stop, url = new URL(form.dataset.import, location), owner = form.elements.owner?.value;
		const sums = { created: 0, existing: 0, failed: 0 };
		const told = () => said('{0} created, {1} there already, {2} refused.', number(sums.created), number(sums.existing), number(sums.failed));
		let lines, numbers, size, read = 0, n;
		const begin = () => { lines = []; numbers = []; size = 0; };
		const flush = async () => {
			if (!size) return;
			const answer = await sendLines(url, lines, signal, s => { text.textContent = said('Waiting {0}.', counted(s, 'second', 'seconds')) + ' ' + told(); });
			for (const key in sums) sums[key] += answer[key];
			for (const { index, problem } of answer.results) {
				if (problem && refused.childElementCount < maxRefused) refused.prepend(make('li', {}, said('Line {0}: {1}', number(numbers[index]), sentence(problem.code === 'malformed_json' ? said('is not a link as an export writes it') : problem.detail))));
			}
			bar.value = read;
			text.textContent = told();
			begin();
		};
		if (owner) url.searchParams.set('owner', owner);
		if (form.elements.create_domains?.checked) url.searchParams.set('create_domains', 'true');
		begin();
		try {
			n = await countLines(file, signal) + 1;
			for await (let line of linesFromEnd(file)) {
				n--;
				if (line.length >= maxBytes) throw new Error(said('Line {0} is too long.', number(n)));
				if (numbers.length === maxLines || size + line.length >= maxBytes) await flush();
				read += line.length + 1;
				if (n === 1 && line[0] === 0xef) line = line.subarray(3); // a byte order mark
				if (line.every(b => b === 32 || b === 9 || b === 13 || b === 10)) continue; // the server does not count it
				lines.push(line, '\n');
				numbers.push(n);
				size += line.length + 1;
			}
			await flush();
			bar.value = bar.max;
			return said('Done.') + ' ' + told();
		} catch (e) {
			return (signal.aborted ? said('Cancelled.') : said('Stopped: {0}', sentence(e.message))) + ' ' + told();
		}
	}

	form.addEventListener('submit', async e => {
		const file = form.querySelector('input[type=file]').files[0];
		if (!file) return;
		e.preventDefault();
		if (stop) return;
		stop = new AbortController();
		if (!ours.test(await file.slice(0, 4096).text())) { // the server reads what other systems write
			stop = null;
			return form.submit();
		}
		bar.max = file.size || 1;
		bar.value = 0;
		text.textContent = said('Reading');
		refused.replaceChildren();
		text.nextElementSibling.matches('a') && text.nextElementSibling.remove();
		cancel.hidden = false;
		form.after(box);
		addEventListener('beforeunload', warn);
		text.textContent = await run(file);
		stop = null; // from now on the form may be sent again
		removeEventListener('beforeunload', warn);
		const owner = form.elements.owner?.value;
		const links = make('a', { class: 'underlined', href: '/_/links' + (owner ? '?owner=' + owner : '') }, said('Show the links'));
		text.after(links);
		if (document.activeElement === cancel) links.focus();
		cancel.hidden = true; // there is nothing left to cancel
		await renewExport().catch(() => {}); // it is as it was
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
		const told = () => counted(lines, 'link', 'links') + ', ' + (bytes / 1e6).toLocaleString(lang, { maximumFractionDigits: 1 }) + ' MB';
		try {
			const answer = await fetch(link.href);
			if (answer.status === 401) return location.reload(); // to sign in
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
			text.textContent = said('Done: {0}', told());
		} catch {
			text.textContent = said('The export broke off after {0}. Please try again.', told());
		} finally {
			busy = false;
		}
	});
}

// Templates. The fields have the values then, and what somebody empties stays empty.
function template(select) {
	select.removeAttribute('name');
	select.addEventListener('change', () => {
		const values = select.selectedOptions[0].dataset;
		for (const key in values) select.form.elements['utm_' + key].value = values[key];
	});
}

// Tags. A list suggests whole values, so each has what is typed before the last comma.
function lastTag(input) {
	const list = input.list, tags = list ? [...list.options].map(o => o.value) : [];
	if (list) input.addEventListener('input', () => {
		const before = input.value.slice(0, input.value.lastIndexOf(',') + 1), typed = before.split(',').map(t => t.trim());
		list.replaceChildren(...tags.filter(t => !typed.includes(t)).map(t => make('option', { value: before && before + ' ' + t || t })));
	});
}

// Links that are selected. Their boxes are in rows, and belong to the form by its id.
function chosen(form) {
	const boxes = [...form.elements].filter(e => e.type === 'checkbox'), whole = document.querySelector('[data-pick-all]');
	const show = () => {
		const n = boxes.filter(b => b.checked).length;
		form.hidden = n === 0;
		form.querySelector('[data-count]').textContent = said('{0} selected', counted(n, 'link', 'links'));
		whole.checked = n === boxes.length;
		whole.indeterminate = n > 0 && n < boxes.length;
		return n;
	};
	const tell = () => say(said('{0} selected', counted(show(), 'link', 'links')));
	whole.hidden = false;
	whole.addEventListener('change', () => { for (const b of boxes) b.checked = whole.checked; tell(); });
	for (const b of boxes) b.addEventListener('change', tell);
	addEventListener('pageshow', show); // a browser that goes back ticks them again
	show();
}

function enhance(root) {
	const each = (selector, f) => {
		for (const e of all(selector, root)) try { f(e); } catch (error) { console.error(error); } // the others go on
	};
	each('[data-copy]', e => { e.hidden = false; });
	each('time[datetime]', showTime);
	each('figure[data-from]', chart);
	each('input[data-utc]', utcTime);
	each('input[data-day]', localDay);
	each('select[data-template]', template);
	each('input[data-tags]', lastTag);
	each('form[data-chosen]', chosen);
	each('form[data-search]', search);
	each('[data-live]', live);
	each('form[data-once]', keepsTyped);
	each('form[data-import]', importFile);
	each('a[data-export]', exportLinks);
	each('[data-single-keys]', singleKeys);
}
// Windows over the page. Each shows a part of another page; what is announced while it is open must be in it.
async function partOf(address, selector, signal) {
	const answer = await fetch(address, { signal, headers: { Accept: 'text/html' } });
	const part = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector(selector);
	signal?.throwIfAborted();
	if (!part) throw new Error('another page'); // somebody has signed out, for example
	return part;
}

function windowOver(link, ...content) {
	const close = make('button', { type: 'button', class: 'button small' }, '×');
	const dialog = make('dialog', { 'aria-label': link.ariaLabel || link.textContent }, close, ...content);
	close.ariaLabel = said('Close');
	close.onclick = () => dialog.close();
	dialog.onclick = e => { if (e.target === dialog) dialog.close(); };
	dialog.onclose = () => { document.body.append(announcer); dialog.remove(); };
	document.body.append(dialog);
	dialog.append(announcer);
	dialog.showModal();
	return dialog;
}

function palette(link) {
	const input = make('input', { type: 'text', 'aria-label': link.ariaLabel, placeholder: link.ariaLabel, autocomplete: 'off', spellcheck: 'false' }), found = make('div', { class: 'found' });
	const dialog = windowOver(link, input, found);
	let request, timer, shown;
	const show = async () => {
		clearTimeout(timer);
		request?.abort();
		request = new AbortController();
		const q = input.value;
		try {
			const part = await partOf(link.pathname + '?' + new URLSearchParams({ q, at: location.pathname + location.search }), '#results', request.signal);
			found.replaceChildren(...part.childNodes);
			shown = q;
			say(part.dataset.say);
		} catch (e) {
			if (e.name !== 'AbortError') location = link.href;
		}
	};
	input.oninput = () => { clearTimeout(timer); timer = setTimeout(show, 150); };
	dialog.addEventListener('close', () => { clearTimeout(timer); request?.abort(); });
	dialog.onkeydown = async e => {
		const entries = all('a', found), at = entries.indexOf(document.activeElement), to = { ArrowDown: at + 1, ArrowUp: at - 1 }[e.key];
		if (to !== undefined) {
			e.preventDefault();
			(to < 0 ? input : entries[to] ?? entries[at])?.focus();
		} else if (e.key === 'Enter' && e.target === input && !e.isComposing) {
			e.preventDefault();
			if (shown !== input.value) await show();
			if (shown === input.value) found.querySelector('a')?.click();
		}
	};
	input.focus();
	show();
}

const withoutKeys = () => { try { return localStorage.getItem('keys') === 'off'; } catch { return false; } };
function singleKeys(e) {
	const box = e.querySelector('input');
	e.hidden = false;
	box.checked = !withoutKeys();
	box.onchange = () => { try { localStorage.setItem('keys', box.checked ? 'on' : 'off'); } catch { box.checked = true; } };
}

async function help(link) {
	try {
		const part = await partOf(link.href, '#main');
		part.removeAttribute('id');
		const dialog = windowOver(link, ...part.childNodes);
		all('[data-single-keys]', dialog).forEach(singleKeys);
	} catch { location = link.href; }
}
for (const [name, open] of [['go', palette], ['keys', help]]) {
	document.querySelector('a[data-' + name + ']')?.addEventListener('click', e => {
		if (e.ctrlKey || e.metaKey || e.shiftKey) return;
		e.preventDefault();
		open(e.currentTarget);
	});
}

// Keys. Each presses what can be clicked. What is typed into a field is text.
const press = selector => { const e = document.querySelector(selector); e?.click(); return e; };
const into = (selector, otherwise) => {
	const e = document.querySelector(selector);
	e ? e.focus() : location.assign(otherwise);
	return true;
};
const keys = {
	'/': () => into('form[data-search] input[type=search]', '/_/links#q'),
	n: () => into('form:is([action="/_/links"], [action="/_/links/new"])[method=post] input[name=url]', '/_/links/new'),
	c: () => (document.activeElement.closest('tr') ?? document.querySelector('tr:hover') ?? document.querySelector('main')).querySelector('[data-copy]:not([hidden])')?.click() ?? true,
	ArrowLeft: () => press('a[data-earlier]'),
	ArrowRight: () => press('a[data-later]'),
	'?': () => press('a[data-keys]'),
};
document.addEventListener('keydown', e => {
	if (e.defaultPrevented || e.isComposing || !document.querySelector('a[data-go]') || document.querySelector('dialog[open]')) return;
	const control = (e.ctrlKey || e.metaKey) && !e.altKey && !e.shiftKey;
	if (control && e.key.toLowerCase() === 'k') {
		e.preventDefault();
		press('a[data-go]');
	} else if (!(e.ctrlKey || e.metaKey || e.altKey || withoutKeys() || e.target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]')) && Object.hasOwn(keys, e.key) && keys[e.key]()) e.preventDefault();
});
if (location.hash === '#q') document.getElementById('q')?.focus();

// The zone of the visitor's days, for the next page of figures.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone, told = document.body.dataset.zone;
if (told !== undefined && told !== zone) fetch('/_/zone', { method: 'POST', body: new URLSearchParams({ zone }), keepalive: true });

document.body.append(announcer);
enhance(document);
})();
