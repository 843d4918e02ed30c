// SPDX-License-Identifier: Apache-2.0

import { computed } from '@preact/signals'
import { parameters, set } from '../app/router'

// The state of the view, all of it in the address:
//
//   namespace  the namespace of the list; absent for all
//   problem    the ID of the selected problem
//   more       the IDs of the unfolded problems

export const namespace = computed(() => parameters.value.get('namespace') ?? '')
export const selected = computed(() => parameters.value.get('problem') ?? '')

// most bounds the unfolded problems in the address.
const most = 50

const moreText = computed(() => parameters.value.get('more') ?? '')
export const unfolded = computed<ReadonlySet<string>>(() => new Set(moreText.value.split('.').filter((id) => id !== '')))

export function setNamespace(name: string): void {
  set({ namespace: name, problem: undefined, more: undefined })
}

export function select(id: string): void {
  set({ problem: id }, { replace: true })
}

export function toggle(id: string): void {
  const next = new Set(unfolded.peek())
  if (!next.delete(id)) next.add(id)
  set({ more: [...next].slice(-most).join('.') }, { replace: true })
}
