// Everything that the package yourls-api of npm can do, which is for browsers: by JSONP, and by POST with a form.
"use strict";
const assert = require("node:assert");

// What a browser has: scripts that are loaded, and requests.
global.window = global;
const head = {
	appendChild(script) {
		script.parentNode = head;
		fetch(script.src).then(async (r) => {
			assert.match(r.headers.get("content-type"), /^application\/javascript/);
			assert.strictEqual(r.headers.get("x-content-type-options"), "nosniff");
			(0, eval)(await r.text());
		});
	},
	removeChild() {},
};
global.document = {
	createElement: () => ({ setAttribute(name, value) { this[name] = value; } }),
	getElementsByTagName: () => [head],
};
global.XMLHttpRequest = class {
	open(method, url) { this.request = [url, { method, headers: {} }]; }
	setRequestHeader(name, value) { this.request[1].headers[name] = value; }
	send(body) {
		this.request[1].body = body;
		fetch(...this.request).then(async (r) => {
			this.responseText = await r.text();
			this.readyState = 4;
			this.onreadystatechange();
		});
	}
};
const yourls = require("yourls-api");

const call = (on, method, ...args) => new Promise((resolve) => on[method](...args, (result, response) => resolve({ result, response })));

(async () => {
	for (const options of [{ format: "jsonp", method: "GET" }, { format: "json", method: "POST" }, { format: "json", method: "GET" }]) {
		const name = `by-${options.format}-${options.method}`;
		yourls.connect(process.env.SHUNT_URL + "/yourls-api.php", { signature: process.env.SHUNT_TOKEN }, options);
		const made = await call(yourls, "shorten", "https://a.example/" + name, { keyword: name, title: "The title" });
		assert.strictEqual(made.result.url.keyword, name);
		assert.strictEqual(made.result.title, "The title");
		const taken = await call(yourls, "shorten", "https://a.example/other", name);
		assert.strictEqual(taken.response.code, "error:keyword");
		const drawn = await call(yourls, "shorten", "https://a.example/drawn");
		const again = await call(yourls, "shorten", "https://a.example/drawn");
		assert.strictEqual(again.result.shorturl, drawn.result.shorturl);

		const link = yourls.url(made.result.shorturl);
		assert.strictEqual((await call(link, "expand")).result.longurl, "https://a.example/" + name);
		assert.strictEqual((await call(link, "stats")).result.clicks, "0");
		const top = await call(yourls, "stats", { filter: "top", limit: 2 });
		assert.strictEqual(top.result.links.length, 2);
		const sums = await call(yourls.db, "stats");
		assert.ok(Number(sums.result.total_links) >= 2);
		assert.match((await call(yourls, "version")).result.version, /^\d+\.\d+/);

		yourls.connect(process.env.SHUNT_URL + "/yourls-api.php", { signature: "wrong" }, options);
		assert.strictEqual((await call(yourls, "version")).response.errorCode, "403");
	}
})();
