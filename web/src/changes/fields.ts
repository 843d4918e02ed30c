// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals'
import { get } from '../api/client'
import type { Field, Fields, Group, GroupPage } from '../api/types'

// What completion offers: the fields of questions, and the values of those with texts.

let known: Promise<Field[]> | undefined

export function fields(): Promise<Field[]> {
  known ??= get<Fields>('fields').then(
    (answer) => answer.fields,
    () => {
      known = undefined
      return []
    },
  )
  return known
}

// frequent has the frequent values of fields with a facet.
export const frequent = signal<Record<string, Group[]>>({})

// values returns those of a field, the most frequent first.
export async function values(name: string): Promise<string[]> {
  const field = (await fields()).find((f) => f.name === name)
  if (field?.values) return field.values
  if (!field?.facet) return []
  let groups = frequent.peek()[name]
  if (!groups) {
    try {
      groups = (await get<GroupPage>('groups', { by: name })).groups
      frequent.value = { ...frequent.peek(), [name]: groups }
    } catch {
      return []
    }
  }
  return groups.map((g) => g.value).filter((v) => v !== '')
}
