// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

// Shortcut is one key of a view. `keys` are values of KeyboardEvent.key, or two with a space between:
// "g c". The first one is shown in the help.
export interface Shortcut {
  keys: string[]
  help: string
  run(event: KeyboardEvent): void
}

// shortcuts are all that work now, by the title of their owner.
export const shortcuts = signal<{ title: string; list: Shortcut[] }[]>([])

// useKeys adds shortcuts while a component is shown.
export function useKeys(title: string, list: Shortcut[], given: unknown[] = []): void {
  useEffect(() => {
    const entry = { title, list }
    shortcuts.value = [...shortcuts.peek(), entry]
    return () => {
      shortcuts.value = shortcuts.peek().filter((other) => other !== entry)
    }
  }, given)
}

let first = ''
let timer: ReturnType<typeof setTimeout> | undefined

// press runs the shortcut of a key. Fields of text keep their keys.
export function press(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return
  const at = event.composedPath()[0]
  if (at instanceof HTMLElement && (at.isContentEditable || at.closest('input, textarea, select, [role=textbox]'))) return
  if (document.querySelector('dialog[open]')) return
  const key = first ? `${first} ${event.key}` : event.key
  clearTimeout(timer)
  first = ''
  const all = shortcuts.peek().flatMap((entry) => entry.list)
  const found = all.findLast((s) => s.keys.includes(key))
  if (found) {
    // Enter and Space belong to a focused button or link.
    if ((key === 'Enter' || key === ' ') && at instanceof Element && at.closest('a, button, summary')) return
    event.preventDefault()
    found.run(event)
  } else if (all.some((s) => s.keys.some((k) => k.startsWith(`${event.key} `)))) {
    first = event.key
    timer = setTimeout(() => (first = ''), 1500)
  }
}
