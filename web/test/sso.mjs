// SPDX-License-Identifier: Apache-2.0

// Logs a user in at an issuer, and prints what the page behind the login shows of one trace. After the end of the
// login, the page says so. The test e2e/sso runs it.

import { launch } from './launch.mjs'

const asked = JSON.parse(process.env.LIFELINE_SSO)
const browser = await launch()
try {
  // The issuer of the test has a certificate of its own.
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  await page.goto(`${asked.url}/trace/${asked.trace}`)
  await page.fill('#username', asked.user)
  await page.fill('#password', asked.password)
  await page.click('button[type=submit]')
  await page.waitForURL(`${asked.url}/**`)
  await page.goto(`${asked.url}/trace/${asked.trace}`)
  await page.waitForSelector('text=-app', { timeout: 30_000 })
  await page.waitForLoadState('networkidle', { timeout: 5000 }).catch(() => {}) // a stream is never idle
  const get = (path) => page.evaluate(async (at) => (await fetch(at)).text(), path)
  const out = {
    List: await get('/api/v1/traces?limit=500'),
    Trace: await get(`/api/v1/traces/${asked.trace}`),
    Text: await page.innerText('body'),
  }
  await page.screenshot({ path: asked.picture })
  // The login ends.
  await context.clearCookies()
  await page.click('text=Changes')
  await page.waitForSelector('text=Your login has ended', { timeout: 15_000 })
  await page.reload()
  await page.waitForSelector('#username')
  process.stdout.write(JSON.stringify(out))
} finally {
  await browser.close()
}
