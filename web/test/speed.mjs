// SPDX-License-Identifier: Apache-2.0

// Measures the views of changes and of a trace in headless Chromium, and prints a table for docs/performance.md:
//
//   npm run speed
//   npm run speed -- NAME   only the rows of the table with that text
//
// Frames of a headless browser prove nothing. So the numbers are tasks of the page's main thread, from the
// tracing of the browser. A step is one tick of a wheel, 120 pixels, without animation: all tasks from its event
// to the next one, in time of the processor, since a busy machine interrupts tasks. The longest task of the opening
// includes unfolding. The longest tasks by the clock, of PerformanceObserver, are printed after a miss.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { launch } from './launch.mjs'
import { startSamples } from './samples.mjs'

const steps = 300
const limits = { step: 8, task: 50, opens: 2000, paint: 1000 }

const dir = mkdtempSync(join(tmpdir(), 'lifeline-speed-'))
const samples = await startSamples(dir)
const browser = await launch(['--disable-smooth-scrolling'])
const results = []

// traced runs a function, and returns the tasks of the page's main thread in milliseconds: start and length.
async function traced(page, run) {
  const client = await page.context().newCDPSession(page)
  const events = []
  client.on('Tracing.dataCollected', ({ value }) => events.push(...value))
  await client.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { excludedCategories: ['*'], includedCategories: ['toplevel', 'blink.user_timing'] },
  })
  await run()
  const done = new Promise((resolve) => client.once('Tracing.tracingComplete', resolve))
  await client.send('Tracing.end')
  await done
  await client.detach()
  const marks = events.filter((e) => e.name.startsWith('step ') && e.cat.includes('blink.user_timing'))
  const main = marks[0]
  assert.ok(main, 'no mark names the main thread')
  const tasks = events
    .filter((e) => e.ph === 'X' && e.pid === main.pid && e.tid === main.tid && e.name === 'ThreadControllerImpl::RunTask')
    .map((e) => ({ at: e.ts / 1000, ms: (e.tdur ?? e.dur) / 1000, clock: e.dur / 1000 }))
  return { tasks, marks: marks.map((m) => m.ts / 1000).sort((a, b) => a - b) }
}

const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.ceil(q * list.length) - 1)] ?? 0

// scroll scrolls a list by real events of the wheel, and returns the work of each step.
async function scroll(page, list = '.waterfall .window') {
  const box = await page.locator(list).boundingBox()
  await page.mouse.move(box.x + 200, box.y + 200)
  await page.evaluate((list) => {
    let n = 0
    document.querySelector(list).addEventListener('wheel', () => performance.mark(`step ${n++}`), { capture: true, passive: true })
  }, list)
  const { tasks, marks } = await traced(page, async () => {
    for (let i = 0; i < steps; i++) {
      await page.mouse.wheel(0, i % 100 < 60 ? 120 : -90)
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  })
  assert.equal(marks.length, steps)
  const work = marks.slice(1).map((mark, i) => tasks.filter((t) => t.at >= marks[i] - 1 && t.at < mark - 1).reduce((sum, t) => sum + t.ms, 0))
  const inside = tasks.filter((t) => t.at >= marks[0] - 1)
  return {
    p50: quantile(work, 0.5),
    p95: quantile(work, 0.95),
    longest: Math.max(...inside.map((t) => t.ms)),
    clock: Math.max(...inside.map((t) => t.clock)),
  }
}

// drawn counts the pixels of the canvases beside the visible rows, by the colours of the style sheet.
const drawn = (page) =>
  page.evaluate(() => {
    const style = getComputedStyle(document.documentElement)
    const out = {}
    for (const canvas of document.querySelectorAll('.waterfall canvas')) {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
      for (const name of ['--bar', '--accent-bar', '--line-strong']) {
        const hex = style.getPropertyValue(name).trim()
        const want = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16))
        out[name] ??= 0
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250 && want.every((c, k) => Math.abs(c - data[i + k]) <= 3)) out[name]++
      }
    }
    return out
  })

async function visit(name, prepare) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await page.addInitScript(() => {
    window.long = []
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) window.long.push(e.duration)
    }).observe({ type: 'longtask', buffered: true })
  })
  let opens
  let paint
  const { tasks } = await traced(page, async () => {
    const begun = performance.now()
    await page.goto(`${samples.url}/trace/${samples.traces[name]}`)
    await page.waitForSelector('.waterfall [data-row]')
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))))
    opens = performance.now() - begun
    paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)
    await page.evaluate(() => performance.mark('step opened'))
    await prepare?.(page)
  })
  const opening = Math.max(...tasks.map((t) => t.ms))
  const rows = Number(await page.locator('.waterfall .window').getAttribute('aria-rowcount'))
  const longOpening = await page.evaluate(() => window.long.splice(0))
  const moved = await scroll(page)
  const pixels = await drawn(page)
  const longScrolling = await page.evaluate(() => window.long)
  const elements = await page.locator('.waterfall [data-row]').count()
  assert.ok(elements < 150, `${elements} rows are in the document`)
  assert.ok(Object.values(pixels).reduce((a, b) => a + b) > 5 * elements, `bars are not drawn: ${JSON.stringify(pixels)}`)
  await context.close()
  return { opens, opening, paint, rows, ...moved, longOpening, longScrolling, pixels }
}

// changes opens a list of many changes: copies of those of the server, each a minute older than the one before.
async function changes(number) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  const page = await context.newPage()
  await page.route('**/api/v1/traces?*', async (route) => {
    const { traces, ...rest } = await (await route.fetch()).json()
    const now = Date.now()
    const copies = Array.from({ length: number }, (_, i) => ({
      ...traces[i % traces.length],
      traceId: i.toString(16).padStart(32, '0'),
      start: new Date(now - (i + 1) * 10_000).toISOString().replace('Z', '000000Z'),
    }))
    await route.fulfill({ json: { ...rest, traces: copies, next: '' } })
  })
  const begun = performance.now()
  await page.goto(`${samples.url}/changes?fold=off&range=30d`)
  await page.waitForSelector('.rows [data-row]')
  const opens = performance.now() - begun
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0)
  await page.waitForTimeout(1500)
  const rows = Number(await page.locator('.rows').getAttribute('aria-rowcount')) - 1
  assert.ok(rows >= number, `${rows} rows of ${number}`) // open changes are in the list, too
  const moved = await scroll(page, '.rows .window')
  assert.ok((await page.locator('.rows [data-row]').count()) < 150, 'only visible rows are in the document')
  await context.close()
  return { opens, paint, rows, ...moved }
}

// unfold unfolds all, and waits until no list is loading.
async function unfold(page) {
  await page.keyboard.press('e')
  let last = -1
  for (;;) {
    await page.waitForTimeout(700)
    const now = Number(await page.locator('.waterfall .window').getAttribute('aria-rowcount'))
    if (now === last) return
    last = now
  }
}

try {
  const load = async () => {
    // The first request of each trace reads it from the archive; so does a reader's.
    for (const [name, run] of [
      ['Changes: 10,000, nothing folded', () => changes(10_000)],
      ['10,000 spans, all unfolded', () => visit('wide', unfold)],
      ['250,000 spans of other components', () => visit('deep')],
      ['250,000, 12,000 rows unfolded', () => visit('deep', unfold)],
    ]) {
      if (name.includes(process.argv[2] ?? '')) results.push([name, await run()])
    }
  }
  await load()
} finally {
  await browser.close()
  await samples.stop()
  rmSync(dir, { recursive: true, force: true })
}

const ms = (n) => (n < 10 ? n.toFixed(1) : n.toFixed(0))
console.log('| view | rows | opens | first paint | its longest task | scroll step p50 | p95 | its longest task |')
console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |')
let bad = false
for (const [name, r] of results) {
  console.log(`| ${name} | ${r.rows.toLocaleString('en')} | ${ms(r.opens)} ms | ${ms(r.paint)} ms | ${r.opening ? `${ms(r.opening)} ms` : '–'} | ${ms(r.p50)} ms | ${ms(r.p95)} ms | ${ms(r.longest)} ms |`)
  const faults = []
  if (r.p95 > limits.step) faults.push(`p95 of a scroll step above ${limits.step} ms`)
  if (Math.max(r.longest, r.opening ?? 0) > limits.task) faults.push(`a task above ${limits.task} ms`)
  if (r.opens > limits.opens) faults.push(`opens in more than ${limits.opens} ms`)
  if (r.paint > limits.paint) faults.push(`first paint after ${limits.paint} ms`)
  if (faults.length > 0) {
    bad = true
    console.error(`${name}: ${faults.join('; ')} (${JSON.stringify(r)})`)
  }
}
if (bad) process.exitCode = 1
