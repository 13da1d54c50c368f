// Makes, lists, edits and deletes links through the types that openapi-typescript makes of
// openapi.json. make openapi-clients puts those into shunt.ts, compiles this with tsc --strict and runs
// it. At the first surprise it throws.

import assert from "node:assert/strict";
import process from "node:process";
import createClient from "openapi-fetch";
import type { components, paths } from "./shunt.js";

type Link = components["schemas"]["Link"];
type LinkPatch = components["schemas"]["LinkPatch"];

const alias = "ts-client";
const target = "https://example.org/a/long/address?utm_source=print";
const expiry = "2037-01-01T00:00:00Z";

// Figures come as JSON or as CSV; with the second type, data and error are those of JSON alone.
const api = createClient<paths, "application/json" | "application/problem+json">({
  baseUrl: process.env["SHUNT_URL"] + "/api/v1",
  headers: { Authorization: "Bearer " + process.env["SHUNT_TOKEN"] },
});

// Compiles only if the states are a closed set, and these are all of them.
function isUsable(state: Link["state"]): boolean {
  switch (state) {
    case "active":
      return true;
    case "scheduled":
    case "expired":
    case "exhausted":
    case "blocked":
    case "disabled":
    case "deleted":
      return false;
    default:
      return state satisfies never;
  }
}

async function create(): Promise<string> {
  const { data, error, response } = await api.POST("/shorten", {
    body: { url: target, alias, redirect_status: 301, expires_at: expiry, max_hits: 2 ** 40, tags: ["print"], title: null },
  });
  assert.ok(data, JSON.stringify(error));
  assert.equal(response.status, 201);
  const expires: string | null = data.expires_at;
  assert.deepEqual(
    [data.code, data.url, data.redirect_status, expires, data.max_hits, data.tags, data.title, data.hits, data.unique],
    [alias, target, 301, expiry, 2 ** 40, ["print"], "", 0, undefined],
  );
  assert.ok(isUsable(data.state));
  assert.equal(response.headers.get("Location"), "/api/v1/links/" + alias);
  return response.headers.get("ETag") ?? assert.fail("no ETag");
}

// Each problem is of one type, with a code out of a closed set.
async function meetProblems(): Promise<void> {
  const taken = await api.POST("/shorten", { body: { url: "https://example.org/other", alias } });
  assert.equal(taken.error?.code, "alias_taken");
  const invalid = await api.POST("/shorten", { body: { url: "ftp://example.org/" } });
  assert.ok(invalid.error?.code === "invalid");
  assert.deepEqual(invalid.error.errors?.map((e) => [e.field, e.code]), [["url", "scheme"]]);
}

// Goes through all links, one a page.
async function list(): Promise<void> {
  const found: string[] = [];
  let cursor: string | null | undefined;
  do {
    const query = { limit: 1, include: ["unique" as const], ...(cursor ? { cursor } : {}) };
    const { data, error } = await api.GET("/links", { params: { query } });
    assert.ok(data, JSON.stringify(error));
    for (const link of data.data) {
      assert.equal(link.unique, 0);
      found.push(link.code);
    }
    cursor = data.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(found, [alias]);
}

// Sets a field, resets one by null and leaves the others; an entity tag that has passed changes nothing.
async function edit(tag: string): Promise<void> {
  const params = { path: { code: alias }, header: { "If-Match": tag } };
  const body: LinkPatch = { title: "From TypeScript", expires_at: null };
  const { data, error } = await api.PATCH("/links/{code}", { params, body });
  assert.ok(data, JSON.stringify(error));
  assert.deepEqual(
    [data.title, data.expires_at, data.url, data.max_hits, data.tags],
    ["From TypeScript", null, target, 2 ** 40, ["print"]],
  );
  const late = await api.PATCH("/links/{code}", {
    params,
    body: { title: "late" },
    headers: { "Content-Type": "application/merge-patch+json" },
  });
  assert.equal(late.error?.code, "precondition_failed");
}

async function readFigures(): Promise<void> {
  const { data, error } = await api.GET("/stats/{code}", {
    params: { path: { code: alias }, query: { interval: "day", include: ["bots", "error"] } },
  });
  assert.ok(data, JSON.stringify(error));
  assert.deepEqual([data.hits, data.unique, data.bots?.heads, data.browsers], [0, 0, 0, undefined]);
  assert.ok(data.series && data.error !== undefined);
}

// Makes a link and fails at another: a result is one of two types.
async function createSeveral(): Promise<void> {
  const { data, error } = await api.POST("/shorten/bulk", {
    body: [{ url: target, alias: alias + "-2" }, { url: "ftp://example.org/" }],
  });
  assert.ok(data, JSON.stringify(error));
  assert.deepEqual([data.created, data.failed], [1, 1]);
  const outcomes = data.results.map((r) => ("link" in r ? r.link.code : r.problem.code));
  assert.deepEqual(outcomes, [alias + "-2", "invalid"]);
}

async function remove(): Promise<void> {
  for (const code of [alias, alias + "-2"]) {
    const { response, error } = await api.DELETE("/links/{code}", { params: { path: { code } } });
    assert.equal(response.status, 204, JSON.stringify(error));
  }
  const gone = await api.GET("/links/{code}", { params: { path: { code: alias } } });
  assert.equal(gone.error?.code, "not_found");
}

const tag = await create();
await meetProblems();
await list();
await edit(tag);
await readFigures();
await createSeveral();
await remove();
