// SPDX-License-Identifier: Apache-2.0

// Traces of the cluster of the lab, while they grow and afterwards.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually, launch, open, parameter, setup } from './browser.mjs'
import { kubectl } from './server.mjs'

let browser
before(async () => {
  browser = await launch()
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'rollout' } })
})
after(() => browser.close())

// A second run against the same server has other names.
const tag = Date.now().toString(36).slice(-5)
const names = { slow: `slow-${tag}`, patient: `patient-${tag}`, crowd: `crowd-${tag}` }

const row = (page, text) => page.locator('.waterfall [data-row]', { hasText: text })
const change = (page, text) => page.locator('.changes [data-row]', { hasText: text })
const selected = (page) => page.locator('.waterfall [aria-selected=true]')
const details = (page) => page.locator('.details')
const count = (page) => page.locator('.waterfall .window').getAttribute('aria-rowcount').then(Number)
const apply = (object) => kubectl(setup.cluster, ['apply', '-f', '-'], JSON.stringify(object))

const deployment = (name, replicas, spec = {}, pod = {}) => ({
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'rollout' },
  spec: {
    replicas, selector: { matchLabels: { app: name } }, ...spec,
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', image: `registry.example.com/${name}:1` }], ...pod },
    },
  },
})

// reach returns the last column of a row that has a colour of a bar, in pixels of the canvas.
const reach = (page, text) =>
  row(page, text).first().evaluate((element) => {
    const probe = document.createElement('span')
    document.body.append(probe)
    const wanted = ['--bar', '--accent-bar'].map((name) => {
      probe.style.color = getComputedStyle(document.documentElement).getPropertyValue(name)
      return getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number)
    })
    probe.remove()
    const at = element.getBoundingClientRect()
    const beside = (c) => c.getBoundingClientRect().top <= at.top + 1 && c.getBoundingClientRect().bottom >= at.bottom - 1
    const canvas = [...document.querySelectorAll('.waterfall canvas')].find(beside)
    const box = canvas.getBoundingClientRect()
    const ratio = canvas.width / box.width
    const { data, width } = canvas.getContext('2d').getImageData(0, Math.round((at.top - box.top) * ratio), canvas.width, Math.round(at.height * ratio))
    let last = -1
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 250) continue
      if (wanted.some((want) => want.every((c, k) => Math.abs(c - data[i + k]) <= 3))) last = Math.max(last, (i / 4) % width)
    }
    return last
  })

// stuckFor waits until a change is stuck, and has been open for some seconds.
const stuckFor = async (one, seconds) => {
  await one.locator('.state.stuck').waitFor()
  await eventually('it waits', async () => parseFloat(await one.locator('.took').innerText()) > seconds)
}

test('a rollout of the cluster grows in the page, until its outcome; the selection stays', async () => {
  const { page, end } = await open(browser, '/changes', { allowed: ['willReadFrequently'] })
  await page.evaluate(() => (window.stays = true))
  // One Pod after the other becomes available, each three seconds after it is ready.
  await apply(deployment(names.slow, 1))
  await kubectl(setup.cluster, ['-n', 'rollout', 'rollout', 'status', `deployment/${names.slow}`])
  await apply({
    ...deployment(names.slow, 3, { minReadySeconds: 3, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } }, {
      containers: [{ name: 'c', image: 'registry.example.com/slow:2' }],
    }),
  })
  const one = change(page, `update Deployment rollout/${names.slow}`)
  await one.locator('.state.running').waitFor()
  await one.locator('a').click()
  await page.waitForURL(/\/trace\/[0-9a-f]{32}/)
  await row(page, `Pod ${names.slow}-`).first().click()
  const pod = await selected(page).getAttribute('data-row')
  assert.match(await page.locator('.verdict').innerText(), /^Deployment slow-\S+ has been running for/)
  // The time of the waterfall is fixed, so that a longer bar reaches further.
  await eventually('the address has the Pod', () => parameter(page, 'at') === pod)
  await page.evaluate(() => {
    const url = new URL(location.href)
    url.searchParams.set('from', '0')
    url.searchParams.set('to', '40000')
    history.replaceState(null, '', url)
    dispatchEvent(new PopStateEvent('popstate'))
  })
  await eventually('the open bar', async () => (await page.locator('.waterfall .row.open').count()) > 0)
  const rows = await count(page)
  const first = await reach(page, `Deployment ${names.slow}`)
  assert.ok(first > 0)
  let before = first
  for (let i = 0; i < 2; i++) {
    await eventually('the open bar is longer', async () => (await reach(page, `Deployment ${names.slow}`)) > before)
    before = await reach(page, `Deployment ${names.slow}`)
  }
  await eventually('new rows', async () => (await count(page)) > rows)
  assert.equal(await selected(page).getAttribute('data-row'), pod)
  await page.locator('.verdict', { hasText: `Deployment ${names.slow} converged in` }).waitFor({ timeout: 60_000 })
  assert.ok((await reach(page, `Deployment ${names.slow}`)) > first)
  await eventually('no open bar', async () => (await page.locator('.waterfall .row.open').count()) === 0)
  await eventually('the outcome', async () => (await page.locator('.meta .outcome').innerText()) === 'converged')
  assert.equal(await selected(page).getAttribute('data-row'), pod)
  assert.equal(parameter(page, 'at'), pod)
  assert.match(await details(page).innerText(), /Pod slow-/)
  assert.ok(await page.evaluate(() => window.stays), 'the page was not loaded again')
  await end()
})

test('two clicks from the list to the reason of a slow Pod', async () => {
  const { page, end } = await open(browser, '/changes')
  // As in make demo: the Pod waits for a Node with the label.
  await apply(deployment(names.patient, 1, {}, { nodeSelector: { disk: tag } }))
  const one = change(page, `create Deployment rollout/${names.patient}`)
  await stuckFor(one, 3)
  await kubectl(setup.cluster, ['label', 'node', '--all', `disk=${tag}`, '--overwrite'])
  await one.locator('.state.converged').waitFor()
  await one.click()
  assert.match(await page.locator('.verdict').innerText(), /^Deployment patient-\S+ converged in [\d.]+ s; \d+ % of it for schedule\.$/)
  await row(page, `Pod ${names.patient}-`).click()
  // The styles of the list, which are loaded as well, do not reach the rows of the trace.
  const look = await row(page, `Pod ${names.patient}-`).evaluate((e) => [getComputedStyle(e).paddingLeft, getComputedStyle(e).borderBottomWidth, getComputedStyle(e).display])
  assert.deepEqual(look, ['0px', '0px', 'block'])
  await eventually('the reason', async () =>
    /^Pod patient-\S+ took [\d.]+ s; \d+ % of it for schedule \(0\/1 nodes are available: 1 node\(s\) didn't match Pod's node affinity\/selector\)/.test(
      await details(page).locator('.because').innerText()))
  await end()
})

test('three clicks from the list to the slowest of many Pods, and to its reason', async () => {
  const { page, end } = await open(browser, '/changes')
  // The last Pod has to wait until another one frees its processors.
  const node = JSON.parse(await kubectl(setup.cluster, ['get', 'nodes', '-o', 'json'])).items[0]
  const requests = (share) => ({ requests: { cpu: `${Math.floor(Number(node.status.allocatable.cpu) * 1000 * share)}m` } })
  await apply({
    apiVersion: 'v1', kind: 'Pod', metadata: { name: 'blocker', namespace: 'rollout' },
    spec: { containers: [{ name: 'c', image: 'c:1', resources: requests(0.15) }] },
  })
  await kubectl(setup.cluster, ['-n', 'rollout', 'wait', '--for=condition=Ready', 'pod/blocker'])
  await apply(deployment(names.crowd, 8, {}, { containers: [{ name: 'c', image: 'c:1', resources: requests(0.115) }] }))
  const one = change(page, `create Deployment rollout/${names.crowd}`)
  await stuckFor(one, 3)
  await kubectl(setup.cluster, ['-n', 'rollout', 'delete', 'pod', 'blocker', '--wait=false'])
  await one.locator('.state.converged').waitFor()
  await one.click()
  await row(page, '8 × Pod').click()
  await details(page).locator('.jump', { hasText: names.crowd }).first().click()
  await eventually('the reason', async () =>
    /^Pod crowd-\S+ took [\d.]+ s; \d+ % of it for schedule \(0\/1 nodes are available: 1 Insufficient cpu\).*\. Half of the 8 alike took up to [\d.]+ (ms|s)\.$/.test(
      await details(page).locator('.because').innerText()))
  await kubectl(setup.cluster, ['-n', 'rollout', 'delete', 'deployment', names.crowd])
  await end()
})
