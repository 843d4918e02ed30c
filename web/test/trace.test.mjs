// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { eventually, launch, open, parameter, refuse, refused } from './browser.mjs'
import { startSamples } from './samples.mjs'
import { gate } from './server.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser
let samples
let dir
before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'lifeline-trace-'))
  ;[browser, samples] = await Promise.all([launch(), startSamples(dir)])
})
after(async () => {
  await browser?.close()
  await samples?.stop()
  if (dir) rmSync(dir, { recursive: true, force: true })
})

// The tests read the canvas more often than a page does.
const reading = ['willReadFrequently']
const show = (name, query = '', options = {}) =>
  open(browser, `/trace/${samples.traces[name]}${query}`, { url: samples.url, allowed: reading, ...options })
const row = (page, text) => page.locator('.waterfall [data-row]', { hasText: text })
const selected = (page) => page.locator('.waterfall [aria-selected=true]')
const details = (page) => page.locator('.details')
const keys = async (page, ...list) => {
  for (const k of list) await page.keyboard.press(k)
}
const count = (page) => page.locator('.waterfall .window').getAttribute('aria-rowcount').then(Number)
const has = (page, name, value) => eventually(`${name} is ${value}`, () => (parameter(page, name) ?? '') === value)

// pixels returns how much of the bars of a row has a colour of the style sheet.
const pixels = (page, text, variable) =>
  row(page, text).first().evaluate((element, variable) => {
    const probe = document.createElement('span')
    probe.style.color = getComputedStyle(document.documentElement).getPropertyValue(variable)
    document.body.append(probe)
    const want = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).map(Number)
    probe.remove()
    const at = element.getBoundingClientRect()
    const beside = (c) => c.getBoundingClientRect().top <= at.top + 1 && c.getBoundingClientRect().bottom >= at.bottom - 1
    const canvas = [...document.querySelectorAll('.waterfall canvas')].find(beside)
    const box = canvas.getBoundingClientRect()
    const ratio = canvas.width / box.width
    const { data } = canvas.getContext('2d').getImageData(0, Math.round((at.top - box.top) * ratio), canvas.width, Math.round(at.height * ratio))
    let n = 0
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 250 && want.every((c, k) => Math.abs(c - data[i + k]) <= 3)) n++
    }
    return n
  }, variable)

test('a trace says in one sentence what happened, who did it, and what changed', async () => {
  const { page, end } = await show('writes')
  assert.equal(await page.locator('.verdict').innerText(), 'Deployment web converged in 4.2 s; 67 % of it for pull image nginx:1.27.')
  const meta = await page.locator('.meta').innerText()
  for (const text of ['alice@example.com', 'kubectl', 'converged', 'image web:1 → web:2', 'replicas 2 → 4']) assert.ok(meta.includes(text), text)
  assert.match(await page.title(), /update Deployment default\/web/)
  await page.locator('.what-line a').click()
  await eventually('the list', () => new URL(page.url()).pathname === '/changes')
  await page.goBack()
  await row(page, 'ReplicaSet').waitFor()
  await end()
})

test('a stuck trace says why, since when, and what to do', async () => {
  const { page, end } = await show('unschedulable')
  const text = await page.locator('.verdict').innerText()
  assert.match(text, /has been stuck for (5\d(\.\d)? s|1m)/)
  assert.match(text, /Insufficient memory/)
  assert.match(await page.locator('.trace-head .next').innerText(), /next:\s+kubectl describe node/)
  await end()
})

test('bars are drawn in their colours: plain, critical, failed, open', async () => {
  const { page, end } = await show('writes')
  // The pull of the last Pod is on the critical path, that of the first is not.
  const last = row(page, 'pull image').nth(3)
  await last.scrollIntoViewIfNeeded()
  assert.ok((await pixels(page, 'pull image', '--bar')) > 500, 'a plain bar')
  assert.equal(await pixels(page, 'pull image', '--accent-bar'), 0)
  assert.ok((await pixels(page, 'Deployment web', '--accent-bar')) > 20, 'the critical part of the Deployment')
  await keys(page, 'c')
  await eventually('no critical path', async () => (await pixels(page, 'Deployment web', '--accent-bar')) === 0)
  await has(page, 'path', 'off')
  await page.locator('.switch').click()
  await eventually('the critical path', async () => (await pixels(page, 'Deployment web', '--accent-bar')) > 20)
  await page.emulateMedia({ colorScheme: 'dark' })
  await eventually('the dark colour', async () => (await pixels(page, 'pull image', '--bar')) > 500)
  await end()
  const failed = await show('crashloop')
  await keys(failed.page, 'c')
  await eventually('a failed bar', async () => (await pixels(failed.page, 'kubectl itself', '--bad-bar')) > 500)
  await failed.end()
  const stuck = await show('unschedulable')
  await eventually('a stuck bar', async () => (await pixels(stuck.page, 'schedule', '--warn-bar')) > 500)
  await stuck.end()
})

test('a group shows its distribution, and unfolds by mouse and by keyboard', async () => {
  const { page, end } = await show('many')
  const group = row(page, '990 × Pod')
  assert.ok((await pixels(page, '990 ×', '--accent-bar')) > 200, 'the box of the distribution')
  const before = await count(page)
  await group.click()
  await eventually('200 members and a gap', async () => (await count(page)) > before + 200)
  await eventually('the durations', async () => /half within\s+4\.9 s/.test(await details(page).innerText()))
  await keys(page, 'f')
  await eventually('folded', async () => (await count(page)) === before)
  await keys(page, 'ArrowRight')
  await eventually('unfolded', async () => (await count(page)) > before)
  const key = await group.getAttribute('data-row')
  await has(page, 'open', key)
  await page.reload()
  await row(page, 'web-6cf-0000').waitFor()
  await keys(page, 'ArrowLeft')
  await eventually('folded', async () => (await count(page)) === before)
  // An outlier is on another page of the list.
  await details(page).locator('.jump', { hasText: 'web-6cf-0998' }).click()
  await eventually('the outlier', async () => /web-6cf-0998/.test(await selected(page).innerText().catch(() => '')))
  assert.ok(await selected(page).isVisible())
  assert.ok((await page.locator('.waterfall [data-row]').count()) < 120, 'only visible rows are in the document')
  await end()
})

test('a deep link to a hidden span unfolds all above it', async () => {
  const { page, end } = await show('many')
  const found = await page.evaluate(
    (id) => fetch(`/api/v1/traces/${id}/find?text=web-6cf-0777+pull`).then((r) => r.json()),
    samples.traces.many,
  )
  await end()
  const link = await show('many', `?at=${found.spans[0].spanId}`)
  await eventually('the span', async () => /pull image/.test(await selected(link.page).innerText().catch(() => '')))
  const way = await details(link.page).locator('.way').innerText()
  assert.match(way, /Deployment web › ReplicaSet web-6cf › Pod web-6cf-0777/)
  await details(link.page).locator('.way button', { hasText: 'Pod web-6cf-0777' }).click()
  await eventually('the Pod', async () => /Pod web-6cf-0777/.test(await selected(link.page).innerText()))
  await link.end()
})

test('spans of other components are folded, and open on demand', async () => {
  const { page, end } = await show('joined')
  const others = row(page, 'spans of other components').first()
  await others.click()
  await row(page, 'POST /apis').waitFor()
  await row(page, 'POST /apis').click()
  await eventually('the evidence', async () => /by the request that wrote it/.test(await details(page).innerText()))
  await keys(page, 'ArrowRight')
  await row(page, 'authorization').waitFor()
  await row(page, 'spans of other components').last().click()
  await row(page, 'syncPod').waitFor()
  assert.ok((await pixels(page, 'syncPod', '--line-strong')) > 100, 'a hollow bar')
  await eventually('the keys in the address', () => parameter(page, 'open')?.split('.').length === 3)
  await page.reload()
  await row(page, 'authorization').waitFor()
  await end()
})

test('a list of 5,000 is read in pages', async () => {
  const { page, end } = await show('deep')
  const before = await count(page)
  await row(page, 'Pod').first().click()
  await row(page, 'Pod web-6cf-000').first().waitFor()
  await row(page, '5,000 spans of other components').first().click()
  await eventually('a page', async () => (await count(page)) > before + 200)
  await keys(page, 'j')
  const gap = row(page, '4,800 more, load 200')
  for (let i = 0; i < 20 && !(await gap.count()); i++) await keys(page, 'PageDown')
  const one = await count(page)
  await gap.click()
  await eventually('a further page', async () => (await count(page)) === one + 200)
  await end()
})

test('the time zooms and pans: wheel, brush, handles, keys; back returns', async () => {
  const { page, end } = await show('writes')
  const part = () => ['from', 'to'].map((n) => Number(parameter(page, n) ?? NaN))
  const plot = await page.locator('.waterfall .time').first().boundingBox()
  await page.mouse.move(plot.x + 100, plot.y + 10)
  await page.keyboard.down('Control')
  await page.mouse.wheel(0, -300)
  await page.keyboard.up('Control')
  await eventually('zoomed in', () => part()[1] - part()[0] < 4000)
  const [from, to] = part()
  await keys(page, 'Shift+ArrowRight')
  await eventually('panned', () => part()[0] > from)
  assert.ok(Math.abs(part()[1] - part()[0] - (to - from)) < 1)
  await keys(page, '0')
  await has(page, 'from', '')
  const map = await page.locator('.map').boundingBox()
  await page.mouse.move(map.x + map.width * 0.25, map.y + 20)
  await page.mouse.down()
  await page.mouse.move(map.x + map.width * 0.5, map.y + 20, { steps: 4 })
  await page.mouse.up()
  await eventually('brushed', () => Math.abs(part()[1] - part()[0] - 1050) < 30)
  const brushed = part()[0]
  await page.mouse.move(map.x + map.width * 0.375, map.y + 20)
  await page.mouse.down()
  await page.mouse.move(map.x + map.width * 0.475, map.y + 20, { steps: 4 })
  await page.mouse.up()
  await eventually('the brush moved', () => part()[0] > brushed + 300)
  await page.goBack()
  await eventually('back', () => part()[0] === brushed)
  await page.goBack()
  await has(page, 'from', '')
  await page.locator('.handle.to').focus()
  await keys(page, 'ArrowLeft', 'ArrowLeft')
  await eventually('the handle', () => Math.abs(part()[1] - part()[0] - 4200 * 0.96) < 30)
  await keys(page, 'ArrowLeft')
  await page.locator('.map').dblclick()
  await has(page, 'from', '')
  await row(page, 'sandbox').first().click()
  await keys(page, 'z')
  await eventually('zoomed to the row', () => part()[1] - part()[0] < 300)
  const before = part()[0]
  await page.mouse.move(plot.x + 200, plot.y + 100)
  await page.mouse.down()
  await page.mouse.move(plot.x + 100, plot.y + 100, { steps: 4 })
  await page.mouse.up()
  await eventually('dragged', () => part()[0] > before)
  await keys(page, '-', '-')
  await eventually('zoomed out', () => part()[1] - part()[0] > 500)
  await keys(page, 'Escape')
  await has(page, 'from', '')
  await end()
})

test('a search finds hidden spans, and steps through them', async () => {
  const { page, end } = await show('many')
  await keys(page, '/')
  await page.keyboard.type('web-6cf-05 readiness')
  await eventually('100 matches', async () => (await page.locator('.found').innerText()) === '100')
  await keys(page, 'Enter')
  await eventually('the first', async () => /readiness/.test(await selected(page).innerText().catch(() => '')))
  await eventually('its place', async () => (await page.locator('.found').innerText()) === '1 of 100')
  assert.ok(await selected(page).evaluate((e) => e.classList.contains('match')))
  await keys(page, 'n', 'n')
  await eventually('the third', async () => (await page.locator('.found').innerText()) === '3 of 100')
  await keys(page, 'N')
  await eventually('the second', async () => (await page.locator('.found').innerText()) === '2 of 100')
  await has(page, 'find', 'web-6cf-05 readiness')
  await has(page, 'at', await selected(page).getAttribute('data-row'))
  await page.reload()
  await eventually('the same', async () => (await page.locator('.found').innerText()) === '2 of 100')
  await keys(page, 'Escape')
  await has(page, 'find', '')
  await keys(page, '/')
  await page.keyboard.type('nothing like this')
  await eventually('none', async () => /none/.test(await page.locator('.found').innerText()))
  await end()
})

test('the keys move, fold, and jump', async () => {
  const { page, end } = await show('writes')
  await keys(page, 'j', 'j', 'j')
  await eventually('the third row', async () => /ReplicaSet/.test(await selected(page).innerText()))
  const third = await selected(page).getAttribute('data-row')
  await eventually('the focus', async () => (await page.evaluate(() => document.activeElement.dataset.row)) === third)
  const all = await count(page)
  await keys(page, 'ArrowLeft')
  await eventually('folded', async () => (await count(page)) === 3)
  await has(page, 'shut', await selected(page).getAttribute('data-row'))
  await keys(page, 'ArrowLeft')
  await eventually('the row above', async () => /Deployment/.test(await selected(page).innerText()))
  await keys(page, 'e')
  await eventually('unfolded', async () => (await count(page)) === all)
  await keys(page, 'E')
  await eventually('folded', async () => (await count(page)) < all)
  await keys(page, 'e', 'End')
  await eventually('the last row', async () => /readiness/.test(await selected(page).innerText()))
  // The last row comes into another block, and keeps the focus.
  const focused = () => page.evaluate(() => document.activeElement.dataset.row)
  await row(page, 'Pod web-6cf').first().locator('.fold').click()
  await eventually('a folded Pod', async () => (await count(page)) < all)
  await keys(page, 'End')
  const low = await selected(page).getAttribute('data-row')
  await eventually('the focus of the last row', async () => (await focused()) === low)
  await keys(page, 'e')
  await eventually('unfolded', async () => (await count(page)) === all)
  assert.equal(await focused(), low)
  await keys(page, 'Home', 'k')
  await eventually('the first row', async () => (await selected(page).getAttribute('aria-rowindex')) === '1')
  await keys(page, '?')
  assert.match(await page.locator('dialog').innerText(), /critical path/)
  await end()
})

test('details: writes with what they changed, times with their sources, events, links', async () => {
  const { page, end } = await show('writes', '')
  await row(page, 'Deployment web').click()
  await details(page).locator('.changes-of').first().waitFor()
  const text = await details(page).innerText()
  for (const want of ['spec.replicas', '2 → 4', 'registry.example.com/shop/web:1', 'added', 'removed', 'and 3 further fields', 'alice@example.com', 'observed']) {
    assert.ok(text.includes(want), want)
  }
  const lines = await page.locator('.timed > li').evaluateAll((list) =>
    list.map((li) => {
      const [time, text] = [li.querySelector('.when'), li.querySelector('p, div')].map((e) => e.getBoundingClientRect())
      return { end: Math.round(time.right), before: time.right <= text.left, level: Math.abs(time.top - text.top) < 4 }
    }),
  )
  assert.ok(lines.length > 1)
  for (const line of lines) assert.deepEqual(line, { end: lines[0].end, before: true, level: true }, 'a time is in the first column')
  await row(page, 'pull image').first().click()
  await eventually('the source of times', async () => /exact: a Kubernetes Event/.test(await details(page).innerText()))
  assert.match(await details(page).innerText(), /below web-6cf-x0 by the owner reference/)
  await end()
  const failed = await show('unschedulable')
  await row(failed.page, 'schedule').click()
  await eventually('events', async () => /untolerated taint/.test(await details(failed.page).innerText()))
  await failed.end()
})

test('a Pod that fits nowhere says why, and links to the changes of the nodes', async () => {
  const { page, end } = await show('rejected')
  await row(page, 'schedule').first().click()
  const panel = details(page)
  await panel.locator('.because', { hasText: 'No node of 10 fits: 6 lack memory (NodeResourcesFit)' }).waitFor()
  const change = panel.locator('.node-changes li')
  assert.match(await change.innerText(), /^Node node-8 was cordoned: alice changed Node node-8 \(unschedulable <none> → true\)/)
  assert.equal(await change.count(), 1)
  await change.locator('a').click()
  await eventually('the trace of the node', () => page.url().includes(samples.traces.cordon))
  await page.locator('.verdict', { hasText: 'Node node-8 converged' }).waitFor()
  await end()

  const path = join(dir, 'rejected.html')
  writeFileSync(path, await (await fetch(`${samples.url}/api/v1/traces/${samples.traces.rejected}?format=html`)).text())
  const file = await open(browser, '', { url: pathToFileURL(path).href, allowed: reading })
  await row(file.page, 'schedule').first().click()
  await details(file.page).locator('.because', { hasText: 'No node of 10 fits: 6 lack memory (NodeResourcesFit)' }).waitFor()
  assert.equal(await details(file.page).locator('.node-changes').count(), 0, 'a file has no other traces')
  await file.end()
})

test('links have the words of their traces, by one request', async () => {
  const asked = []
  const linked = await show('heal', '', { prepare: (page) => page.on('request', (r) => asked.push(r.url())) })
  const link = details(linked.page).locator('section a', { hasText: 'kubectl delete pod' })
  await link.waitFor()
  assert.equal(asked.filter((url) => url.includes('/api/v1/traces?id=')).length, 1, 'one request for the words of links')
  assert.deepEqual(asked.filter((url) => url.includes(`${samples.traces.delete}/tree`)), [], 'no tree of another trace')
  await link.click()
  await eventually('the other trace', () => linked.page.url().includes(samples.traces.delete))
  await linked.page.locator('.verdict', { hasText: 'The change' }).waitFor()
  await linked.page.goBack()
  await details(linked.page).locator('section a', { hasText: 'kubectl delete pod' }).waitFor()
  await linked.end()
})

test('an open trace grows while one looks, and the selection stays', async () => {
  await samples.grow(2)
  const { page, end } = await show('growing')
  await row(page, 'Pod web-6cf-01').click()
  const took = await page.locator('.verdict').innerText()
  await samples.grow(2)
  await row(page, 'Pod web-6cf-03').waitFor()
  assert.match(await selected(page).innerText(), /web-6cf-01/)
  await eventually('the time goes on', async () => (await page.locator('.verdict').innerText()) !== took)
  await eventually('striped bars', async () => (await pixels(page, 'Deployment web', '--bar')) > 100)
  await samples.grow(8)
  await row(page, '12 × Pod').waitFor()
  await eventually('the selected span is unfolded', async () => /web-6cf-01/.test(await selected(page).innerText().catch(() => '')))
  await samples.grow(0, true)
  await page.locator('.verdict', { hasText: 'converged' }).waitFor()
  assert.match(await selected(page).innerText(), /web-6cf-01/)
  await end()
})

test('an unknown trace, and a server that goes away and comes back', async () => {
  const unknown = await open(browser, '/trace/0123456789abcdef0123456789abcdef', { url: samples.url, rows: false, allowed: [refused(404)] })
  await unknown.page.locator('h1', { hasText: 'There is no such trace' }).waitFor()
  await unknown.end()
  const door = await gate(samples.address)
  const { page, end } = await open(browser, `/trace/${samples.traces.many}`, { url: door.url, allowed: ['console: Failed to load resource: net::ERR_'] })
  door.close()
  await row(page, '990 ×').click()
  await page.locator('.banner').waitFor()
  assert.equal(await row(page, 'ReplicaSet').count(), 1)
  door.open()
  await page.locator('.banner').waitFor({ state: 'detached' })
  await row(page, 'web-6cf-0000').waitFor()
  await end()
  door.end()
})

// altered changes the trees of an answer: n counts them.
const altered = (change) => async (page) => {
  let n = 0
  await page.route(/\/tree$/, async (route) => {
    const response = await route.fetch()
    const tree = await response.json()
    await change(tree, ++n)
    await route.fulfill({ response, json: tree }).catch(() => undefined) // an aborted request
  })
}
const opened = (tree) => {
  tree.summary.open = true
  tree.summary.state = 'running'
  delete tree.summary.outcome
  delete tree.why
}
// busy is a stream that reports a change of a trace, ends, and so begins again each two seconds.
const busy = (page, name) =>
  page.route(/\/api\/v1\/watch/, (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: `event: summary\ndata: {"traceId":"${samples.traces[name]}"}\n\n` }))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

test('a trace that ends while its tab is hidden shows its end', async () => {
  const { page, end } = await show('writes', '', {
    async prepare(page) {
      await page.addInitScript(() => {
        globalThis.away = true
        Object.defineProperty(document, 'hidden', { get: () => globalThis.away })
      })
      await altered((tree, n) => n === 1 && opened(tree))(page)
    },
  })
  await page.locator('.outcome', { hasText: 'running' }).first().waitFor()
  await page.evaluate(() => {
    globalThis.away = false
    document.dispatchEvent(new Event('visibilitychange'))
  })
  await page.locator('.meta .outcome', { hasText: 'converged' }).waitFor()
  await end()
})

test('a trace with constant changes and slow answers is shown', async () => {
  const { page, end } = await show('writes', '', {
    async prepare(page) {
      await busy(page, 'writes')
      await altered(async (tree, n) => {
        opened(tree)
        tree.summary.edits = [`answer ${n}`]
        if (n > 1) await pause(4000)
      })(page)
    },
  })
  await page.locator('.edit', { hasText: /answer [23]/ }).waitFor({ timeout: 20_000 })
  await end()
})

test('a list that is unfolded during a reload stays', async () => {
  let held
  const { page, end } = await show('joined', '', {
    async prepare(page) {
      await page.route(/\?expand=/, async (route) => {
        const wait = held?.()
        held = undefined
        await wait
        await route.continue()
      })
      await altered(opened)(page)
    },
  })
  await row(page, 'spans of other components').first().click()
  await row(page, 'POST /apis').waitFor()
  // The reload waits for its lists.
  let go
  const waits = new Promise((resolve) => {
    held = () => {
      resolve()
      return new Promise((resolve) => (go = resolve))
    }
  })
  await busy(page, 'joined')
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { get: () => globalThis.away, configurable: true })
    for (const away of [true, false]) {
      globalThis.away = away
      document.dispatchEvent(new Event('visibilitychange'))
    }
  })
  await waits
  await row(page, 'spans of other components').last().click()
  await row(page, 'syncPod').waitFor()
  const all = await count(page)
  go()
  await pause(1000)
  assert.equal(await count(page), all)
  await row(page, 'syncPod').waitFor()
  await end()
})

test('errors of the server have words and a way on', async () => {
  let status = 500
  let part = /\/tree$/
  const { page, end } = await show('many', '', {
    rows: false,
    allowed: [refused(500), refused(429)],
    prepare: (page) =>
      page.route(/\/api\/v1\/traces\//, (route) =>
        part?.test(route.request().url()) ? refuse(route, status, 'the archive is on fire') : route.continue()),
  })
  const again = page.locator('button', { hasText: 'Try again' })
  const words = (of) => page.locator(of, { hasText: 'the archive is on fire' })
  await words('.blank').waitFor()
  await again.click()
  await words('.blank').waitFor()
  part = /\?expand=/
  await again.click()
  await row(page, '990 × Pod').click()
  await words('.trace .banner').waitFor()
  part = undefined
  await again.click()
  await row(page, 'web-6cf-0000').waitFor()
  await page.locator('.trace .banner').waitFor({ state: 'detached' })
  part = /\/spans\//
  await row(page, 'ReplicaSet').click()
  await words('.details').waitFor()
  part = undefined
  await details(page).locator('button', { hasText: 'Try again' }).click()
  await details(page).locator('.facts').first().waitFor()
  ;[part, status] = [/\/find\?/, 429]
  await keys(page, '/')
  await page.keyboard.type('readiness')
  await words('.trace .banner').waitFor()
  part = undefined
  await again.click()
  await eventually('matches', async () => /^[\d,]+$/.test(await page.locator('.found').innerText()))
  await keys(page, 'Escape')
  await end()
})

test('a failed download says what the server said, and asks for a token', async () => {
  let status = 500
  const { page, end } = await show('writes', '', {
    allowed: [refused(500), refused(401)],
    prepare: (page) => page.route(/format=perfetto/, (route) => refuse(route, status, 'the archive is on fire')),
  })
  const download = async () => {
    await page.locator('.menu > summary').click()
    await page.locator('.menu button', { hasText: 'Perfetto' }).click()
  }
  await download()
  await page.locator('.said', { hasText: 'Not downloaded: the archive is on fire' }).waitFor()
  await pause(3000)
  assert.equal(await page.locator('.said').innerText(), 'Not downloaded: the archive is on fire', 'an error stays')
  status = 401
  await download()
  await page.locator('dialog', { hasText: 'token' }).waitFor()
  await end()
})

test('work that ends after the trace was left does not change the address', async () => {
  const late = []
  const { page, end } = await show('many', '', {
    prepare: (page) =>
      page.route(/\?expand=/, async (route) => {
        late.push(route)
        await pause(1500)
        await route.continue()
        late.pop()
      }),
  })
  await keys(page, 'e', 'g', 'c')
  await page.waitForURL(`${samples.url}/changes`)
  assert.ok(late.length > 0, 'a list is on its way')
  await eventually('the answers', () => late.length === 0)
  await pause(500)
  assert.equal(page.url(), `${samples.url}/changes`)
  await end()
})

test('hostile names are text', async () => {
  const { page, end } = await show('hostile')
  const text = await page.locator('body').innerText()
  assert.ok(text.includes('\\x1b[31mred'))
  assert.ok(!/[\u001b\u202e\u2066]/.test(text))
  await keys(page, 'j', 'j')
  await eventually('details', async () => /failed/.test(await details(page).innerText()))
  assert.ok(!/[\u001b\u202e\u2066]/.test(await page.locator('body').innerText()))
  await end()
})

for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of [['desktop', { width: 1280, height: 800 }], ['phone', { width: 390, height: 844 }]]) {
    test(`labels and contrast of a trace: ${colorScheme}, ${name}`, async () => {
      for (const trace of ['writes', 'crashloop', 'many', 'unschedulable']) {
        const { page, end } = await show(trace, '', { colorScheme, viewport, bypassCSP: true })
        const check = async () => {
          await page.evaluate(axe)
          const { violations } = await page.evaluate(() => window.axe.run())
          return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`)
        }
        await page.locator('.details .jump').first().waitFor()
        assert.deepEqual(await check(), [], trace)
        await keys(page, 'j', 'j', 'j')
        await page.locator('.details .facts').first().waitFor()
        await page.locator('.menu > summary').click()
        assert.deepEqual(await check(), [], `${trace} with a span`)
        assert.ok(await page.locator('.details').isVisible())
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'no sideways scrolling')
        await end()
      }
    })
  }
}

test('sharing: link, Markdown, and downloads', async () => {
  const { page, context, end } = await show('writes')
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText())
  await row(page, 'sandbox').first().click()
  await keys(page, 'y')
  await page.locator('.said', { hasText: 'Link copied' }).waitFor()
  const copied = await clipboard()
  await eventually('the address', () => page.url() === copied)
  assert.match(page.url(), /at=[0-9a-f]{16}/)
  await page.locator('.menu > summary').click()
  await page.locator('.menu button', { hasText: 'Markdown' }).click()
  await page.locator('.said', { hasText: 'Markdown copied' }).waitFor()
  const markdown = await clipboard()
  assert.match(markdown, /\*\*update Deployment default\/web: Deployment web converged/)
  assert.match(markdown, /\| pull image nginx:1.27 \| Pod default\/web-6cf-x3 \| [\d.]+ s \| 6\d % \|/)
  assert.match(markdown, /\[Trace [0-9a-f]{8}\]\(http/)
  const download = async (name) => {
    await page.locator('.menu > summary').click()
    const [file] = await Promise.all([page.waitForEvent('download'), page.locator('.menu button', { hasText: name }).click()])
    return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') }
  }
  const otlp = await download('OTLP')
  assert.ok(JSON.parse(otlp.text).resourceSpans.length > 2)
  assert.match(otlp.name, /^trace-[0-9a-f]{8}\.json$/)
  assert.ok(JSON.parse((await download('Perfetto')).text).traceEvents.length > 20)
  assert.match((await download('Mermaid')).text, /^flowchart LR/)
  assert.match((await download('HTML')).text, /^<!doctype html>/)
  await end()
})

test('one HTML file shows the same without a server', async () => {
  for (const name of ['many', 'hostile', 'joined', 'writes']) {
    const path = join(dir, `${name}.html`)
    const response = await fetch(`${samples.url}/api/v1/traces/${samples.traces[name]}?format=html`)
    const text = await response.text()
    writeFileSync(path, text)
    assert.equal(text.split('</script').length, 3, 'only the own elements end')
    const file = pathToFileURL(path).href
    const { page, context, end } = await open(browser, '', { url: file, allowed: reading })
    await context.setOffline(true)
    assert.ok((await page.locator('.verdict').innerText()).length > 10)
    assert.equal(await page.evaluate(() => fetch('https://example.com').then(() => 'sent', () => 'refused')).catch(() => 'refused'), 'refused')
    if (name === 'many') {
      await row(page, '990 ×').click()
      await row(page, 'web-6cf-0000').waitFor()
      await keys(page, '/')
      await page.keyboard.type('web-6cf-0777 pull')
      await eventually('a match', async () => (await page.locator('.found').innerText()) === '1')
      await keys(page, 'Enter')
      await eventually('the span', async () => /pull image/.test(await selected(page).innerText().catch(() => '')))
      assert.match(await details(page).locator('.way').innerText(), /Pod web-6cf-0777/)
      await eventually('the address', () => /#.*at=[0-9a-f]{16}/.test(page.url()))
      await page.reload()
      await eventually('the same span', async () => /pull image/.test(await selected(page).innerText().catch(() => '')))
      assert.ok((await pixels(page, 'pull image', '--bar')) > 50)
    }
    if (name === 'joined') {
      await row(page, 'spans of other components').first().click()
      await row(page, 'POST /apis').waitFor()
    }
    if (name === 'writes') {
      await row(page, 'Deployment web').click()
      await eventually('the changes', async () => /2 → 4/.test(await details(page).innerText()))
    }
    await context.setOffline(false)
    await page.close()
    // The refused request above is the only violation.
    await end().catch((err) => {
      const left = err.actual?.filter((f) => !/example\.com/.test(f))
      assert.deepEqual(left, [])
    })
  }
})

test('links to other traces that cannot be read are not silent', async () => {
  const { page, end } = await show('writes', '', {
    allowed: [refused(422)],
    prepare: (page) => page.route(/\/causes\?/, (route) => refuse(route, 422, 'the archive is on fire')),
  })
  await page.locator('section', { hasText: 'Linked traces' }).getByText('They are missing or old. the archive is on fire').waitFor()
  await end()
})
