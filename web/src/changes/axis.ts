// SPDX-License-Identifier: Apache-2.0

import { absolute } from '../text/time'

// The marks of an axis of time are round times of the browser's zone. Days there have 23 to 25 hours.

export interface Mark {
  at: number
  text: string
}

const hour = 60
const day = 24 * hour
const steps = [5, 10, 15, 30, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 5 * day]
const minute = 60_000

// marks returns round times from one until before another, at most about `room` of them. Times are in milliseconds.
export function marks(since: number, until: number, room: number): Mark[] {
  const step = steps.find((s) => (until - since) / (s * minute) <= Math.max(2, room)) ?? steps[steps.length - 1]!
  return times(since, until, step).map((at) => {
    const text = absolute(at)
    return { at, text: step >= day || text.slice(11, 16) === '00:00' ? text.slice(5, 10) : text.slice(11, 16) }
  })
}

function times(since: number, until: number, step: number): number[] {
  const out: number[] = []
  const put = (t: number) => {
    if (t >= since && t < until && t > (out[out.length - 1] ?? -Infinity)) out.push(t)
  }
  const first = new Date(since)
  for (let n = 0; ; n++) {
    const date = new Date(first.getFullYear(), first.getMonth(), first.getDate() + n)
    const midnight = date.getTime()
    if (midnight >= until) return out
    if (step >= day) {
      const number = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / (day * minute)
      if (number % (step / day) === 0) put(midnight)
      continue
    }
    const next = new Date(first.getFullYear(), first.getMonth(), first.getDate() + n + 1).getTime()
    for (let m = 0; midnight + m * minute < next; m += step) {
      // Steps of more than an hour follow the clock; shorter ones show an hour that comes twice.
      put(step > hour ? new Date(date.getFullYear(), date.getMonth(), date.getDate(), 0, m).getTime() : midnight + m * minute)
    }
  }
}
