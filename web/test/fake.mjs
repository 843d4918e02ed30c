// SPDX-License-Identifier: Apache-2.0

// The page over answers and live updates of a test.

import { open } from './browser.mjs'

export const wrong = (status, message, headers = {}) => ({ status, headers, json: { error: { code: status, message } } })

// usual has the answers that a test does not give.
const usual = {
  info: () => ({ json: { version: 'test', cluster: 'c', asOf: new Date().toISOString(), leading: true, stats: { traces: 5 } } }),
  groups: () => ({ json: { groups: [] } }),
  fields: () => ({ json: { fields: [] } }),
  problems: () => ({ json: { asOf: new Date().toISOString(), problems: [] } }),
  lifecycles: () => ({ json: { lifecycles: [] } }),
  density: (q) => ({ json: { since: q.since, width: (Date.parse(q.until) - Date.parse(q.since)) / 1000 / q.buckets, buckets: Array.from({ length: Number(q.buckets) }, () => ({ count: 1 })) } }),
}

// fake opens the page. `traces` answers the requests for traces: with changes, or with {status, headers, json}.
// `given` has other answers. `asked` has all requests, and `send` sends a live update of the changes, and `sendTo`
// one of another stream.
export async function fake(browser, path, { traces = () => [], given = {}, headers = {}, ...options } = {}) {
  const asked = []
  const answers = {
    ...usual,
    traces: async (q) => {
      const out = await traces(q)
      return Array.isArray(out) ? { json: { traces: out } } : out
    },
    ...given,
  }
  const prepare = async (page) => {
    await page.addInitScript(() => {
      window.streams = {}
      const real = window.fetch
      window.fetch = (input, init) => {
        const of = /^\/api\/v1\/(watch|problems\/stream)/.exec(String(input))?.[1]
        if (!of) return real(input, init)
        return Promise.resolve(new Response(new ReadableStream({ start: (c) => void (window.streams[of] = c) })))
      }
    })
    await page.route('**/api/v1/**', async (route) => {
      const url = new URL(route.request().url())
      const q = { ...Object.fromEntries(url.searchParams), path: url.pathname.slice('/api/v1/'.length) }
      asked.push(q)
      const answer = (await answers[q.path]?.(q)) ?? wrong(404, `no answer for ${q.path}`)
      // The page may have ended the request.
      await route.fulfill({ ...answer, headers: { ...headers, ...answer.headers } }).catch(() => {})
    })
  }
  const { page, context, end } = await open(browser, path, {
    rows: false,
    ...options,
    prepare: async (page) => {
      await prepare(page)
      await options.prepare?.(page)
    },
  })
  const sendTo = async (of, name, data) => {
    await page.waitForFunction((of) => window.streams[of] !== undefined, of)
    await page.evaluate(
      ([of, name, data]) => window.streams[of].enqueue(new TextEncoder().encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)),
      [of, name, data],
    )
  }
  const send = (name, data) => sendTo('watch', name, data)
  const row = (name) => page.locator('[data-row]', { hasText: name })
  const status = () => page.locator('.status').innerText()
  const of = (path) => asked.filter((q) => q.path === path)
  return { page, context, end, asked, of, send, sendTo, row, status }
}

