// SPDX-License-Identifier: Apache-2.0

import { signal } from '@preact/signals'

// The state of the connection, as the last requests show it. The frame has a banner for 'away' and a
// dialog for 'token'. `epoch` grows when the server comes back, or when a token is entered: effects
// that read it run again.

export type Connection = { state: 'ok' } | { state: 'away'; message: string } | { state: 'token'; refused: boolean }

export const connection = signal<Connection>({ state: 'ok' })
export const epoch = signal(0)

const stored = 'lifeline.token'
let token = ''
try {
  token = sessionStorage.getItem(stored) ?? ''
} catch {
  // Without storage the token lasts until the page is left.
}

export function headers(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {}
}

export function setToken(given: string): void {
  token = given.trim()
  try {
    sessionStorage.setItem(stored, token)
  } catch {
    // as above
  }
  connection.value = { state: 'ok' }
  epoch.value++
}

export function unauthorized(): void {
  if (connection.peek().state !== 'token') connection.value = { state: 'token', refused: token !== '' }
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
    const response = await fetch('/api/v1/info', { headers: headers(), cache: 'no-store' })
    if (response.status === 401) unauthorized()
    if (response.ok) return ''
    const body = (await response.json()) as { error?: { message?: string } }
    return body.error?.message ?? `The server answers with status ${response.status}.`
  } catch {
    return 'The server does not answer.'
  }
}
