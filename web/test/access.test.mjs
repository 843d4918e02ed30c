// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { eventually, launch, open } from './browser.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser
before(async () => {
  browser = await launch()
})
after(() => browser.close())

// check runs axe in the page; the policy lets only the debugger do so.
async function check(page) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
  return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`)
}

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of [['desktop', { width: 1280, height: 800 }], ['phone', { width: 390, height: 844 }]]) {
    test(`labels and contrast: ${colorScheme}, ${name}`, async () => {
      const { page, end } = await open(browser, '/', { colorScheme, viewport })
      await page.locator('.facet .value').first().waitFor({ state: 'attached' })
      await page.keyboard.press('j')
      assert.deepEqual(await check(page), [])
      await page.keyboard.press('?')
      await page.locator('dialog').waitFor()
      assert.deepEqual(await check(page), [])
      await page.keyboard.press('Escape')
      if (name === 'phone') await page.locator('.facets-switch').click()
      await page.locator('.facet .value', { hasText: 'failed' }).first().click()
      await page.locator('[data-row] .state.failed').first().waitFor({ state: 'attached' })
      assert.deepEqual(await check(page), [])
      await end()
    })
  }
}

test('the colours follow the system, until one chooses', async () => {
  const { page, end } = await open(browser, '/', { colorScheme: 'dark' })
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
  assert.equal(await theme(), 'dark')
  await page.emulateMedia({ colorScheme: 'light' })
  await eventually('light', async () => (await theme()) === 'light')
  await page.keyboard.press('t')
  await eventually('dark', async () => (await theme()) === 'dark')
  await page.reload()
  await page.waitForSelector('[data-row]')
  assert.equal(await theme(), 'dark')
  await end()
})
