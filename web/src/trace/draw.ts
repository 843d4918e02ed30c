// SPDX-License-Identifier: Apache-2.0

import { length } from './clock'
import type { Item, Row } from './model'
import { isReconciliation } from './words'

// Bars are drawn on a canvas; the rows beside them have the same in words.

export interface Colours {
  bar: string
  strong: string
  accent: string
  bad: string
  warn: string
  good: string
  ground: string
  line: string
  soft: string
  ink: string
}

const variables: Record<keyof Colours, string> = {
  bar: '--bar', strong: '--line-strong', accent: '--accent-bar', bad: '--bad-bar', warn: '--warn-bar', good: '--good-bar',
  ground: '--ground', line: '--line', soft: '--soft', ink: '--ink',
}

export function colours(): Colours {
  const style = getComputedStyle(document.documentElement)
  const out = {} as Colours
  for (const name of Object.keys(variables) as (keyof Colours)[]) out[name] = style.getPropertyValue(variables[name]).trim()
  return out
}

// gutter is the room at the end of the bars for their durations.
export const gutter = 84

export interface Scene {
  colours: Colours
  // width is that of the shown time. A canvas of bars has the gutter after it.
  width: number
  // from and to are the shown time, and now is the end of open spans.
  from: number
  to: number
  now: number
  // path has the parts of the critical path by span; undefined if it is not shown.
  path: Map<string, { from: number; to: number }[]> | undefined
  matches: ReadonlySet<string>
}

const font = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'

// fit sizes a canvas to its place, and returns a context in CSS pixels.
export function fit(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = window.devicePixelRatio || 1
  const w = Math.max(1, Math.round(width * ratio))
  const h = Math.max(1, Math.round(height * ratio))
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w
    canvas.height = h
    canvas.style.width = `${width}px`
    canvas.style.height = `${height}px`
  }
  const context = canvas.getContext('2d')
  context?.setTransform(ratio, 0, 0, ratio, 0, 0)
  context?.clearRect(0, 0, width, height)
  return context
}

export function endOf(item: Item, now: number): number {
  return item.open ? Math.max(item.end, now) : item.end
}

// toneOf is the colour of a bar without a critical path.
function toneOf(item: Item, c: Colours): string {
  const of = item.span ?? item.group
  if (of?.failed || of?.outcome === 'failed') return item.open ? c.warn : c.bad
  return c.bar
}

// drawBars draws rows of one height, the first at the top.
export function drawBars(context: CanvasRenderingContext2D, rows: Row[], height: number, s: Scene): void {
  const scale = s.width / (s.to - s.from)
  const x = (time: number) => (time - s.from) * scale
  context.font = font
  context.textBaseline = 'middle'
  rows.forEach((row, i) => {
    const middle = i * height + height / 2
    if (row.kind === 'gap' || row.kind === 'others') return
    const item = row.item
    const from = x(item.start)
    const to = Math.max(x(endOf(item, s.now)), from + 1.5)
    if (item.group) {
      drawGroup(context, item, middle, x, s)
    } else if (item.span) {
      drawSpan(context, item, middle, from, to, x, s)
    }
    drawLength(context, item, middle, from, to, s)
  })
}

function clip(from: number, to: number, width: number): [number, number] | undefined {
  const a = Math.max(from, -4)
  const b = Math.min(to, width + 4)
  return a < b ? [a, b] : undefined
}

function drawSpan(context: CanvasRenderingContext2D, item: Item, middle: number, from: number, to: number, x: (t: number) => number, s: Scene): void {
  const span = item.span!
  const part = clip(from, to, s.width)
  if (!part) return
  const [a, b] = part
  const half = span.other ? 4 : isReconciliation(span) ? 4 : 6
  const tone = toneOf(item, s.colours)
  const plain = tone === s.colours.bar
  if (span.other) {
    context.strokeStyle = plain ? s.colours.strong : tone
    context.lineWidth = 1
    context.fillStyle = s.colours.ground
    context.fillRect(a, middle - half, b - a, 2 * half)
    context.strokeRect(a + 0.5, middle - half + 0.5, Math.max(1, b - a - 1), 2 * half - 1)
  } else {
    context.globalAlpha = s.path && !plain ? 0.45 : 1
    context.fillStyle = tone
    context.fillRect(a, middle - half, b - a, 2 * half)
    context.globalAlpha = 1
  }
  for (const p of s.path?.get(item.id) ?? []) {
    const end = item.open && p.to >= item.end - 0.001 ? Math.max(p.to, s.now) : p.to
    const seen = clip(x(p.from), Math.max(x(end), x(p.from) + 1.5), s.width)
    if (!seen) continue
    context.fillStyle = plain ? s.colours.accent : tone
    context.fillRect(seen[0], middle - half, seen[1] - seen[0], 2 * half)
  }
  if (item.open) stripe(context, a, b, middle - half, 2 * half, s.colours.ground)
}

// stripe marks the bar of an open span.
function stripe(context: CanvasRenderingContext2D, from: number, to: number, top: number, height: number, colour: string): void {
  context.save()
  context.beginPath()
  context.rect(from, top, to - from, height)
  context.clip()
  context.strokeStyle = colour
  context.globalAlpha = 0.6
  context.lineWidth = 2.5
  context.beginPath()
  for (let at = from - height; at < to + height; at += 8) {
    context.moveTo(at, top + height)
    context.lineTo(at + height, top)
  }
  context.stroke()
  context.restore()
}

// drawGroup draws the time of all members as a band, and on it the distribution of their durations from the
// earliest start: a line from the shortest to the longest, a box from p50 to p90, and the outliers.
function drawGroup(context: CanvasRenderingContext2D, item: Item, middle: number, x: (t: number) => number, s: Scene): void {
  const group = item.group!
  const tone = toneOf(item, s.colours)
  const plain = tone === s.colours.bar
  const band = clip(x(item.start), x(endOf(item, s.now)), s.width)
  if (!band) return
  context.globalAlpha = plain ? 0.5 : 0.35
  context.fillStyle = tone
  context.fillRect(band[0], middle - 7, band[1] - band[0], 14)
  context.globalAlpha = 1
  const at = (seconds: number) => x(item.start + seconds * 1000)
  const main = plain ? s.colours.accent : tone
  context.fillStyle = plain ? s.colours.strong : tone
  const line = clip(at(group.min), at(group.max), s.width)
  if (line) context.fillRect(line[0], middle - 0.5, Math.max(1, line[1] - line[0]), 1)
  context.fillStyle = main
  const box = clip(at(group.p50), Math.max(at(group.p90), at(group.p50) + 2), s.width)
  if (box) context.fillRect(box[0], middle - 4, box[1] - box[0], 8)
  const tail = at(group.p99)
  if (tail > -2 && tail < s.width + 2) context.fillRect(tail - 0.5, middle - 4, 1, 8)
  context.fillStyle = s.colours.ink
  const mid = at(group.p50)
  if (mid > -2 && mid < s.width + 2) context.fillRect(mid - 1, middle - 6, 2, 12)
  for (const o of group.outliers ?? []) {
    const far = o.end === undefined ? s.now : item.start + (Date.parse(o.end) - Date.parse(o.start))
    const place = x(far)
    if (place < -4 || place > s.width + 4) continue
    context.beginPath()
    context.arc(place, middle, 2.5, 0, 2 * Math.PI)
    context.fillStyle = o.failed ? s.colours.bad : s.colours.ground
    context.strokeStyle = o.failed ? s.colours.bad : s.colours.ink
    context.lineWidth = 1
    context.fill()
    context.stroke()
  }
  // The critical path leads through hidden members.
  context.fillStyle = main
  for (const p of s.path?.get(item.id) ?? []) {
    const seen = clip(x(p.from), Math.max(x(p.to), x(p.from) + 1.5), s.width)
    if (seen) context.fillRect(seen[0], middle + 5, seen[1] - seen[0], 3)
  }
  if (item.open) stripe(context, band[0], band[1], middle - 7, 3, s.colours.ground)
}

function lengthText(item: Item, s: Scene): string {
  if (item.group) {
    const g = item.group
    return g.min === g.max ? `each ${length(g.max * 1000)}` : `${length(g.min * 1000)}–${length(g.max * 1000)}`
  }
  const took = endOf(item, s.now) - item.start
  return took === 0 ? '' : length(took) + (item.open ? '…' : '')
}

// drawLength writes the duration after the bar, or before it, or on it, wherever there is room.
function drawLength(context: CanvasRenderingContext2D, item: Item, middle: number, from: number, to: number, s: Scene): void {
  const text = lengthText(item, s)
  if (text === '' || to < 0 || from > s.width) return
  const room = text.length * 6 + 10
  context.fillStyle = s.colours.soft
  if (to + room < s.width + gutter) {
    context.fillText(text, Math.max(to, 0) + 5, middle + 0.5)
  } else if (from - room > 0) {
    context.textAlign = 'right'
    context.fillText(text, from - 5, middle + 0.5)
    context.textAlign = 'left'
  } else {
    const wide = context.measureText(text).width + 8
    const place = Math.min(to, s.width) - wide - 4
    context.fillStyle = s.colours.ground
    context.fillRect(place, middle - 7, wide, 14)
    context.fillStyle = s.colours.ink
    context.fillText(text, place + 4, middle + 0.5)
  }
}

// mostLines bounds the lines of a minimap.
const mostLines = 1500

// drawMap draws all rows in the height of the minimap.
export function drawMap(context: CanvasRenderingContext2D, rows: Row[], height: number, s: Scene): void {
  const scale = s.width / (s.to - s.from)
  const x = (time: number) => (time - s.from) * scale
  const step = Math.max(1, rows.length / mostLines)
  const thick = Math.max(1, Math.min(6, height / rows.length - (height / rows.length > 3 ? 1 : 0)))
  for (let n = 0; n < rows.length; n += step) {
    const row = rows[Math.floor(n)]!
    if (row.kind !== 'span' && row.kind !== 'group') continue
    const top = (n / rows.length) * (height - thick)
    const from = x(row.item.start)
    const to = Math.max(from + 1, x(endOf(row.item, s.now)))
    context.fillStyle = toneOf(row.item, s.colours)
    context.globalAlpha = row.item.group ? 0.5 : 1
    context.fillRect(from, top, to - from, thick)
    context.globalAlpha = 1
    for (const p of s.path?.get(row.id) ?? []) {
      context.fillStyle = toneOf(row.item, s.colours) === s.colours.bar ? s.colours.accent : toneOf(row.item, s.colours)
      context.fillRect(x(p.from), top, Math.max(1, x(p.to) - x(p.from)), thick)
    }
    if (s.matches.has(row.id)) {
      context.fillStyle = s.colours.warn
      context.fillRect(0, top, s.width, Math.max(1, thick))
    }
  }
}
