// The official TypeScript client, second line (@modelcontextprotocol/client), in either era.
//     client_v2.mjs ERA http URL | client_v2.mjs ERA stdio COMMAND ARG...
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { answerForm, tell } from './story.mjs'

const [, , era, way, target, ...args] = process.argv
const client = new Client({ name: 'test', version: '1' }, {
  capabilities: { elicitation: {} },
  versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' }
})
client.setRequestHandler('elicitation/create', answerForm)
await client.connect(way === 'http'
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env }))
assert.equal(client.getNegotiatedProtocolVersion() === '2026-07-28', era === 'modern')
await client.listTools()
// Modern requests stand for themselves: over HTTP nothing but a name tells whose session it is.
const own = era === 'modern' && way === 'http' ? { session: `v2-${process.pid}` } : {}
await tell((name, args, options) => client.callTool({ name, arguments: args }, options), own)
await client.close()
