// SPDX-License-Identifier: Apache-2.0

import { computed, signal } from '@preact/signals'

// The address has the whole state of the page: a path for the view, parameters for the rest.

// A file with one trace has its state after the "#": browsers permit no other change there.
const inFile = window.location.protocol === 'file:'

// Earlier versions had the list of changes at /. Its links keep their meaning.
const ofList = /[?&](where|range|since|until|at|fold|open)=/

const location = signal(read())

function read(): { path: string; search: string } {
  if (inFile) return { path: '/', search: window.location.hash.replace('#', '?') }
  const { pathname, search } = window.location
  return { path: pathname === '/' && ofList.test(search) ? '/changes' : pathname, search }
}

export const path = computed(() => location.value.path)
export const parameters = computed(() => new URLSearchParams(location.value.search))

addEventListener('popstate', () => {
  forget()
  location.value = read()
})
addEventListener('pagehide', flush)

// Browsers refuse many changes of the address in a short time, such as those of a key that is held. So
// the address follows the state after a pause.
const pause = 120
let timer: ReturnType<typeof setTimeout> | undefined

function forget(): void {
  clearTimeout(timer)
  timer = undefined
}

function flush(): void {
  if (timer === undefined) return
  forget()
  history.replaceState(history.state, '', address())
}

function address(): string {
  const { path, search } = location.peek()
  return inFile ? search.replace('?', '#') || '#' : path + search
}

// link is the whole address of the present state, for copying.
export function link(): string {
  return new URL(address(), window.location.href).href
}

// go changes the address. With replace, "back" does not return to the present one.
export function go(to: string, { replace = false } = {}): void {
  const { pathname, search } = new URL(to, inFile ? 'http://file' : window.location.origin)
  const now = location.peek()
  if (now.path === pathname && now.search === search) return
  if (replace) {
    forget()
    timer = setTimeout(flush, pause)
  } else {
    flush()
    location.value = { path: pathname, search }
    history.pushState(null, '', address())
  }
  location.value = { path: pathname, search }
}

// set changes parameters of the present view; '' and undefined remove one.
export function set(changes: Record<string, string | undefined>, options: { replace?: boolean } = {}): void {
  const { path, search } = location.peek()
  const query = new URLSearchParams(search)
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value)
    else query.delete(name)
  }
  const text = query.toString()
  go(path + (text ? `?${text}` : ''), options)
}

// follow lets a link of this page change the address without a request. It leaves other clicks alone.
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element | null)?.closest?.('a[href]')
  if (!(link instanceof HTMLAnchorElement) || link.origin !== window.location.origin) return
  if (link.target || link.hasAttribute('download') || link.pathname.startsWith('/api/')) return
  if (link.getAttribute('href')?.startsWith('#')) return flush() // to a part of this page
  event.preventDefault()
  go(link.pathname + link.search)
}
