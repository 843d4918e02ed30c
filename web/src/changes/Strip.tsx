// SPDX-License-Identifier: Apache-2.0

import { computed, signal, useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { aborted, ApiError, get } from '../api/client'
import { offset, serverTime } from '../api/clock'
import { epoch } from '../api/connection'
import type { Density } from '../api/types'
import { absolute } from '../text/time'
import { marks } from './axis'
import { updated } from './list'
import { translate } from './plain'
import { part, range, setPart, where } from './state'

// Strip shows the number of changes over time. A part of it can be brushed, with the mouse or the keys:
// the list then has only that part.

const height = 44
// barWidth is the width of one bar, with its gap, in pixels.
const barWidth = 6
const leastBars = 40
const mostBars = 240
// The counts are asked again after this time, and after a pause when updates come.
const patience = 30_000
const pause = 5000

interface Counts {
  since: number
  width: number
  all: number[]
  failed: number[]
  open: number[]
}

const counts = signal<Counts | undefined>(undefined)
const width = signal(0)
// counted is the question of the counts.
let counted = ''

export function Strip() {
  const box = useRef<HTMLDivElement>(null)
  const hover = useSignal<number | undefined>(undefined)
  const drag = useRef<{ from: number; moved: boolean } | undefined>(undefined)
  const brushing = useSignal<[number, number] | undefined>(undefined)

  useEffect(() => {
    const element = box.current
    if (!element) return
    width.value = element.clientWidth
    const observer = new ResizeObserver(() => (width.value = element.clientWidth))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const bars = useRef(computed(() => Math.max(leastBars, Math.min(mostBars, Math.floor(width.value / barWidth))))).current
  useSignalEffect(() => {
    const n = bars.value
    const seconds = range.value.seconds
    const of = where.value
    const asked = translate(of)
    epoch.value
    offset.value
    if (width.value === 0) return
    const control = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let last = 0
    const ask = async () => {
      clearTimeout(timer)
      if (document.hidden) {
        timer = setTimeout(ask, pause)
        return
      }
      last = Date.now()
      let wait = patience
      // Bars begin at multiples of their width, so that they stay while time goes on.
      const each = Math.ceil((seconds * 1000) / n)
      const end = (Math.floor(serverTime() / each) + 1) * each
      try {
        const answer = await get<Density>(
          'density',
          { since: new Date(end - n * each).toISOString(), until: new Date(end).toISOString(), buckets: n, where: asked.where, state: asked.states.join(',') },
          control.signal,
        )
        counts.value = {
          since: Date.parse(answer.since),
          width: answer.width * 1000,
          all: answer.buckets.map((b) => b.count),
          failed: answer.buckets.map((b) => b.failed ?? 0),
          open: answer.buckets.map((b) => b.open ?? 0),
        }
        counted = of
      } catch (err) {
        // The frame shows an absent server. The counts of another question would mislead.
        if (!aborted(err) && counted !== of) counts.value = undefined
        // A busy server answers soon.
        if (err instanceof ApiError && err.status === 429) wait = pause
      }
      if (!control.signal.aborted) timer = setTimeout(ask, wait)
    }
    void ask()
    const end = updated.subscribe((time) => {
      if (time <= last) return
      clearTimeout(timer)
      timer = setTimeout(ask, Math.max(0, last + pause - time))
    })
    return () => {
      end()
      control.abort()
      clearTimeout(timer)
    }
  })

  const drawn = counts.value
  const n = drawn?.all.length ?? 0
  const index = (time: number) => (drawn ? (time - drawn.since) / drawn.width : 0)
  const time = (i: number) => (drawn ? drawn.since + i * drawn.width : 0)
  const chosenPart = part.value
  const selected: [number, number] | undefined =
    brushing.value ?? (chosenPart && drawn ? [index(chosenPart.since), index(chosenPart.until)] : undefined)

  const bar = (e: PointerEvent) => {
    const rect = box.current!.getBoundingClientRect()
    return Math.max(0, Math.min(n - 1, Math.floor(((e.clientX - rect.left) / rect.width) * n)))
  }
  const choose = (from: number, until: number, options?: { replace: boolean }) => {
    const a = Math.max(0, Math.min(from, until))
    const b = Math.min(n, Math.max(from, until))
    setPart({ since: time(a), until: time(b) }, options)
  }
  const keys = (e: KeyboardEvent) => {
    if (!drawn) return
    const now: [number, number] = chosenPart
      ? [Math.round(index(chosenPart.since)), Math.round(index(chosenPart.until))]
      : [n, n]
    const step = e.key === 'PageUp' || e.key === 'PageDown' ? 10 : 1
    const direction = { ArrowLeft: -1, ArrowRight: 1, PageUp: -1, PageDown: 1 }[e.key]
    if (direction !== undefined) {
      const by = direction * step
      if (!chosenPart) choose(n - 1, n)
      else if (e.shiftKey) choose(now[0], Math.max(now[0] + 1, Math.min(n, now[1] + by)), { replace: true })
      else {
        const length = now[1] - now[0]
        const from = Math.max(0, Math.min(n - length, now[0] + by))
        choose(from, from + length, { replace: true })
      }
    } else if (e.key === 'Home') choose(0, Math.max(1, now[1] - now[0]), { replace: true })
    else if (e.key === 'End') choose(n - Math.max(1, now[1] - now[0]), n, { replace: true })
    else if (e.key === 'Escape' && chosenPart) setPart(undefined)
    else return
    e.preventDefault()
    e.stopPropagation()
  }

  const sum = (list: number[]) => {
    if (!selected) return list.reduce((a, b) => a + b, 0)
    return list.slice(Math.max(0, Math.round(selected[0])), Math.max(0, Math.round(selected[1]))).reduce((a, b) => a + b, 0)
  }
  const label = drawn
    ? `${selected ? `${absolute(time(selected[0]))} to ${absolute(time(selected[1]))}: ` : 'all: '}${sum(drawn.all)} changes, ${sum(drawn.failed)} failed`
    : 'loading'
  const at = hover.value
  return (
    <div class="strip">
      <div
        ref={box}
        class="bars"
        tabIndex={0}
        role="slider"
        aria-label="Time of the list. Arrow keys choose and move a part, Shift and an arrow key changes its length, Escape removes it"
        aria-valuemin={0}
        aria-valuemax={n}
        aria-valuenow={selected ? Math.round(selected[0]) : n}
        aria-valuetext={label}
        onKeyDown={keys}
        onPointerDown={(e) => {
          if (!drawn || e.button !== 0) return
          e.currentTarget.setPointerCapture(e.pointerId)
          drag.current = { from: bar(e), moved: false }
        }}
        onPointerMove={(e) => {
          if (!drawn) return
          const i = bar(e)
          hover.value = i
          const start = drag.current
          if (!start) return
          if (i !== start.from) start.moved = true
          if (start.moved) brushing.value = [Math.min(i, start.from), Math.max(i, start.from) + 1]
        }}
        onPointerUp={(e) => {
          const start = drag.current
          drag.current = undefined
          brushing.value = undefined
          if (!start || !drawn) return
          const i = bar(e)
          if (start.moved) choose(Math.min(i, start.from), Math.max(i, start.from) + 1)
          else if (chosenPart && i >= Math.floor(index(chosenPart.since)) && i < index(chosenPart.until)) setPart(undefined)
          else choose(i, i + 1)
        }}
        onPointerCancel={() => {
          drag.current = undefined
          brushing.value = undefined
        }}
        onPointerLeave={() => (hover.value = undefined)}
      >
        {drawn && (
          <svg viewBox={`0 0 ${n} ${height}`} preserveAspectRatio="none" width="100%" height={height} aria-hidden="true">
            <Bars counts={drawn} of={drawn.all} class="all" />
            <Bars counts={drawn} of={drawn.failed} class="failed" />
            <Bars counts={drawn} of={drawn.open} class="open" from={drawn.failed} />
            {at !== undefined && <rect class="at" x={at} width={1} y={0} height={height} />}
            {selected && (
              <>
                <rect class="outside" x={0} width={Math.max(0, selected[0])} y={0} height={height} />
                <rect class="outside" x={selected[1]} width={Math.max(0, n - selected[1])} y={0} height={height} />
              </>
            )}
          </svg>
        )}
        {selected && (
          <div
            class="part"
            style={{ left: `${(100 * selected[0]) / n}%`, width: `${(100 * (selected[1] - selected[0])) / n}%` }}
          />
        )}
        {at !== undefined && drawn && (
          <div class={`tip${at > n / 2 ? ' left' : ''}`} style={{ left: `${(100 * (at + 0.5)) / n}%` }}>
            <b>{drawn.all[at]}</b> changes
            {drawn.failed[at]! > 0 && <span class="failed"> · {drawn.failed[at]} failed</span>}
            {drawn.open[at]! > 0 && <span> · {drawn.open[at]} running</span>}
            <span class="soft"> · {absolute(time(at)).slice(5, 16)}</span>
          </div>
        )}
      </div>
      <Axis since={drawn ? time(0) : 0} until={drawn ? time(n) : 0} />
    </div>
  )
}

// Bars draws one path for all bars: their heights are in proportion to the square root, so that few
// changes are seen beside many.
function Bars({ counts: { all }, of, class: name, from }: { counts: Counts; of: number[]; class: string; from?: number[] }) {
  const most = Math.max(1, ...all)
  const size = (count: number, whole: number) =>
    whole === 0 ? 0 : Math.max(2, Math.sqrt(whole / most) * (height - 4)) * Math.min(1, count / whole)
  let d = ''
  of.forEach((count, i) => {
    if (count === 0) return
    const whole = all[i] || count
    const below = from ? size(from[i]!, whole) : 0
    const h = Math.max(1.5, size(count, whole))
    d += `M${i + 0.1} ${(height - below - h).toFixed(1)}h.8v${h.toFixed(1)}h-.8z`
  })
  return <path class={name} d={d} />
}

function Axis({ since, until }: { since: number; until: number }) {
  if (!since) return <div class="axis" />
  const span = until - since
  const x = (t: number) => ((t - since) / span) * width.value
  return (
    <div class="axis" aria-hidden="true">
      {marks(since, until, Math.floor(width.value / 90))
        .filter(({ at }) => x(at) > 16 && x(at) < width.value - 16)
        .map(({ at, text }) => (
          <span key={at} style={{ left: `${(100 * (at - since)) / span}%` }}>
            {text}
          </span>
        ))}
    </div>
  )
}

