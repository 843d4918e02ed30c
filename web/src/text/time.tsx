// SPDX-License-Identifier: Apache-2.0

import { computed, signal } from '@preact/signals'
import { offset } from '../api/clock'

// now is the time of the page, for relative times. It moves once a second, while the page is visible.
export const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 1000)

// serverNow is `now` by the clock of the server, for the times of changes.
export const serverNow = computed(() => now.value + offset.value)

const minute = 60
const hour = 60 * minute
const day = 24 * hour

// duration writes seconds with up to three digits: 17 µs, 420 ms, 4.2 s, 12.3 s, 4m 05s, 3h 20m, 2d 4h.
export function duration(seconds: number): string {
  if (seconds < 0) return `−${duration(-seconds)}`
  if (seconds === 0) return '0 s'
  if (seconds < 0.0009995) return `${digits(seconds * 1e6)} µs`
  if (seconds < 0.9995) return `${digits(seconds * 1000)} ms`
  if (seconds < 59.95) return `${digits(seconds)} s`
  const whole = Math.round(seconds)
  if (whole < hour) return `${Math.floor(whole / minute)}m ${pad(whole % minute)}s`
  if (whole < day) return `${Math.floor(whole / hour)}h ${pad(Math.floor((whole % hour) / minute))}m`
  return `${Math.floor(whole / day)}d ${Math.floor((whole % day) / hour)}h`
}

function digits(n: number): number {
  return Number(n.toPrecision(3))
}

// ago writes how long ago a time is: now, 12 s, 5 min, 3 h, 2 d.
export function ago(at: number, present: number): string {
  const seconds = Math.max(0, (present - at) / 1000)
  if (seconds < 2) return 'now'
  if (seconds < minute) return `${Math.floor(seconds)} s`
  if (seconds < hour) return `${Math.floor(seconds / minute)} min`
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)} h`
  return `${Math.floor(seconds / day)} d`
}

function pad(n: number, digits = 2): string {
  return String(n).padStart(digits, '0')
}

// absolute writes a time in the browser's zone, to the millisecond, with the zone's offset.
export function absolute(at: number): string {
  const d = new Date(at)
  const offset = -d.getTimezoneOffset()
  const zone = `${offset < 0 ? '−' : '+'}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`
  return (
    `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ` +
    `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}.${pad(d.getMilliseconds(), 3)} ${zone}`
  )
}

// period writes two times, the second without its date if it is that of the first.
export function period(since: number, until: number): string {
  const [from, to] = [absolute(since).slice(0, 19), absolute(until).slice(0, 19)]
  return `${from} – ${from.slice(0, 10) === to.slice(0, 10) ? to.slice(11) : to}`
}

// Ago shows a time relative to now: "12 s", and with past "12 s ago". Its title is the absolute time.
export function Ago({ at, past = false }: { at: string; past?: boolean }) {
  const then = Date.parse(at)
  const text = ago(then, serverNow.value)
  return (
    <time dateTime={at} title={absolute(then)}>
      {past && text !== 'now' ? `${text} ago` : text}
    </time>
  )
}

// Elapsed is the time since a moment, which counts on: "3h 20m". Its title is the moment.
export function Elapsed({ since }: { since: string }) {
  const then = Date.parse(since)
  return (
    <time dateTime={since} title={absolute(then)}>
      {duration(Math.floor(Math.max(0, serverNow.value - then) / 1000))}
    </time>
  )
}
