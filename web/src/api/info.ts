// SPDX-License-Identifier: Apache-2.0

import { effect, signal } from '@preact/signals'
import { get } from './client'
import { epoch } from './connection'
import type { Info } from './types'

// info is the answer about the server; undefined until it is known. A server that comes back may have another one.
export const info = signal<Info | undefined>(undefined)

let follows = false

// followInfo asks for it, and again when the server comes back.
export function followInfo(): void {
  if (follows) return
  follows = true
  effect(() => {
    epoch.value
    get<Info>('info').then(
      (answer) => (info.value = answer),
      () => undefined,
    )
  })
}
