// Shlink's web client, as a page of another origin, at the door of the server that config.json names.
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter } from 'react-router'
import { ShlinkApiClient } from '@shlinkio/shlink-js-sdk'
import { FetchHttpClient } from '@shlinkio/shlink-js-sdk/fetch'
import { ShlinkWebComponent } from '@shlinkio/shlink-web-component'

const config = await (await fetch('/config.json')).json()
const apiClient = new ShlinkApiClient(new FetchHttpClient(), config)
const { version } = await apiClient.health()
const settings = { visits: { defaultInterval: 'all' }, realTimeUpdates: { enabled: false } }
createRoot(document.getElementById('root')).render(
  h(BrowserRouter, null, h(ShlinkWebComponent, { serverVersion: version, apiClient, settings })),
)
