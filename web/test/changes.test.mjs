// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { eventually, launch, open, parameter, setup } from './browser.mjs'
import { hostile } from './seed.mjs'
import { gate, kubectl, startServer } from './server.mjs'

let browser
before(async () => {
  browser = await launch()
})
after(() => browser.close())

const row = (page, text) => page.locator('[data-row]', { hasText: text })

test('a change of the cluster appears by itself', async () => {
  const { page, end } = await open(browser, '/changes')
  await kubectl(setup.cluster, ['create', 'configmap', 'just-now'])
  await row(page, 'just-now').waitFor()
  assert.match(await page.locator('[data-row]').first().innerText(), /just-now/)
  await end()
})

test('new changes do not move what one reads', async () => {
  const { page, end } = await open(browser, '/changes?fold=off')
  const window = page.locator('.window')
  await window.evaluate((e) => (e.scrollTop = 1234))
  // The first row that is wholly visible, and its place.
  const first = () =>
    window.evaluate((e) => {
      const top = e.getBoundingClientRect().top
      const rows = [...e.querySelectorAll('[data-row]')].map((r) => ({ id: r.dataset.row, y: Math.round(r.getBoundingClientRect().top - top) }))
      return rows.filter((r) => r.y >= 0).sort((a, b) => a.y - b.y)[0]
    })
  await page.waitForTimeout(200) // a frame after the scroll
  const before = await first()
  const height = await window.evaluate((e) => e.scrollHeight)
  await kubectl(setup.cluster, ['create', 'configmap', 'above'])
  await eventually('the list is longer', async () => (await window.evaluate((e) => e.scrollHeight)) > height)
  await page.waitForTimeout(200)
  assert.deepEqual(await first(), before)
  await window.evaluate((e) => (e.scrollTop = 0))
  await row(page, 'above').waitFor()
  await end()
})

test('an open change grows, and says why it is stuck', async () => {
  const { page, end } = await open(browser, '/changes')
  await kubectl(setup.cluster, ['apply', '-f', '-'], JSON.stringify({
    apiVersion: 'v1', kind: 'Pod', metadata: { name: 'nowhere', namespace: 'default' },
    spec: { nodeSelector: { gpu: 'true' }, containers: [{ name: 'c', image: 'c:1' }] },
  }))
  const stuck = row(page, 'nowhere')
  await stuck.locator('.state.stuck').waitFor()
  assert.match(await stuck.locator('.why').innerText(), /nowhere/)
  const took = () => stuck.locator('.took').innerText()
  const first = await took()
  await eventually('the duration grows', async () => (await took()) !== first)
  await kubectl(setup.cluster, ['delete', 'pod', 'nowhere'])
  await eventually('it ends', async () => (await page.locator('[data-row]', { hasText: 'nowhere' }).locator('.state.stuck').count()) === 0)
  await end()
})

test('a question is written with completion, and its state is in the address', async () => {
  const { page, end } = await open(browser, '/changes', { allowed: ['400 (Bad Request)'] })
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.type('names')
  const options = page.locator('.cm-tooltip-autocomplete li')
  await options.first().waitFor()
  assert.match(await options.first().innerText(), /namespace/)
  await page.waitForTimeout(150) // completion ignores a key that comes at once
  await page.keyboard.press('Tab')
  await page.keyboard.type(' == ')
  await page.locator('.cm-tooltip-autocomplete li', { hasText: '"shop"' }).waitFor()
  await page.keyboard.type('"shop')
  await page.locator('.cm-tooltip-autocomplete li', { hasText: '"shop"' }).waitFor()
  await page.waitForTimeout(150)
  await page.keyboard.press('Enter')
  assert.equal(await page.locator('.cm-content').innerText(), 'namespace == "shop"')
  await page.keyboard.press('Enter')
  await eventually('the address has the question', () => parameter(page, 'where') === 'namespace == "shop"')
  await eventually('all rows match', async () => {
    const texts = await page.locator('[data-row] .what').allInnerTexts()
    return texts.length > 0 && texts.every((t) => t.includes('shop/'))
  })
  await page.goBack()
  await eventually('back removes it', async () => (await page.locator('.cm-content').innerText()).trim() === '')
  await end()
})

test('completion takes a value between quotes', async () => {
  const { page, end } = await open(browser, '/changes?where=outcome+%3D%3D+%22failed%22', { allowed: ['400 (Bad Request)'] })
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.press('End')
  await page.keyboard.type(' && kind == "', { delay: 40 })
  await page.locator('.cm-tooltip-autocomplete li', { hasText: '"Pod"' }).waitFor()
  await page.waitForTimeout(150)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  assert.match(await page.locator('.cm-content').innerText(), /^outcome == "failed" && kind == "\w+"$/)
  await end()
})

test('an error of a question is shown in its place, with a way out', async () => {
  const { page, end } = await open(browser, '/changes', { allowed: ['400 (Bad Request)'] })
  await page.keyboard.press('/')
  await page.locator('.cm-content').waitFor()
  await page.keyboard.type('phase.pull > 30 && kind == "Pod"')
  await page.locator('.problem', { hasText: 'duration("30s")' }).waitFor()
  assert.equal(await page.locator('.cm-wrong').innerText(), '30')
  await page.keyboard.press('Escape')
  await eventually('Escape restores the box', async () => (await page.locator('.problem').count()) === 0)
  await end()
})

test('the box works as a plain input, without the editor', async () => {
  const { page, end } = await open(browser, '/changes', { allowed: ['editor.js', 'ERR_FAILED', '400 (Bad Request)'] })
  await page.route('**/editor.js', (route) => route.abort())
  await page.keyboard.press('/')
  await page.keyboard.type('kin == "Pod"')
  await page.locator('.problem pre').waitFor()
  assert.match(await page.locator('.problem').innerText(), /kind/)
  await page.locator('#search').fill('kind == "Secret"')
  await page.keyboard.press('Enter')
  await eventually('all rows match', async () => {
    const texts = await page.locator('[data-row] .what').allInnerTexts()
    return texts.length > 0 && texts.every((t) => t.includes('Secret'))
  })
  await end()
})

test('facets add to the question, and take away', async () => {
  const { page, end } = await open(browser, '/changes?where=duration+%3E+duration%28%221s%22%29')
  const value = (name) => page.locator('.facet .value', { hasText: name }).first()
  await value('payments').click()
  await eventually('one', () => parameter(page, 'where') === 'duration > duration("1s") && namespace == "payments"')
  await value('search').click()
  await eventually('two', () => parameter(page, 'where') === 'duration > duration("1s") && namespace in ["payments", "search"]')
  await value('failed').click({ modifiers: ['Shift'] })
  await eventually('not', () => parameter(page, 'where')?.startsWith('-failed && '))
  await eventually('rows, none of them failed', async () =>
    await page.locator('[data-row]').count() > 0 && await page.locator('[data-row] .state.failed').count() === 0)
  for (const name of ['payments', 'search', 'failed']) await value(name).click()
  await eventually('none', () => parameter(page, 'where') === 'duration > duration("1s")')
  await end()
})

test('a part of the time is brushed with the mouse and with the keys', async () => {
  const { page, end } = await open(browser, '/changes')
  const bars = page.locator('.bars')
  await bars.locator('path').first().waitFor({ state: 'attached' })
  const box = await bars.boundingBox()
  await page.mouse.move(box.x + box.width * 0.5, box.y + 20)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.6, box.y + 20, { steps: 5 })
  await page.mouse.up()
  await eventually('the address has the part', () => parameter(page, 'since') && parameter(page, 'until'))
  const since = Date.parse(parameter(page, 'since'))
  const until = Date.parse(parameter(page, 'until'))
  assert.ok(until - since > 2 * 3600e3 && until - since < 3 * 3600e3, `${(until - since) / 3600e3} hours`)
  await eventually('all rows are of that time', async () => {
    const times = await page.locator('[data-row] time').evaluateAll((all) => all.map((t) => Date.parse(t.dateTime)))
    return times.length > 0 && times.every((t) => t >= since && t < until)
  })
  await bars.focus()
  await page.keyboard.press('ArrowRight')
  await eventually('the part moves', () => Date.parse(parameter(page, 'since')) > since)
  await page.keyboard.press('Shift+ArrowLeft')
  await eventually('it shrinks', () => Date.parse(parameter(page, 'until')) === until)
  await page.keyboard.press('Escape')
  await eventually('it goes', () => parameter(page, 'since') === null)
  await page.keyboard.press('ArrowLeft')
  await eventually('a key begins one', () => parameter(page, 'since') !== null)
  await end()
})

test('alike changes are folded, with their number', async () => {
  const { page, end } = await open(browser, '/changes')
  const group = page.locator('[data-row].group').first()
  const id = await group.getAttribute('data-row')
  const times = Number(/(\d+) ×/.exec(await group.innerText())[1])
  assert.ok(times >= 3)
  assert.equal(await group.getAttribute('aria-expanded'), 'false')
  await group.click()
  assert.equal(await page.locator('[data-row].member').count(), times)
  await page.locator(`[data-row="${id}"]`).click()
  await eventually('folded again', async () => (await page.locator('[data-row].member').count()) === 0)
  const at = () => page.locator('[data-row].selected').getAttribute('data-row')
  do await page.keyboard.press('j')
  while ((await at()) !== id)
  await page.keyboard.press('f')
  await eventually('f unfolds', async () => (await page.locator('[data-row].member').count()) === times)
  await page.keyboard.press('j')
  await page.keyboard.press('f')
  await eventually('f at a member folds', async () => (await page.locator('[data-row].member').count()) === 0)
  await eventually('the group is selected', () => parameter(page, 'at') === id)
  await page.keyboard.press('F')
  await eventually('nothing is folded', async () => (await page.locator('[data-row].group').count()) === 0)
  await eventually('so says the address', () => parameter(page, 'fold') === 'off')
  await end()
})

test('unfolded rows are in the address: back, a reload and a copied link have them', async () => {
  // Only visible rows are in the document: the window is high.
  const tall = { viewport: { width: 1280, height: 2400 }, allowed: ['400'] }
  const { page, end } = await open(browser, '/changes', tall)
  const members = () => page.locator('[data-row].member').count()
  const group = page.locator('[data-row].group').first()
  const times = Number(/(\d+) ×/.exec(await group.innerText())[1])
  await group.click()
  await eventually('unfolded', async () => (await members()) === times)
  await eventually('so says the address', () => /^[0-9a-f]{8}$/.test(parameter(page, 'open') ?? ''))
  const second = page.locator('[data-row].group[aria-expanded=false]').first()
  const more = Number(/(\d+) ×/.exec(await second.innerText())[1])
  await second.click()
  await eventually('two groups', () => parameter(page, 'open')?.split('.').length === 2)
  assert.equal(await members(), times + more)
  const link = new URL(page.url())
  // Another view, and back.
  await page.locator('[data-row].member a').first().click()
  await page.waitForURL(/\/trace\//)
  await page.goBack()
  await eventually('back returns to both', async () => (await members()) === times + more)
  await page.reload()
  await eventually('a reload, too', async () => (await members()) === times + more)
  // Another question has other groups, and "back" the present ones.
  await page.locator('.facet .value', { hasText: 'shop' }).first().click()
  await eventually('the question', () => parameter(page, 'where') !== null && parameter(page, 'open') === null)
  await eventually('all folded', async () => (await members()) === 0)
  await page.goBack()
  await eventually('both again', async () => (await members()) === times + more)
  await page.locator('[data-row].group[aria-expanded=true]').first().click()
  await eventually('one remains', async () => (await members()) === more)
  await eventually('in the address, too', () => parameter(page, 'open')?.length === 8)
  await end()
  const copied = await open(browser, link.pathname + link.search, tall)
  await eventually('the link has both', async () => (await copied.page.locator('[data-row].member').count()) === times + more)
  await copied.end()
})

test('keys move, open and return; deep links select', async () => {
  const { page, end } = await open(browser, '/changes?fold=off')
  for (let i = 0; i < 4; i++) await page.keyboard.press('j')
  await page.keyboard.press('k')
  const at = await page.locator('[data-row].selected').getAttribute('data-row')
  assert.equal(at, await page.locator('[data-row]').nth(2).getAttribute('data-row'), 'three down from nothing, one of them selects the first')
  await eventually('the address has the row', () => parameter(page, 'at') === at)
  assert.equal(await page.evaluate(() => document.activeElement?.dataset.row), at)
  await page.keyboard.press('Enter')
  await page.waitForURL(`**/trace/${at}`)
  await page.goBack()
  await page.locator(`[data-row="${at}"].selected`).waitFor()
  // A change that is not among the first two hundred.
  const deep = await page.evaluate(async () => {
    const first = await (await fetch('/api/v1/traces?since=24h&limit=900')).json()
    return first.traces[850].traceId
  })
  await page.goto(`${setup.server.url}/changes?fold=off&at=${deep}`)
  await page.locator(`[data-row="${deep}"].selected`).waitFor()
  assert.ok(await page.locator(`[data-row="${deep}"]`).isVisible())
  await page.keyboard.press('?')
  await page.locator('dialog', { hasText: 'fold or unfold' }).waitFor()
  await page.keyboard.press('Escape')
  await eventually('Escape closes the help', async () => (await page.locator('dialog').count()) === 0)
  await page.goto(`${setup.server.url}/nothing/here`)
  await page.locator('h1', { hasText: 'nothing at this address' }).waitFor()
  await page.keyboard.press('g')
  await page.keyboard.press('c')
  await page.waitForSelector('[data-row]')
  await end()
})

test('a server that goes away and comes back', async () => {
  const front = await gate(setup.server.address)
  const { page, end } = await open(browser, '/changes', { url: front.url, allowed: ['ERR_', 'Failed to load resource'] })
  front.close()
  await page.locator('.banner', { hasText: 'does not answer' }).waitFor({ timeout: 10_000 })
  assert.ok((await page.locator('[data-row]').count()) > 10, 'the rows stay')
  await kubectl(setup.cluster, ['create', 'configmap', 'meanwhile'])
  front.open()
  await eventually('the banner goes', async () => (await page.locator('.banner').count()) === 0)
  await row(page, 'meanwhile').waitFor()
  front.end()
  await end()
})

test('an empty store, and a token', async () => {
  const token = 'a-token-of-the-tests'
  const file = join(setup.dir, 'token')
  writeFileSync(file, token, { mode: 0o600 })
  const server = await startServer(setup.cluster, join(setup.dir, 'second'), `api: {tokenFile: ${file}}\n`)
  try {
    const { page, context, end } = await open(browser, '/changes', { url: server.url, rows: false, allowed: ['401'] })
    const dialog = page.locator('dialog')
    await dialog.waitFor()
    await page.locator('#token').fill('another-token-than-it')
    await page.keyboard.press('Enter')
    await dialog.locator('[role=alert]').waitFor()
    await page.locator('#token').fill(token)
    await page.keyboard.press('Enter')
    await page.locator('.blank', { hasText: 'No change yet' }).waitFor()
    await page.reload()
    await page.locator('.blank', { hasText: 'No change yet' }).waitFor()
    assert.equal((await context.cookies()).length, 0)
    await kubectl(setup.cluster, ['create', 'configmap', 'first'])
    await row(page, 'first').waitFor()
    await end()
  } finally {
    await server.stop()
  }
})

test('hostile names are text', async () => {
  const { page, end } = await open(browser, '/changes?fold=off')
  await row(page, '<script>').first().waitFor()
  const text = await page.locator('.window').innerText()
  for (const shown of ['<script>document.title', '<img src=x onerror=alert(1)>', '\\x1b[31mred', 'line\\nbreak\\ttab', '\\u202egnp.exe', hostile[5]]) {
    assert.ok(text.includes(shown), shown)
  }
  assert.equal(await page.title(), 'Changes · Lifeline')
  assert.equal(await page.locator('main img, main script').count(), 0)
  const isolated = await page.locator('bdi', { hasText: hostile[5] }).first().evaluate((e) => getComputedStyle(e).unicodeBidi)
  assert.equal(isolated, 'isolate')
  // A name as the value of a facet becomes a text of a question.
  const server = await page.evaluate(async () => {
    const answer = await fetch(`/api/v1/traces?where=${encodeURIComponent('namespace == "hostile \\u202e"')}`)
    return (await answer.json()).traces.length
  })
  assert.equal(server, 4)
  await end()
})

test('a phone', async () => {
  const { page, end } = await open(browser, '/changes', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true })
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
  const first = await page.locator('[data-row]').first().boundingBox()
  assert.ok(first.width <= 390 && first.height >= 44, JSON.stringify(first))
  await page.locator('.facets-switch').tap()
  await page.locator('.facet .value', { hasText: 'shop' }).first().tap()
  await eventually('the question', () => parameter(page, 'where') === 'namespace == "shop"')
  await page.locator('.facets-switch').tap()
  await page.locator('[data-row]:not(.group)').first().tap()
  await page.waitForURL(/\/trace\//)
  await end()
})

test('an incomplete list says so', async () => {
  const { page, end } = await open(browser, '/changes', { rows: false })
  await page.route('**/api/v1/traces?*', async (route) => {
    const answer = await route.fetch()
    await route.fulfill({ json: { ...(await answer.json()), incomplete: 'the archive is unavailable: it is being opened' } })
  })
  await page.reload()
  await page.locator('.incomplete', { hasText: 'it is being opened' }).waitFor()
  await end()
})

test('of thousands of rows, only those are made that come into the window', async () => {
  const { page, end } = await open(browser, '/changes?fold=off')
  const window = page.locator('.window')
  let rows
  await eventually('all are loaded, and the last one is in the window', async () => {
    await window.evaluate((e) => (e.scrollTop = e.scrollHeight))
    rows = Number(await page.locator('.rows').getAttribute('aria-rowcount')) // -1 until all are loaded
    return (await page.locator(`[data-row][aria-rowindex="${rows}"]`).count()) === 1
  })
  assert.ok(rows > 2900, `${rows} rows`)
  assert.ok((await page.locator('[data-row]').count()) < 100, 'only the visible rows are in the document')
  // `npm run speed` measures the time. Here, each row is made once, when it comes into the window.
  const steps = 100
  const made = await window.evaluate(async (e, steps) => {
    let n = 0
    const observer = new MutationObserver((list) => {
      for (const { addedNodes } of list) n += [...addedNodes].filter((node) => node.dataset?.row).length
    })
    observer.observe(e.querySelector('.all'), { childList: true })
    for (let i = 0; i < steps; i++) {
      e.scrollTop -= 120
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
    }
    observer.disconnect()
    return n
  }, steps)
  const passed = (steps * 120) / 30
  assert.ok(made >= passed - 10 && made <= passed + 10, `${made} rows are made for ${passed} that pass`)
  await end()
})
