// Everything that the package yourls of npm can do with a link, and what can go wrong.
"use strict";
const assert = require("node:assert");
const http = require("node:http");
const { promisify } = require("node:util");
const Yourls = require("yourls");

const server = new URL(process.env.SHUNT_URL);
http.globalAgent.defaultPort = Number(server.port); // the client has no port of its own

const call = (client, method, ...args) => promisify(client[method].bind(client))(...args);

(async () => {
	const client = new Yourls("http://" + server.hostname, process.env.SHUNT_TOKEN);
	const made = await call(client, "shorten", "https://a.example/yourls?a=1&b=2");
	assert.strictEqual(made.status, "success");
	assert.strictEqual(made.statusCode, 200);
	assert.strictEqual(made.url.url, "https://a.example/yourls?a=1&b=2");
	const again = await call(client, "shorten", "https://a.example/yourls?a=1&b=2");
	assert.strictEqual(again.shorturl, made.shorturl);

	const named = await call(client, "vanity", "https://a.example/named", "by-yourls");
	assert.strictEqual(named.url.keyword, "by-yourls");
	const taken = await call(client, "vanity", "https://a.example/other", "by-yourls");
	assert.strictEqual(taken.status, "fail");
	assert.strictEqual(taken.code, "error:keyword");

	const expanded = await call(client, "expand", named.shorturl);
	assert.strictEqual(expanded.longurl, "https://a.example/named");
	assert.strictEqual((await call(client, "expand", "nothing")).errorCode, "404");
	const stats = await call(client, "urlstats", "by-yourls");
	assert.strictEqual(stats.link.clicks, "0");

	const refused = await call(new Yourls("http://" + server.hostname, "wrong"), "shorten", "https://a.example/");
	assert.strictEqual(refused.errorCode, "403");
})();
