// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'

// setup is what run.mjs has started.
export const setup = JSON.parse(process.env.LIFELINE_PAGE ?? 'null')
if (!setup) throw new Error('the tests need a server: node run.mjs all')

export { launch } from './launch.mjs'

// open opens the page in a context of its own. Its `end` fails the test after any error of the console,
// request to another address, or violation of the policy, except for those in `allowed`. `prepare` gets the page
// before its first request.
export async function open(browser, path, { url = setup.server.url, allowed = [], rows = true, prepare, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: 'light', ...options })
  const page = await context.newPage()
  const faults = []
  page.on('console', (m) => {
    if (m.type() === 'error' || m.type() === 'warning') faults.push(`console: ${m.text()}`)
  })
  page.on('pageerror', (err) => faults.push(`error: ${err.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (r) => {
    if (!r.url().startsWith(url) && !r.url().startsWith('data:')) faults.push(`foreign request: ${r.url()}`)
  })
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`))
  })
  await prepare?.(page)
  await page.goto(url + path)
  if (rows) await page.waitForSelector('[data-row]')
  return {
    page,
    context,
    faults,
    async end() {
      await context.close()
      const left = faults.filter((f) => !allowed.some((a) => f.includes(a)))
      assert.deepEqual(left, [])
    },
  }
}

// eventually waits until a condition holds.
export async function eventually(what, condition, patience = 15_000) {
  const deadline = Date.now() + patience
  for (;;) {
    if (await condition()) return
    if (Date.now() > deadline) assert.fail(`not within ${patience / 1000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

// refused is what the console says about an answer with an error.
export const refused = (status) => `console: Failed to load resource: the server responded with a status of ${status} (`

// refuse answers with an error of the server.
export const refuse = (route, status, message) =>
  route.fulfill({ status, contentType: 'application/json', body: JSON.stringify({ error: { message } }) })

export const parameter = (page, name) => new URL(page.url()).searchParams.get(name)
