// SPDX-License-Identifier: Apache-2.0

// Writes the pictures of docs/guides/page.md: changes of a real cluster, after a synthetic day.

import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, launch, open, setup } from './browser.mjs'
import { startSamples } from './samples.mjs'
import { kubectl } from './server.mjs'

const to = join(dirname(fileURLToPath(import.meta.url)), '../../docs/guides/images')
mkdirSync(to, { recursive: true })

const deployment = (name, image, spec = {}) =>
  JSON.stringify({
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop' },
    spec: {
      replicas: 3, selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name, image }], ...spec } },
    },
  })

const apply = (text) => kubectl(setup.cluster, ['apply', '-f', '-'], text)

await kubectl(setup.cluster, ['create', 'namespace', 'shop'])
await apply(deployment('storefront', 'registry.example.com/storefront:4.1'))
await kubectl(setup.cluster, ['-n', 'shop', 'rollout', 'status', 'deployment/storefront'])
await apply(deployment('storefront', 'registry.example.com/storefront:4.2'))
await kubectl(setup.cluster, ['-n', 'shop', 'rollout', 'status', 'deployment/storefront'])
await apply(deployment('recommender', 'registry.example.com/recommender:1.0', { nodeSelector: { gpu: 'true' } }))

const browser = await launch()
for (const colorScheme of ['light', 'dark']) {
  const desktop = { viewport: { width: 1360, height: 800 }, colorScheme, allowed: ['400'] }
  const { page, end } = await open(browser, '/', desktop)
  await page.locator('.state.stuck').first().waitFor()
  await page.locator('.facet .value .count').nth(20).waitFor()
  await page.keyboard.press('j')
  await page.screenshot({ path: join(to, `changes-${colorScheme}.png`) })

  // A question with completion, a part of the time.
  await page.goto(`${setup.server.url}/?where=${encodeURIComponent('outcome == "failed"')}`)
  await page.locator('[data-row]').first().waitFor()
  await page.locator('.bars path').first().waitFor({ state: 'attached' })
  const box = await page.locator('.bars').boundingBox()
  await page.mouse.move(box.x + box.width * 0.66, box.y + 20)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.78, box.y + 20, { steps: 5 })
  await page.mouse.up()
  await page.mouse.move(10, 10)
  await page.locator('.chosen').waitFor()
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.press('End')
  await page.keyboard.type(' && kind == "', { delay: 30 })
  await page.locator('.cm-tooltip-autocomplete li', { hasText: '"Pod"' }).waitFor()
  await page.locator('.bars path.match').waitFor({ state: 'attached' })
  await page.screenshot({ path: join(to, `question-${colorScheme}.png`) })
  await end()

  const phone = await open(browser, '/', { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, colorScheme })
  await eventually('bars', async () => (await phone.page.locator('.bars path').count()) > 0)
  await phone.page.waitForTimeout(500)
  await phone.page.screenshot({ path: join(to, `phone-${colorScheme}.png`) })
  await phone.end()
}

// Traces with typed writes and with 1,000 Pods are samples.
const samples = await startSamples(setup.dir)
const pictures = [
  ['trace-light', 'writes', 'light', ['j'], '.changes-of'],
  ['trace-group-dark', 'many', 'dark', ['j', 'j', 'j', 'j', 'j'], '.numbers'],
]
for (const [name, trace, colorScheme, presses, shown] of pictures) {
  const at = { url: samples.url, viewport: { width: 1360, height: 800 }, colorScheme }
  const { page, end } = await open(browser, `/trace/${samples.traces[trace]}`, at)
  for (const key of presses) await page.keyboard.press(key)
  await page.locator(shown).first().waitFor()
  await page.screenshot({ path: join(to, `${name}.png`) })
  await end()
}
await samples.stop()
await browser.close()
