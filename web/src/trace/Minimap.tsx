// SPDX-License-Identifier: Apache-2.0

import { useSignal, useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { dark } from '../app/theme'
import { length, ticks } from './clock'
import { colours, drawMap, fit } from './draw'
import type { Model } from './model'
import { critical } from './state'
import type { Window } from './view'

const height = 44

// Minimap shows the whole trace, and the shown part of the time. Dragging chooses another part, or moves
// the present one.
export function Minimap({ model, window: view }: { model: Model; window: Window }) {
  const box = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const width = useSignal(0)
  const brushed = useSignal<{ from: number; to: number } | undefined>(undefined)

  useLayoutEffect(() => {
    const element = box.current!
    const observer = new ResizeObserver(() => (width.value = element.clientWidth))
    observer.observe(element)
    width.value = element.clientWidth
    return () => observer.disconnect()
  }, [])

  useSignalEffect(() => {
    dark()
    const w = width.value
    const whole = view.whole.value
    const scene = {
      width: w, from: whole.from, to: whole.to, now: view.present.value,
      path: critical.value ? model.path.value : undefined, matches: model.matches.value,
    }
    const rows = model.rows.value
    const frame = requestAnimationFrame(() => {
      const context = canvas.current && w > 0 ? fit(canvas.current, w, height) : null
      if (context) drawMap(context, rows, height, { ...scene, colours: colours() })
    })
    return () => cancelAnimationFrame(frame)
  })

  const whole = view.whole.value
  const shown = brushed.value ?? view.shown.value
  const span = whole.to - whole.from
  const left = ((shown.from - whole.from) / span) * 100
  const right = ((shown.to - whole.from) / span) * 100
  const timeAt = (x: number) => {
    const r = box.current!.getBoundingClientRect()
    return whole.from + Math.max(0, Math.min(1, (x - r.left) / r.width)) * span
  }

  const drag = (event: PointerEvent, edge: 'from' | 'to' | undefined) => {
    if (event.button !== 0) return
    event.preventDefault()
    event.stopPropagation()
    const begin = timeAt(event.clientX)
    const before = view.shown.peek()
    const inside = view.zoomed.peek() && !edge && begin > before.from && begin < before.to
    const target = event.currentTarget as HTMLElement
    target.setPointerCapture(event.pointerId)
    let last: { from: number; to: number } | undefined
    const move = (e: PointerEvent) => {
      const at = timeAt(e.clientX)
      if (edge === 'from') last = { from: Math.min(at, before.to), to: before.to }
      else if (edge === 'to') last = { from: before.from, to: Math.max(at, before.from) }
      else if (inside) last = { from: before.from + at - begin, to: before.to + at - begin }
      else last = { from: Math.min(begin, at), to: Math.max(begin, at) }
      brushed.value = last
    }
    const end = () => {
      target.removeEventListener('pointermove', move)
      target.removeEventListener('pointerup', end)
      target.removeEventListener('pointercancel', end)
      brushed.value = undefined
      if (last && last.to - last.from > span / 500) view.show(last, { step: true })
    }
    target.addEventListener('pointermove', move)
    target.addEventListener('pointerup', end)
    target.addEventListener('pointercancel', end)
  }

  const keys = (edge: 'from' | 'to') => (e: KeyboardEvent) => {
    const by = e.key === 'ArrowLeft' ? -1 : e.key === 'ArrowRight' ? 1 : 0
    if (by === 0) return
    e.preventDefault()
    e.stopPropagation()
    const s = view.shown.peek()
    const next = { ...s, [edge]: s[edge] + (by * span) / 50 }
    if (next.from < next.to) view.show(next)
  }
  const handle = (edge: 'from' | 'to', title: string) => (
    <span
      class={`handle ${edge}`}
      role="slider"
      tabIndex={0}
      aria-label={title}
      aria-valuemin={0}
      aria-valuemax={Math.round(span)}
      aria-valuenow={Math.round(shown[edge] - whole.from)}
      aria-valuetext={`${length(shown[edge] - whole.from)} after the start`}
      style={{ left: `${edge === 'from' ? left : right}%` }}
      onPointerDown={(e) => drag(e, edge)}
      onKeyDown={keys(edge)}
    />
  )
  return (
    <div class="minimap">
      <div class="map" ref={box} onPointerDown={(e) => drag(e, undefined)} onDblClick={() => view.show(undefined, { step: true })}>
        <canvas ref={canvas} aria-hidden="true" />
        <span class="outside" style={{ left: 0, width: `${left}%` }} />
        <span class="outside" style={{ left: `${right}%`, right: 0 }} />
        <span class="brush" style={{ left: `${left}%`, width: `${right - left}%` }} />
        {handle('from', 'Start of the shown time')}
        {handle('to', 'End of the shown time')}
      </div>
      <div class="map-axis" aria-hidden="true">
        {ticks(0, span, Math.max(2, width.value / 110)).map((t) => (
          <span key={t} style={{ left: `${(t / span) * 100}%` }}>
            {length(t)}
          </span>
        ))}
      </div>
    </div>
  )
}
