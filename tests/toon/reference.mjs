// The reference implementation of TOON, asked as toon_lines.c is, but for objects and arrays in
// values: they are ["object", [name, value], …] and ["array", value, …], because JSON.parse of
// Node.js 24.9 takes some names of one escaped character for another. The folder of modules is the
// first argument.
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const { encode, decode } = await import(
  pathToFileURL(`${process.argv[2]}/@toon-format/toon/dist/index.mjs`))
const build = (value) => {
  if (!Array.isArray(value)) return value
  const [kind, ...rest] = value
  return kind === 'array'
    ? rest.map(build)
    : Object.fromEntries(rest.map(([name, member]) => [name, build(member)]))
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const [verb, subject] = JSON.parse(line)
  let answer
  try {
    answer = { result: verb === 'encode' ? encode(build(subject)) : decode(subject) }
  } catch (error) {
    answer = { error: error.message }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
