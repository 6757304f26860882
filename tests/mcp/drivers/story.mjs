// One session of an agent's work, told to a server by whichever client. A step that does not come
// to what it should throws; the names of those that did are printed, as JSON.
import assert from 'node:assert/strict'

const LOOP = "import time\nfor i in range(2000):\n    print('step', i, flush=True)\n    time.sleep(0.05)"
const PATIENCE_MS = 120000

export const textOf = (result) =>
  result.content.filter((part) => part.type === 'text').map((part) => part.text).join('\n')

// What a server asks of the user: the one text that its form has.
export function answerForm (request) {
  const [name] = Object.keys(request.params.requestedSchema.properties)
  return { action: 'accept', content: { [name]: 'Ada' } }
}

// `callTool(name, args, options)`: options are onprogress, signal, timeout, as both SDKs have them.
// `own` is what every call names: a session, where the server cannot know whose it is.
export async function tell (callTool, own = {}) {
  const call = (name, args, options = {}) =>
    callTool(name, { ...own, ...args }, { timeout: PATIENCE_MS, ...options })
  const run = (code, more = {}, options = {}) => call('run', { code, ...more }, options)
  const steps = {
    async state () {
      await run('x = 20')
      assert.match(textOf(await run('x + 1')), /^21\b/)
    },
    async plot () {
      const shown = await run('plt.plot([1, 4, 9]); plt.show()')
      const image = shown.content.find((part) => part.type === 'image')
      assert.equal(image.mimeType, 'image/png')
      assert.equal(Buffer.from(image.data, 'base64').subarray(1, 4).toString(), 'PNG')
    },
    async progress_and_cancellation () {
      const stop = new AbortController()
      const heard = []
      const onprogress = (progress) => {
        heard.push(progress)
        if (heard.length === 2) stop.abort('enough')
      }
      await assert.rejects(run(LOOP, {}, { onprogress, signal: stop.signal }))
      assert.ok(heard[1].progress > heard[0].progress && /^step/.test(heard[1].message), heard)
      assert.match(textOf(await run('i < 1999')), /True/)
    },
    async input () {
      const told = await run("name = input('Your name? ')\nprint('Hello', name)")
      assert.match(textOf(told), /Hello Ada/)
    },
    async crash () {
      await run('kept = 7')
      const crashed = await run('import os; os._exit(3)')
      assert.equal(crashed.isError, true)
      assert.match(textOf(await run('kept')), /^7\b/)
    },
    async undo () {
      await run('x = 99')
      await call('back', { action: 'undo' })
      assert.match(textOf(await run('x')), /^20\b/)
    },
    async branch () {
      const made = textOf(await call('back', { action: 'branch' }))
      const [, session] = /session="([^"]+)"/.exec(made) ?? assert.fail(made)
      await run('x = -1', { session })
      assert.match(textOf(await run('x', { session })), /^-1\b/)
      assert.match(textOf(await run('x')), /^20\b/)
    },
    async errors () {
      const failed = await run('1/0')
      assert.equal(failed.isError, true)
      assert.match(textOf(failed), /ZeroDivisionError/)
    }
  }
  for (const [name, step] of Object.entries(steps)) {
    try {
      await step()
    } catch (problem) {
      problem.message = `${name}: ${problem.message}`
      throw problem
    }
  }
  console.log(JSON.stringify(Object.keys(steps)))
}
