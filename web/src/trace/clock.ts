// SPDX-License-Identifier: Apache-2.0

import { duration } from '../text/time'

// Times of a trace are milliseconds after its first whole second, so that a double keeps nanoseconds.

// offset returns a time of the API as milliseconds after `base`, which has whole seconds.
export function offset(time: string, base: number): number {
  const dot = time.charCodeAt(19) === 46 && time.endsWith('Z') ? 19 : -1
  if (dot < 0) return Date.parse(time) - base
  return Date.parse(`${time.slice(0, dot)}Z`) - base + Number(`0${time.slice(dot, -1)}`) * 1000
}

// second returns the whole second of a time, in milliseconds since 1970.
export function second(time: string): number {
  return Math.floor(Date.parse(time) / 1000) * 1000
}

// ticks returns round times between two, about `most` of them.
export function ticks(from: number, to: number, most: number): number[] {
  const raw = (to - from) / Math.max(1, most)
  const step = steps.find((s) => s >= raw) ?? Math.ceil(raw / day) * day
  const out: number[] = []
  for (let i = Math.ceil(from / step); i * step <= to; i++) out.push(i * step)
  return out
}

const day = 24 * 3600_000
const steps = [
  ...[1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100].flatMap((n) => [n, 2 * n, 5 * n]),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 1000),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 60_000),
  ...[1, 2, 3, 6, 12].map((n) => n * 3600_000),
  day,
]

// length writes milliseconds as a duration.
export function length(ms: number): string {
  return duration(ms / 1000)
}
