// Each call of shlink-client, a library for version 2 of Shlink's API, at the door of a server.
import assert from 'node:assert/strict'
import shlink from 'shlink-client'

const url = process.env.SHUNT_URL
const token = process.env.SHUNT_TOKEN
const client = new shlink.ShlinkClient({ url, token })
const refused = async (call, status, type) => {
  const error = await call.then(() => assert.fail(`not refused: ${type}`), e => e)
  assert.equal(error.response?.status, status, String(error))
  assert.equal(error.response.data.type, `https://shlink.io/api/error/${type}`)
}
const codes = async () => (await client.getShortUrls({ itemsPerPage: 100 })).data.map(l => l.shortCode).sort()

assert.equal((await client.healthCheck()).status, 'pass')

// create, alias taken, repeated target
const longUrl = 'https://example.org/old-client'
const made = await client.createShortUrl({ longUrl, customSlug: 'old', tags: ['one', 'two'], maxVisits: 5, validateUrl: true })
assert.deepEqual([made.shortCode, made.shortUrl, made.longUrl, made.tags, made.meta.maxVisits, made.visitsCount], ['old', `${url}/old`, longUrl, ['one', 'two'], 5, 0])
await refused(client.createShortUrl({ longUrl, customSlug: 'old' }), 400, 'non-unique-slug')
await refused(client.createShortUrl({ longUrl: 'no address' }), 400, 'invalid-data')
const first = await client.createShortUrl({ longUrl, findIfExists: true })
assert.equal((await client.createShortUrl({ longUrl, findIfExists: true })).shortCode, first.shortCode)
assert.equal((await shlink.ShlinkClient.shortenUrl(url, token, longUrl)).longUrl, longUrl)
assert.ok((await shlink.ShlinkClient.shortenUrl(url, token, longUrl, { format: 'txt' })).startsWith(`${url}/`))
await refused(shlink.ShlinkClient.shortenUrl(url, 'wrong', longUrl), 401, 'invalid-api-key')

// expand, stats
assert.deepEqual(await client.getShortUrl('old'), made)
await refused(client.getShortUrl('missing'), 404, 'short-url-not-found')
await fetch(`${url}/old`, { redirect: 'manual' })
assert.equal((await client.getShortUrl('old')).visitsCount, 1)
const visits = await client.getLinkVisits('old', { page: 1, itemsPerPage: 10 })
assert.deepEqual([visits.data.length, visits.pagination.totalItems], [1, 1])
assert.equal((await client.getTagVisits('one')).data.length, 1)
assert.ok((await client.countVisits()).visitsCount >= 1)

// list: axios writes tags[]=one&tags[]=two
const list = await client.getShortUrls({ page: 1, searchTerm: 'old', tags: ['one', 'two'], orderBy: 'visits-DESC' })
assert.deepEqual(list.data.map(l => l.shortCode), ['old'])
assert.equal(list.pagination.itemsInCurrentPage, 1)
assert.deepEqual((await client.getDomains()).domains.map(d => d.isDefault), [true])

// edit
const edited = await client.editShortUrl('old', { longUrl: 'https://example.org/edited', maxVisits: null })
assert.deepEqual([edited.longUrl, edited.meta.maxVisits], ['https://example.org/edited', null])
assert.deepEqual(await client.setShortUrlTags('old', ['one', 'three']), { tags: ['one', 'three'] })
assert.deepEqual((await client.listTags({ withStats: true })).stats.find(s => s.tag === 'three').shortUrlsCount, 1)
await client.renameTag('three', 'four')
assert.ok((await client.listTags()).data.includes('four'))

// delete: none of all these calls has deleted a short URL
const before = await codes()
await client.deleteTags('four', 'missing')
assert.ok(!(await client.listTags()).data.includes('four'))
await refused(client.deleteShortUrl('missing'), 404, 'short-url-not-found')
assert.deepEqual(await codes(), before)
await client.deleteShortUrl('old')
assert.deepEqual(await codes(), before.filter(c => c !== 'old'))
