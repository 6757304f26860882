// The official TypeScript client, first line (@modelcontextprotocol/sdk): legacy era only.
//     client_v1.mjs legacy http URL | client_v1.mjs legacy stdio COMMAND ARG...
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { answerForm, tell } from './story.mjs'

const [, , , way, target, ...args] = process.argv
const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } })
client.setRequestHandler(ElicitRequestSchema, answerForm)
await client.connect(way === 'http'
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env }))
await client.listTools()
await tell((name, args, options) => client.callTool({ name, arguments: args }, undefined, options))
await client.close()
