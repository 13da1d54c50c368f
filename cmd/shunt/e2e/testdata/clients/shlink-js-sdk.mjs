// Each call of Shlink's official library, as its web client makes it, at the door of a server.
import assert from 'node:assert/strict'
import { ShlinkApiClient } from '@shlinkio/shlink-js-sdk'
import { ErrorType } from '@shlinkio/shlink-js-sdk/api-contract'
import { NodeHttpClient } from '@shlinkio/shlink-js-sdk/node'
import { FetchHttpClient } from '@shlinkio/shlink-js-sdk/fetch'

const baseUrl = process.env.SHUNT_URL
const apiKey = process.env.SHUNT_TOKEN
const host = new URL(baseUrl).host

const codes = async client => (await client.listShortUrls({ itemsPerPage: 1000 })).data.map(l => l.shortCode).sort()

async function refused(call, type, status, more = {}) {
  const error = await call.then(() => assert.fail(`not refused: ${type}`), e => e)
  assert.equal(error.type, type, JSON.stringify(error))
  assert.equal(error.status, status)
  assert.ok(error.title && error.detail)
  for (const [name, value] of Object.entries(more)) assert.deepEqual(error[name], value, name)
}

async function use(http, n) {
  const client = new ShlinkApiClient(http, { baseUrl, apiKey })
  const slug = `sdk-${n}`
  assert.equal((await client.health()).status, 'pass')
  assert.equal((await client.health({ domain: host })).status, 'pass')
  await refused(client.mercureInfo(), ErrorType.MERCURE_NOT_CONFIGURED, 501)
  await refused(new ShlinkApiClient(http, { baseUrl, apiKey: 'wrong' }).listShortUrls(), ErrorType.INVALID_API_KEY, 401)
  await refused(new ShlinkApiClient(http, { baseUrl, apiKey: '' }).listShortUrls(), ErrorType.INVALID_AUTHORIZATION, 401)

  // create, alias taken, repeated target
  const longUrl = `https://example.org/${n}?a=b#c`
  const made = await client.createShortUrl({
    longUrl, customSlug: slug, tags: [`tag-${n}`, 'both'], title: 'A title', maxVisits: 100,
    validSince: '2020-01-01T00:00:00+00:00', validUntil: '2099-12-31T23:59:59+00:00', crawlable: true, forwardQuery: true, findIfExists: false,
  })
  assert.equal(made.shortUrl, `${baseUrl}/${slug}`)
  assert.deepEqual([made.shortCode, made.longUrl, made.tags, made.title, made.domain, made.forwardQuery], [slug, longUrl, [`tag-${n}`, 'both'], 'A title', null, true])
  assert.deepEqual(made.meta, { validSince: '2020-01-01T00:00:00+00:00', validUntil: '2099-12-31T23:59:59+00:00', maxVisits: 100 })
  assert.deepEqual(made.visitsSummary, { total: 0, nonBots: 0, bots: 0 })
  await refused(client.createShortUrl({ longUrl: 'https://example.org/other', customSlug: slug }), ErrorType.INVALID_SLUG, 400, { customSlug: slug })
  await refused(client.createShortUrl({ longUrl: 'javascript:alert(1)' }), ErrorType.INVALID_ARGUMENT, 400, { invalidElements: ['longUrl'] })
  const plain = await client.createShortUrl({ longUrl })
  const first = await client.createShortUrl({ longUrl, findIfExists: true })
  const again = await client.createShortUrl({ longUrl, findIfExists: true })
  assert.equal(first.shortCode, plain.shortCode) // whatever made it
  assert.equal(again.shortCode, first.shortCode)

  // expand, and the redirect itself, which forwards its query
  assert.deepEqual(await client.getShortUrl({ shortCode: slug }), made)
  assert.deepEqual(await client.getShortUrl({ shortCode: slug, domain: host }), made)
  await refused(client.getShortUrl({ shortCode: `missing-${n}` }), ErrorType.INVALID_SHORTCODE, 404, { shortCode: `missing-${n}` })
  const visited = (await client.getVisitsOverview()).nonOrphanVisits.total
  const visit = await fetch(`${baseUrl}/${slug}?x=1`, { redirect: 'manual' })
  assert.equal(visit.headers.get('location'), `https://example.org/${n}?a=b&x=1#c`)

  // stats
  const visits = await client.getShortUrlVisits({ shortCode: slug }, { page: 1, itemsPerPage: 5000, excludeBots: true })
  assert.equal(visits.data.length, 1)
  assert.ok(!Number.isNaN(Date.parse(visits.data[0].date)))
  assert.deepEqual([visits.pagination.currentPage, visits.pagination.pagesCount, visits.pagination.totalItems], [1, 1, 1])
  assert.equal((await client.getShortUrl({ shortCode: slug })).visitsSummary.total, 1)
  const since = new Date(Date.now() - 3600_000 * 24).toISOString()
  for (const list of [
    await client.getTagVisits(`tag-${n}`), await client.getShortUrlVisits({ shortCode: slug }, { startDate: since }),
  ]) assert.equal(list.data.length, 1)
  for (const list of [await client.getDomainVisits('DEFAULT'), await client.getDomainVisits(host), await client.getNonOrphanVisits()]) {
    assert.equal(list.data.length, visited + 1)
  }
  assert.deepEqual((await client.getOrphanVisits({ type: 'base_url' })).data, [])
  assert.equal((await client.getVisitsOverview()).nonOrphanVisits.total, visited + 1)
  assert.deepEqual(await client.deleteOrphanVisits(), { deletedVisits: 0 })

  // list
  const list = await client.listShortUrls({
    page: '1', itemsPerPage: 10, searchTerm: slug, tags: ['both', `tag-${n}`], tagsMode: 'all', orderBy: { field: 'visits', dir: 'DESC' },
    startDate: since, endDate: new Date(Date.now() + 60_000).toISOString(), excludeMaxVisitsReached: true, excludePastValidUntil: true,
  })
  assert.deepEqual(list.data.map(l => l.shortCode), [slug])
  assert.equal(list.pagination.totalItems, 1)
  for (const field of ['dateCreated', 'shortCode', 'longUrl', 'title', 'visits', 'nonBotVisits']) {
    for (const dir of ['ASC', 'DESC']) {
      assert.equal((await client.listShortUrls({ orderBy: { field, dir }, excludeTags: ['both'], domain: 'DEFAULT' })).data.length, n, field)
    }
  }

  // edit
  const edited = await client.updateShortUrl({ shortCode: slug }, { longUrl: 'https://example.org/new', title: null, tags: ['both'], maxVisits: null, forwardQuery: false })
  assert.deepEqual([edited.longUrl, edited.title, edited.tags, edited.meta.maxVisits, edited.forwardQuery], ['https://example.org/new', null, ['both'], null, false])
  await refused(client.updateShortUrl({ shortCode: slug }, { maxVisits: -1 }), ErrorType.INVALID_ARGUMENT, 400, { invalidElements: ['maxVisits'] })
  const rule = { longUrl: 'https://example.org/ios', conditions: [{ type: 'device', matchKey: null, matchValue: 'ios' }] }
  const set = await client.setShortUrlRedirectRules({ shortCode: slug }, { redirectRules: [rule] })
  assert.deepEqual(set, { defaultLongUrl: 'https://example.org/new', redirectRules: [{ ...rule, priority: 1 }] })
  assert.deepEqual(await client.getShortUrlRedirectRules({ shortCode: slug }), set)
  assert.equal((await client.getShortUrl({ shortCode: slug })).hasRedirectRules, true)

  // tags and domains
  await client.updateShortUrl({ shortCode: slug }, { tags: ['both', `tag-${n}`] })
  assert.ok((await client.listTags()).data.includes(`tag-${n}`))
  const stats = (await client.tagsStats()).data.find(s => s.tag === `tag-${n}`)
  assert.deepEqual([stats.shortUrlsCount, stats.visitsSummary.total], [1, 1])
  await client.editTag({ oldName: `tag-${n}`, newName: `new-${n}` })
  await refused(client.editTag({ oldName: `tag-${n}`, newName: 'x' }), ErrorType.TAG_NOT_FOUND, 404, { tag: `tag-${n}` })
  await refused(client.editTag({ oldName: `new-${n}`, newName: 'both' }), ErrorType.TAG_CONFLICT, 409)
  const before = await codes(client)
  await client.deleteTags([`new-${n}`, 'missing'])
  assert.ok(!(await client.listTags()).data.includes(`new-${n}`))
  assert.deepEqual((await client.listDomains()).data, [
    { domain: host, isDefault: true, redirects: { baseUrlRedirect: null, regular404Redirect: null, invalidShortUrlRedirect: null } },
  ])
  const redirects = await client.editDomainRedirects({ domain: host, baseUrlRedirect: 'https://example.org/root' })
  assert.equal(redirects.baseUrlRedirect, 'https://example.org/root')
  await client.editDomainRedirects({ domain: host, baseUrlRedirect: null })
  await refused(client.editDomainRedirects({ domain: 'unknown.example', baseUrlRedirect: null }), ErrorType.DOMAIN_NOT_FOUND, 404)

  // delete: none of all these calls has deleted a short URL
  assert.deepEqual(await client.deleteShortUrlVisits({ shortCode: slug }), { deletedVisits: 1 })
  assert.equal((await client.getShortUrl({ shortCode: slug })).visitsSummary.total, 0)
  await refused(client.deleteShortUrl({ shortCode: `missing-${n}` }), ErrorType.INVALID_SHORTCODE, 404)
  await refused(client.deleteShortUrl({ shortCode: slug, domain: 'unknown.example' }), ErrorType.INVALID_SHORTCODE, 404)
  assert.deepEqual(await codes(client), before)
  await client.deleteShortUrl({ shortCode: slug })
  await refused(client.getShortUrl({ shortCode: slug }), ErrorType.INVALID_SHORTCODE, 404)
  assert.deepEqual(await codes(client), before.filter(c => c !== slug))
}

await use(new NodeHttpClient(), 1)
await use(new FetchHttpClient(), 2)
