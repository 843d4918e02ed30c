// SPDX-License-Identifier: Apache-2.0

import { computed, signal } from '@preact/signals'

// The address has the whole state of the page: a path for the view, parameters for the rest.

// A file with one trace has its state after the "#": browsers permit no other change there.
const inFile = window.location.protocol === 'file:'

const location = signal(read())

function read(): { path: string; search: string } {
  if (inFile) return { path: '/', search: window.location.hash.slice(1) }
  return { path: window.location.pathname, search: window.location.search }
}

export const path = computed(() => location.value.path)
export const parameters = computed(() => new URLSearchParams(location.value.search))

addEventListener('popstate', () => {
  location.value = read()
})

// go changes the address. With replace, "back" does not return to the present one.
export function go(to: string, { replace = false } = {}): void {
  if (to === (inFile ? window.location.hash : window.location.pathname + window.location.search)) return
  if (replace) history.replaceState(history.state, '', to)
  else history.pushState(null, '', to)
  location.value = read()
}

// set changes parameters of the present view; '' and undefined remove one.
export function set(changes: Record<string, string | undefined>, options: { replace?: boolean } = {}): void {
  const query = new URLSearchParams(read().search)
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value)
    else query.delete(name)
  }
  const text = query.toString()
  if (inFile) go(`#${text}`, options)
  else go(window.location.pathname + (text ? `?${text}` : ''), options)
}

// follow lets a link of this page change the address without a request. It leaves other clicks alone.
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element | null)?.closest?.('a[href]')
  if (!(link instanceof HTMLAnchorElement) || link.origin !== window.location.origin) return
  if (link.target || link.hasAttribute('download') || link.pathname.startsWith('/api/')) return
  event.preventDefault()
  go(link.pathname + link.search)
}
