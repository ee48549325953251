// Calls the plugin's hooks as OpenCode does. Its argument is a file of runs, each with a plugin and
// its cases, each of these with a hook, its input and its output; prints what became of each.

import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

async function called(hooks, { hook, input, output }) {
  try {
    await hooks[hook](input, output)
    return { output }
  } catch (error) {
    return { thrown: error.message, output }
  }
}

async function driven({ plugin, cases }) {
  const { Tollgate } = await import(pathToFileURL(plugin))
  const hooks = await Tollgate({ directory: process.cwd() })
  return Promise.all(cases.map((it) => called(hooks, it)))
}

const runs = JSON.parse(readFileSync(process.argv[2], "utf8"))
const results = []
for (const run of runs) results.push(await driven(run))
console.log(JSON.stringify(results))
