// node client.mjs NAME ADDRESS prints what a package answers; without ADDRESS it prints its version.
import { readFileSync } from 'node:fs'

const [name, address] = process.argv.slice(2)
const load = async () => {
  const loaded = await import(name)
  return loaded.default ?? loaded
}

const clients = {
  fetch: async () => (await fetch(address)).text(),
  axios: async () => (await (await load()).get(address)).data,
  got: async () => (await load())(address).text(),
  needle: async () => (await (await load())('get', address, null, { follow_max: 5, parse_response: false })).body,
  superagent: async () => (await (await load()).get(address)).text,
  'node-fetch': async () => (await (await load())(address)).text(),
}

if (address) {
  process.stdout.write(String(await clients[name]()), () => process.exit())
} else if (name === 'fetch') {
  console.log(`Node ${process.versions.node}, undici ${process.versions.undici}`)
} else {
  console.log(name, JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url))).version)
}
