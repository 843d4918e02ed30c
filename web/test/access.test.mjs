// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { eventually, launch, open, refuse, refused } from './browser.mjs'
import { fake } from './fake.mjs'
import { bad } from './problems.mjs'

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
      const { page, end } = await open(browser, '/changes', { colorScheme, viewport })
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

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of [['desktop', { width: 1280, height: 800 }], ['phone', { width: 390, height: 844 }]]) {
    test(`labels and contrast of Now: ${colorScheme}, ${name}`, async () => {
      for (const list of [bad(), { asOf: new Date().toISOString(), problems: [] }]) {
        const { page, end } = await fake(browser, '/?more=p-worker-1.p-checkout', {
          colorScheme, viewport, given: { problems: () => ({ json: list }) },
        })
        await page.locator('h1').waitFor()
        if (list.problems.length > 0) await page.keyboard.press('j')
        assert.deepEqual(await check(page), [])
        await end()
      }
    })
  }
}

test('the colours follow the system, until one chooses', async () => {
  const { page, end } = await open(browser, '/changes', { colorScheme: 'dark' })
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

test('the keyboard reaches the content, and stays in it', async () => {
  const { page, end } = await open(browser, '/changes')
  const focused = () => page.evaluate(() => document.activeElement?.id)
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate(() => document.activeElement?.className), 'skip')
  await page.keyboard.press('Enter')
  await eventually('the content', async () => (await focused()) === 'main')
  await page.keyboard.press('j')
  await eventually('a row', () => page.evaluate(() => document.activeElement?.closest('[data-row]') !== null))
  await page.locator('[data-row]:not(.group) a').first().focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/trace\/[0-9a-f]{32}/)
  await eventually('the new content', async () => (await focused()) === 'main')
  await eventually('its name', async () => (await page.locator('main').getAttribute('aria-label')) === 'Trace')
  await end()
})

// locked opens a page whose server needs a token.
const locked = () =>
  open(browser, '/changes', {
    rows: false,
    allowed: [refused(401)],
    prepare: (page) =>
      page.route(/\/api\/v1\//, (route) =>
        route.request().headers().authorization === 'Bearer the-right-token' ? route.continue() : refuse(route, 401, 'no token')),
  })

test('the dialog of the token stays', async () => {
  const { page, end } = await locked()
  const dialog = page.locator('dialog[open]')
  await dialog.waitFor()
  for (let i = 0; i < 4; i++) {
    await page.keyboard.press('Escape')
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.ok(await dialog.isVisible(), `after Escape ${i + 1}`)
  }
  await end()
})

test('a token with characters that no header has is refused', async () => {
  const { page, end } = await locked()
  const enter = async (token) => {
    await page.locator('#token').fill(token)
    await page.keyboard.press('Enter')
  }
  await enter('the-right\u200b-token')
  await page.locator('dialog .wrong', { hasText: 'U+200B' }).waitFor()
  assert.equal(await page.evaluate(() => sessionStorage.length), 0)
  await page.evaluate(() => sessionStorage.setItem('lifeline.token', '\u201cquoted\u201d'))
  await page.reload()
  await page.locator('dialog[open]').waitFor()
  await enter('a-wrong-token')
  await page.locator('dialog .wrong', { hasText: 'refused' }).waitFor()
  await enter(' the-right-token ')
  await page.waitForSelector('[data-row]')
  await end()
})
