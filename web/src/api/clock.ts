// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals'

// The clock of the server. That of the browser may be wrong by hours; the times of changes are the server's.

// tolerance is the difference of two clocks that counts as none, in milliseconds.
const tolerance = 1000

// offset is the server's clock less that of the browser, in milliseconds. It is 0 until a response differs.
export const offset = signal(0)

// serverTime returns the present time of the server, in milliseconds.
export function serverTime(): number {
  return Date.now() + offset.peek()
}

// offsetOf returns the offset after a response. Its header Date has whole seconds, of a moment between `sent` and
// `received` by the clock of the browser. The former offset stays if the response permits it.
export function offsetOf(former: number, date: string | null, sent: number, received: number): number {
  const at = Date.parse(date ?? '')
  if (Number.isNaN(at)) return former
  const least = at - received
  const most = at + 1000 - sent
  if (former >= least - tolerance && former <= most + tolerance) return former
  return least <= tolerance && most >= -tolerance ? 0 : (least + most) / 2
}

// heard takes the clock from a response to a request that was sent then.
export function heard(response: Response, sent: number): void {
  offset.value = offsetOf(offset.peek(), response.headers.get('Date'), sent, Date.now())
}
