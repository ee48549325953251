// Calls the plugin's hooks as OpenCode does. Arguments: the plugin, and a file of cases, each with a
// hook, its input and its output; prints what became of each.

import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const [plugin, cases] = process.argv.slice(2)
const { Tollgate } = await import(pathToFileURL(plugin))
const hooks = await Tollgate({ directory: process.cwd() })
const results = []
for (const { hook, input, output } of JSON.parse(readFileSync(cases, "utf8"))) {
  try {
    await hooks[hook](input, output)
    results.push({ output })
  } catch (error) {
    results.push({ thrown: error.message, output })
  }
}
console.log(JSON.stringify(results))
