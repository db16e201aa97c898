// Reads a host's config with a reader that shares no code with pdpp, and prints it as JSON.
//
//     read_config.mjs FILE json|json5|yaml|continue MODULES
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [file, format, modules] = process.argv.slice(2)
const require = createRequire(modules + '/')
const text = readFileSync(file, 'utf8')
const read = {
  json: JSON.parse,
  json5: text => require('json5').parse(text),
  yaml: text => require('yaml').parse(text),
  // How Continue reads the file: its own schema, and the command that starts a server.
  continue: async text => {
    const own = await import(require.resolve('@continuedev/config-yaml'))
    const { mcpServers } = own.claudeDesktopLikeConfigFileSchema.parse(JSON.parse(text))
    const made = Object.entries(mcpServers).map(([name, server]) => own.convertJsonMcpConfigToYamlMcpConfig(name, server))
    return { mcpServers: Object.fromEntries(made.map(({ yamlConfig }) => [yamlConfig.name, yamlConfig])) }
  },
}
console.log(JSON.stringify(await read[format](text)))
