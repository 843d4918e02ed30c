// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals'

// The state of the connection, as the last requests show it. The frame has a banner for 'away' and a
// dialog for 'token'. `epoch` grows when the server comes back, or when a token is entered: effects
// that read it run again.

export type Connection = { state: 'ok' } | { state: 'away'; message: string } | { state: 'token'; refused: boolean }

export const connection = signal<Connection>({ state: 'ok' })
export const epoch = signal(0)

// A header takes no other characters in a token, and neither does the server.
const usable = /^[!-~]*$/

const stored = 'lifeline.token'
let token = ''
try {
  const kept = sessionStorage.getItem(stored) ?? ''
  if (usable.test(kept)) token = kept
} catch {
  // Without storage the token lasts until the page is left.
}

export function headers(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {}
}

// setToken takes a token into use. It returns why the token cannot be one; empty if it can.
export function setToken(given: string): string {
  const text = given.trim()
  if (!usable.test(text)) {
    const wrong = [...text].find((c) => !usable.test(c)) ?? ''
    const code = (wrong.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return `A token has only visible ASCII characters. This one also has U+${code}: copy it from the file again.`
  }
  token = text
  try {
    sessionStorage.setItem(stored, token)
  } catch {
    // as above
  }
  connection.value = { state: 'ok' }
  epoch.value++
  return ''
}

export function unauthorized(): void {
  if (connection.peek().state !== 'token') connection.value = { state: 'token', refused: token !== '' }
}

// A proxy that logs users in redirects a request without a session to its issuer. The server never redirects.
export const loginEnded = 'Your login has ended. Reload the page to log in again.'

export function loggedOut(response: Response): boolean {
  return response.type === 'opaqueredirect'
}

const firstRetry = 1000
const lastRetry = 10_000
let asking = false

// doubt reports an answer that an absent server or a starting one may have caused. It asks whether the
// server is there, and if not, until it is back.
export async function doubt(): Promise<void> {
  if (asking) return
  asking = true
  for (let wait = firstRetry; ; wait = Math.min(wait * 1.5, lastRetry)) {
    const message = await absence()
    if (connection.peek().state === 'token') break
    if (message === '') {
      if (connection.peek().state === 'away') {
        connection.value = { state: 'ok' }
        epoch.value++
      }
      break
    }
    const now = connection.peek()
    if (now.state !== 'away' || now.message !== message) connection.value = { state: 'away', message }
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
  asking = false
}

// absence returns why the server cannot answer; empty if it can.
async function absence(): Promise<string> {
  try {
    const response = await fetch('/api/v1/info', { headers: headers(), cache: 'no-store', redirect: 'manual' })
    if (loggedOut(response)) return loginEnded
    if (response.status === 401) unauthorized()
    if (response.ok) return ''
    const body = (await response.json()) as { error?: { message?: string } }
    return body.error?.message ?? `The server answers with status ${response.status}.`
  } catch {
    return 'The server does not answer.'
  }
}
