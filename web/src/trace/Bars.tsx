// SPDX-License-Identifier: Apache-2.0

import { computed, effect, useSignal, useSignalEffect, type ReadonlySignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { dark } from '../app/theme'
import { ticks } from './clock'
import { colours, drawBars, fit, gutter, type Colours, type Scene } from './draw'
import type { Model, Row } from './model'
import { blockHeight, blockRows, rowHeight } from './Rows'
import * as state from './state'
import type { Window } from './view'

// Drawn is a canvas and what it has. Its block is -1 while it is out of view.
interface Drawn {
  canvas: HTMLCanvasElement
  block: number
  rows: Row[]
  scene: Scene | undefined
}

const beyond = -1

// Bars has the bars of the rows in the document, on one canvas for each block. A block that comes into view takes the
// canvas of one that has left, so a scroll draws only new rows.
export function Bars({ model, view, from, to, left, size }: {
  model: Model
  view: Window
  from: ReadonlySignal<number>
  to: ReadonlySignal<number>
  left: ReadonlySignal<number>
  size: ReadonlySignal<{ width: number }>
}) {
  const box = useRef<HTMLDivElement>(null)

  // The colours of the style sheet follow a theme a moment later.
  const styled = useSignal<Colours | undefined>(undefined)
  useSignalEffect(() => {
    dark()
    const frame = requestAnimationFrame(() => (styled.value = colours()))
    return () => cancelAnimationFrame(frame)
  })

  // The canvases are drawn in the frame in which the rows change: an effect of a component would be a frame late.
  useLayoutEffect(() => {
    const scene = computed(() => sceneOf(model, view, size.value.width - left.value - gutter, styled.value ?? colours()))
    const drawn: Drawn[] = []
    return effect(() => {
      const now = scene.value
      const first = from.value
      const last = to.value
      const all = model.rows.value
      const element = box.current
      if (!element || now.width < 10) return
      const kept = new Map(drawn.filter((d) => d.block >= first && d.block < last).map((d) => [d.block, d]))
      const free = drawn.filter((d) => kept.get(d.block) !== d)
      const moved: Drawn[] = []
      for (let block = first; block < last; block++) {
        const rows = all.slice(block * blockRows, (block + 1) * blockRows)
        let one = kept.get(block)
        if (one && one.scene === now && rows.length === one.rows.length && rows.every((row, i) => row === one!.rows[i])) continue
        if (!one) {
          one = free.pop() ?? { canvas: element.appendChild(document.createElement('canvas')), block, rows, scene: now }
          if (!drawn.includes(one)) drawn.push(one)
          moved.push(one)
        }
        Object.assign(one, { block, rows, scene: now })
        draw(one.canvas, rows, now, view)
      }
      for (const one of free) {
        if (one.block === beyond) continue
        one.block = beyond
        moved.push(one)
      }
      // Text on a canvas needs the styles of the page, so that each write before it would compute them again.
      for (const one of moved) one.canvas.style.transform = `translateY(${one.block * blockHeight}px)`
    })
  }, [model, view])
  return <div class="bars" ref={box} aria-hidden="true" />
}

function sceneOf(model: Model, view: Window, width: number, tones: Colours): Scene {
  const shown = view.shown.value
  return {
    colours: tones, width, from: shown.from, to: shown.to, now: view.present.value,
    path: state.critical.value ? model.path.value : undefined, matches: model.matches.value,
  }
}

// draw draws the lines of the time, and above them the bars of a block.
function draw(canvas: HTMLCanvasElement, rows: Row[], scene: Scene, view: Window): void {
  const context = fit(canvas, scene.width + gutter, blockHeight)
  if (!context) return
  const whole = view.whole.peek().from
  context.fillStyle = scene.colours.line
  context.globalAlpha = 0.6
  for (const t of ticks(scene.from - whole, scene.to - whole, scene.width / 110)) {
    const x = ((t + whole - scene.from) / (scene.to - scene.from)) * scene.width
    context.fillRect(Math.round(x), 0, 1, rows.length * rowHeight)
  }
  context.globalAlpha = 1
  drawBars(context, rows, rowHeight, scene)
}
