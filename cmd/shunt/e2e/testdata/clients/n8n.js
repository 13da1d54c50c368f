// The YOURLS node of n8n, with n8n's own code for requests: a GET with a body. A stand-in gives it what a flow would.
"use strict";
const assert = require("node:assert");
const { Container } = require("@n8n/di");
const { OutboundHttp } = require("@n8n/backend-network");
const { Yourls } = require("n8n-nodes-base/dist/nodes/Yourls/Yourls.node.js");
const { yourlsApiRequest } = require("n8n-nodes-base/dist/nodes/Yourls/GenericFunctions.js");

const requests = Container.get(OutboundHttp).requests();

// flow is what a node sees of its flow: one item for each set of parameters.
const flow = (items, { continues = false, signature = process.env.SHUNT_TOKEN } = {}) => ({
	getInputData: () => items.map(() => ({ json: {} })),
	getNodeParameter: (name, i) => ({ resource: "url", additionalFields: {}, ...items[i] })[name],
	getCredentials: async () => ({ signature, url: process.env.SHUNT_URL }),
	getNode: () => ({ name: "Yourls", type: "n8n-nodes-base.yourls", typeVersion: 1, parameters: {} }),
	continueOnFail: () => continues,
	helpers: {
		request: (options) => requests.requestLegacy(options),
		returnJsonArray: (all) => all.map((json) => ({ json })),
	},
});

const run = async (items, options) => (await new Yourls().execute.call(flow(items, options)))[0].map((item) => item.json);
const one = async (item) => (await run([item]))[0];
const sums = async () => (await yourlsApiRequest.call(flow([]), "GET", {}, { action: "db-stats" }))["db-stats"];

(async () => {
	const before = await sums();
	const url = "https://a.example/n8n?a=1&b=2#c";
	const made = await one({ operation: "shorten", url, additionalFields: { keyword: "by-n8n", title: "The title" } });
	assert.strictEqual(made.statusCode, 200);
	assert.strictEqual(made.status, "success");
	assert.strictEqual(made.shorturl, process.env.SHUNT_URL + "/by-n8n");
	assert.deepStrictEqual([made.url.keyword, made.url.url, made.title], ["by-n8n", url, "The title"]);

	// a taken keyword: the flow ends with the message, or goes on with its next item
	const taken = { operation: "shorten", url: "https://a.example/other", additionalFields: { keyword: "by-n8n" } };
	await assert.rejects(run([taken]), (error) => {
		assert.strictEqual(error.constructor.name, "NodeApiError");
		assert.strictEqual(error.httpCode, "400");
		assert.match(JSON.stringify([error.message, error.description, error.messages]), /by-n8n already exists/);
		return true;
	});
	const both = await run([taken, { operation: "shorten", url: "https://a.example/n8n-next", additionalFields: { keyword: "n8n-next" } }], { continues: true });
	assert.strictEqual(typeof both[0].error, "string");
	assert.strictEqual(both[1].url.keyword, "n8n-next");

	const drawn = await one({ operation: "shorten", url: "https://a.example/n8n-drawn" });
	const again = await one({ operation: "shorten", url: "https://a.example/n8n-drawn" });
	assert.strictEqual(again.status, "success");
	assert.strictEqual(again.shorturl, drawn.shorturl);

	for (const shortUrl of ["by-n8n", made.shorturl]) {
		const expanded = await one({ operation: "expand", shortUrl });
		assert.deepStrictEqual([expanded.longurl, expanded.keyword, expanded.message], [url, "by-n8n", "success"]);
	}
	await assert.rejects(one({ operation: "expand", shortUrl: "n8n-missing" }), { httpCode: "404" });

	assert.strictEqual((await fetch(made.shorturl, { redirect: "manual" })).headers.get("location"), url);
	const stats = await one({ operation: "stats", shortUrl: made.shorturl });
	assert.deepStrictEqual([stats.shorturl, stats.url, stats.title, stats.clicks], [made.shorturl, url, "The title", "1"]);

	// none of all these calls has deleted a link
	const after = await sums();
	assert.strictEqual(Number(after.total_links), Number(before.total_links) + 3);
	assert.strictEqual(Number(after.total_clicks), Number(before.total_clicks) + 1);
	await assert.rejects(run([taken], { signature: "wrong" }), { httpCode: "403" });
})();
