// SPDX-License-Identifier: Apache-2.0

import type { Summary } from '../api/types'
import { brief, visible } from '../text/text'
import { duration } from '../text/time'

// The bar of a change shows where its time went: one part for each kind of work on the critical path, in
// the order of time.

// Tone is a colour of work; other is that of all the rest.
export type Tone = 'control' | 'place' | 'image' | 'start' | 'ready' | 'pause' | 'other'

const tones: [RegExp, Tone][] = [
  [/^(schedule|assign address)\b/, 'place'],
  [/^pull image\b/, 'image'],
  [/^(attach|sandbox|init container|start container|run container)\b/, 'start'],
  [/^(readiness|publish endpoint|condition)\b/, 'ready'],
  [/^(backoff|retry pause|terminate)\b/, 'pause'],
]

// toneOf returns the colour of a kind of work. Reconciliations and writes have that of the control plane.
export function toneOf(name: string): Tone {
  return tones.find(([names]) => names.test(name))?.[1] ?? 'control'
}

export interface Part {
  name: string
  tone: Tone
  seconds: number
}

// parts returns the work of a change, with the rest of its duration last. Without work, as of an older
// server or archive, the slowest kind is alone before the rest.
export function parts(s: Summary): Part[] {
  const known = s.work ?? (s.slowest ? [{ name: s.slowest, duration: s.slowestDuration ?? 0 }] : [])
  const out = known.filter((w) => w.duration > 0).map((w) => ({ name: w.name, tone: toneOf(w.name), seconds: w.duration }))
  const rest = s.duration - out.reduce((sum, p) => sum + p.seconds, 0)
  if (rest > s.duration / 1000) out.push({ name: 'other work', tone: 'other', seconds: rest })
  return out
}

// words writes the parts as text: "schedule 0.2 s, pull image web:2 3 s".
export function words(list: Part[]): string {
  return list.map((p) => `${brief(visible(p.name))} ${duration(p.seconds)}`).join(', ')
}

// gradient draws the parts as one background, since a list has many bars.
export function gradient(list: Part[]): string {
  const whole = list.reduce((sum, p) => sum + p.seconds, 0)
  let at = 0
  const stops = list.map((p) => {
    const from = at
    at += p.seconds
    const percent = (seconds: number) => `${((100 * seconds) / whole).toFixed(1)}%`
    return `var(--work-${p.tone}) ${percent(from)} ${percent(at)}`
  })
  return `linear-gradient(to right, ${stops.join(', ')})`
}

export function WorkBar({ of }: { of: Summary }) {
  const list = parts(of)
  if (list.length === 0) return null
  const text = words(list)
  return <span class="bar" role="img" aria-label={text} title={text} style={{ backgroundImage: gradient(list) }} />
}
