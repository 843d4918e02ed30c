// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { launch, open } from './browser.mjs'

let browser
before(async () => {
  browser = await launch()
})
after(() => browser.close())

test('the page shows changes, and nothing but its own files', async () => {
  const { page, end } = await open(browser, '/changes')
  assert.ok((await page.locator('[data-row]').count()) > 10)
  await page.locator('.bars path').first().waitFor({ state: 'attached' })
  await page.locator('.facet .value').first().waitFor()
  // The box of questions loads its editor under the policy.
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.type('kind == "Deployment"')
  await page.keyboard.press('Enter')
  await page.waitForURL(/where=/)
  await page.waitForSelector('[data-row]')
  await page.keyboard.press('Escape')
  await page.locator('[data-row]:not(.group) a').first().click()
  await page.waitForURL(/\/trace\/[0-9a-f]{32}/)
  await page.locator('h1').waitFor()
  await end()
})

test('the first paint comes within a second', async () => {
  const { page, end } = await open(browser, '/changes')
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime)
  console.log(`first contentful paint: ${Math.round(paint)} ms`)
  assert.ok(paint < 1000, `${paint} ms`)
  await end()
})
