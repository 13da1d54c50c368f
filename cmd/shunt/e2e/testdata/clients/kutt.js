// Everything that the package kutt of npm can do with links. Its stats() sends DELETE.
"use strict";
const assert = require("node:assert");
const Kutt = require("kutt").default;

const client = (key) => new Kutt().set("api", process.env.SHUNT_URL + "/api/v2").set("key", key);

(async () => {
	const kutt = client(process.env.SHUNT_TOKEN);
	assert.strictEqual(await kutt.health().check(), true);
	const links = kutt.links();

	const made = await links.create({ target: "https://a.example/kutt", description: "The description", expire_in: "2 minutes", customurl: "by-kutt" });
	assert.strictEqual(made.address, "by-kutt");
	assert.strictEqual(made.target, "https://a.example/kutt");
	assert.ok(new Date(made.expire_in) > new Date());
	await assert.rejects(links.create({ target: "https://a.example/other", customurl: "by-kutt" }), { message: "Custom URL is already in use." });
	await assert.rejects(links.create({ target: "javascript:alert(1)" }), /target/);
	await assert.rejects(links.create({}), { message: "Target is missing." });

	const drawn = await links.create({ target: "https://a.example/kutt-drawn", reuse: true });
	const again = await links.create({ target: "https://a.example/kutt-drawn", reuse: true });
	assert.strictEqual(again.id, drawn.id);

	const edited = await links.update(made.id, { target: "https://a.example/edited", address: "by-kutt", description: "Edited" });
	assert.strictEqual(edited.target, "https://a.example/edited");
	const stats = await links.stats(made.id);
	assert.strictEqual(stats.lastDay.views.length, 24);
	assert.strictEqual(stats.id, made.id);
	const listed = await links.list({ skip: 0, limit: 50 });
	assert.ok(listed.data.some((l) => l.id === made.id), "stats() has deleted the link");
	assert.strictEqual((await links.list({ skip: 1, limit: 1 })).data.length, 1);

	const path = await links.create({ target: "https://a.example/path", customurl: "a.b/c" });
	assert.strictEqual((await links.update(path.id, { target: "https://a.example/path2" })).address, "a.b/c");
	for (const link of [made, path]) {
		await links.remove(link.id);
		await assert.rejects(links.remove(link.id), (error) => error.cause.status === 404);
	}
	assert.strictEqual((await links.list({ limit: 50 })).total, listed.total - 1);
	await assert.rejects(client("wrong").links().list(), (error) => error.cause.status === 401);
})();
