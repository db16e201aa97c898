// Reads a host's config with a reader that shares nothing with pdpp, and prints it as JSON.
//   read_config.mjs FILE json|json5|yaml
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [file, format, modules] = process.argv.slice(2)
const require = createRequire(modules + '/')
const text = readFileSync(file, 'utf8')
const read = { json: JSON.parse, json5: text => require('json5').parse(text), yaml: text => require('yaml').parse(text) }
console.log(JSON.stringify(read[format](text)))
