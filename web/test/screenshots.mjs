// SPDX-License-Identifier: Apache-2.0

// Writes the pictures of docs/guides/page.md: changes of a real cluster, after a synthetic day.

import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually, launch, open, setup } from './browser.mjs'
import { kubectl } from './server.mjs'

const to = join(dirname(fileURLToPath(import.meta.url)), '../../docs/guides/images')
mkdirSync(to, { recursive: true })

const deployment = (name, image, spec = {}, replicas = 3) =>
  JSON.stringify({
    apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'shop' },
    spec: {
      replicas, selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name, image }], ...spec } },
    },
  })

const apply = (text) => kubectl(setup.cluster, ['apply', '-f', '-'], text)

await kubectl(setup.cluster, ['create', 'namespace', 'shop'])
await apply(deployment('storefront', 'registry.example.com/storefront:4.1'))
await kubectl(setup.cluster, ['-n', 'shop', 'rollout', 'status', 'deployment/storefront'])
await apply(deployment('storefront', 'registry.example.com/storefront:4.2'))
await kubectl(setup.cluster, ['-n', 'shop', 'rollout', 'status', 'deployment/storefront'])
const browser = await launch()

// now takes pictures of what is broken, on a screen and on a phone.
async function now(name, ready) {
  for (const colorScheme of ['light', 'dark']) {
    for (const [device, options] of [['', { viewport: { width: 1360, height: 800 } }], ['phone-', { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2 }]]) {
      const { page, end } = await open(browser, '/', { colorScheme, rows: false, ...options })
      await ready(page)
      await page.locator('.hour a').first().waitFor()
      await page.screenshot({ path: join(to, `${device}${name}-${colorScheme}.png`) })
      await end()
    }
  }
}
await now('good', (page) => page.locator('h1', { hasText: 'Nothing is broken' }).waitFor())

await apply(deployment('catalog', 'registry.example.com/catalog:7.3', {}, 60))
await kubectl(setup.cluster, ['-n', 'shop', 'rollout', 'status', 'deployment/catalog'])
await apply(deployment('recommender', 'registry.example.com/recommender:1.0', { nodeSelector: { gpu: 'true' } }))

// One of eight Pods waits until another one frees its processors.
const processors = Number(JSON.parse(await kubectl(setup.cluster, ['get', 'nodes', '-o', 'json'])).items[0].status.allocatable.cpu) * 1000
const asking = (share) => ({ requests: { cpu: `${Math.floor(processors * share)}m` } })
await apply(JSON.stringify({
  apiVersion: 'v1', kind: 'Pod', metadata: { name: 'batch', namespace: 'shop' },
  spec: { containers: [{ name: 'batch', image: 'registry.example.com/batch:2', resources: asking(0.15) }] },
}))
await kubectl(setup.cluster, ['-n', 'shop', 'wait', '--for=condition=Ready', 'pod/batch'])
await apply(deployment('checkout', 'registry.example.com/checkout:2.0', {
  containers: [{ name: 'checkout', image: 'registry.example.com/checkout:2.0', resources: asking(0.115) }],
}, 8))
await new Promise((resolve) => setTimeout(resolve, 5000)) // the wait is the picture
await kubectl(setup.cluster, ['-n', 'shop', 'delete', 'pod', 'batch', '--wait=false'])
await kubectl(setup.cluster, ['-n', 'shop', 'rollout', 'status', 'deployment/checkout'])

// A bad day: an exhausted quota, a class of storage that is not there, a metric that is not there, a Service without a Pod.
await kubectl(setup.cluster, ['create', 'namespace', 'payments'])
await apply(JSON.stringify({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'compute', namespace: 'payments' }, spec: { hard: { pods: '2' } } }))
const workers = Array.from({ length: 40 }, (_, i) => {
  const one = JSON.parse(deployment(`worker-${i + 1}`, 'registry.example.com/worker:3', {}, 1))
  one.metadata.namespace = 'payments'
  return one
})
await apply(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: workers }))
await apply(JSON.stringify({
  apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'ledger', namespace: 'shop' },
  spec: {
    replicas: 1, serviceName: 'ledger', selector: { matchLabels: { app: 'ledger' } },
    template: { metadata: { labels: { app: 'ledger' } }, spec: { containers: [{ name: 'ledger', image: 'registry.example.com/ledger:9' }] } },
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast-ssd', resources: { requests: { storage: '10Gi' } } } }],
  },
}))
await kubectl(setup.cluster, ['-n', 'shop', 'autoscale', 'deployment', 'storefront', '--min=2', '--max=9', '--cpu=70%'])
await kubectl(setup.cluster, ['-n', 'shop', 'create', 'service', 'clusterip', 'mailer', '--tcp=25:25'])
await now('bad', async (page) => {
  for (const text of ['+37 more', 'ledger', 'recommender', 'storefront', 'mailer']) {
    await page.locator('[data-problem]', { hasText: text }).first().waitFor({ timeout: 180_000 })
  }
})

for (const colorScheme of ['light', 'dark']) {
  const desktop = { viewport: { width: 1360, height: 800 }, colorScheme, allowed: ['400'] }
  const { page, end } = await open(browser, '/changes', desktop)
  await page.locator('.state.stuck').first().waitFor()
  await page.locator('.facet .value .count').nth(20).waitFor()
  await page.keyboard.press('j')
  await page.screenshot({ path: join(to, `changes-${colorScheme}.png`) })

  // A question with completion, a part of the time.
  await page.goto(`${setup.server.url}/changes?where=${encodeURIComponent('outcome == "failed"')}`)
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
  await page.screenshot({ path: join(to, `question-${colorScheme}.png`) })
  await end()

  const phone = await open(browser, '/changes', { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, colorScheme })
  await eventually('bars', async () => (await phone.page.locator('.bars path').count()) > 0)
  await phone.page.waitForTimeout(500)
  await phone.page.screenshot({ path: join(to, `phone-${colorScheme}.png`) })
  await phone.end()
}

// trace returns the ID of the latest change of a Deployment, when it is finished or stuck.
async function trace(name) {
  const query = `kind=Deployment&group=apps&namespace=shop&name=${name}&limit=1`
  let found
  await eventually(`a trace of ${name}`, async () => {
    const answer = await fetch(`${setup.server.url}/api/v1/traces?${query}`)
    found = (await answer.json()).traces[0]
    return found && (!found.open || found.stuck)
  })
  return found.traceId
}

// The keys select a row: the Deployment, and the group of its Pods.
const traces = [
  ['trace', await trace('storefront'), ['j'], '.changes-of'],
  ['group', await trace('catalog'), ['j', 'j', 'j', 'j'], '.numbers'],
  ['stuck', await trace('recommender'), ['j'], '.details'],
]
for (const colorScheme of ['light', 'dark']) {
  for (const [name, id, presses, shown] of traces) {
    const { page, end } = await open(browser, `/trace/${id}`, { viewport: { width: 1360, height: 800 }, colorScheme })
    await page.locator('[data-row]').first().waitFor()
    for (const key of presses) await page.keyboard.press(key)
    await page.locator(shown).first().waitFor({ timeout: 10_000 }).catch(() => console.error(`${name}: there is no ${shown}`))
    await page.screenshot({ path: join(to, `${name}-${colorScheme}.png`) })
    await end()
  }
  // The three clicks.
  const why = await open(browser, '/changes?where=' + encodeURIComponent('name == "checkout" && namespace == "shop"'), { viewport: { width: 1360, height: 800 }, colorScheme })
  await why.page.locator('[data-row]', { hasText: 'create Deployment' }).first().click()
  await why.page.locator('.waterfall [data-row]', { hasText: '8 × Pod' }).click()
  await why.page.locator('.details .jump', { hasText: 'checkout-' }).first().click()
  await why.page.locator('.because', { hasText: 'Insufficient cpu' }).waitFor()
  await why.page.screenshot({ path: join(to, `why-${colorScheme}.png`) })
  await why.end()
  const at = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 2, colorScheme }
  const { page, end } = await open(browser, `/trace/${traces[0][1]}`, at)
  await page.locator('[data-row]').first().waitFor()
  await page.screenshot({ path: join(to, `phone-trace-${colorScheme}.png`) })
  await end()
}
await browser.close()
