// Tollgate for OpenCode. Written by `tollgate install opencode`, which also removes it.
//
// OpenCode calls no commands, so this asks `tollgate hook opencode` about each tool, result and
// prompt, and does what it answers. Where no answer can be had, the answer is no: a command that is
// missing, crashes, takes too long or prints something else refuses what it was asked about.

import { spawn } from "node:child_process"
import { existsSync } from "node:fs"

const COMMAND = ["tollgate", "hook", "opencode"]
const MISSING = "refuse" // or "warn": what happens where the command is not on this machine
const PATIENCE = 60_000 // ms
const LINGER = 500 // ms that what it printed may still be under way when it has ended
const MOST_SUBAGENTS = 10_000 // that are kept in mind; older ones are forgotten
const LONGEST = 8 * 1024 * 1024 // of what it prints, in bytes

let warned = false

/** Tells the person, once, that the command is missing. */
function warn() {
  if (!warned) console.error("Tollgate is not on the PATH of this machine, so the guards of this project do not run.")
  warned = true
}

/** Runs the command: its exit code and what it printed. Rejects where it came to no exit code. */
function run(input, cwd) {
  return new Promise((resolve, reject) => {
    const [program, ...args] = COMMAND
    const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "pipe"] })
    const printed = { stdout: [], stderr: [] }
    let size = 0
    let settled = false
    const settle = (how, value) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      child.kill("SIGKILL")
      // Whatever the command has left running may hold these open for good.
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
      how(value)
    }
    const fail = (why) => settle(reject, new Error(why))
    const timer = setTimeout(() => fail(`it took longer than ${PATIENCE / 1000} s`), PATIENCE)
    for (const name of ["stdout", "stderr"]) {
      child[name]?.on("data", (data) => {
        size += data.length
        if (size > LONGEST) return fail("it printed too much")
        printed[name].push(data)
      })
      child[name]?.on("error", () => {})
    }
    const text = (name) => Buffer.concat(printed[name]).toString("utf8").trim()
    child.on("error", (error) => {
      // A directory that is gone gives the same code.
      if (MISSING === "warn" && error.code === "ENOENT" && existsSync(cwd)) {
        warn()
        return settle(resolve, { code: 0, stdout: "", stderr: "" })
      }
      fail(error.message)
    })
    const done = (code, signal) => {
      if (code === null) return fail(`it was ended by ${signal}`)
      settle(resolve, { code, stdout: text("stdout"), stderr: text("stderr") })
    }
    child.on("close", done)
    child.on("exit", (code, signal) => setTimeout(done, LINGER, code, signal))
    // One that does not read all of it has answered before.
    child.stdin?.on("error", () => {})
    child.stdin?.end(JSON.stringify(input))
  })
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value)

/** What the command says: `{}` where it has no opinion. Throws what is refused, and why. */
async function ask(input, cwd) {
  let answer
  try {
    answer = await run(input, cwd)
  } catch (error) {
    throw new Error(`Tollgate could not be asked, so this is refused: ${error.message}`)
  }
  const { code, stdout, stderr } = answer
  let said = {}
  if (stdout !== "") {
    try {
      said = JSON.parse(stdout)
    } catch {
      said = undefined
    }
  }
  if (code !== 0 && code !== 2) {
    throw new Error(`Tollgate failed with exit code ${code}, so this is refused. ${stderr}`)
  }
  if (code === 0 && !isObject(said)) {
    throw new Error("Tollgate's answer cannot be read, so this is refused.")
  }
  const outer = isObject(said) ? said : {}
  const own = isObject(outer.hookSpecificOutput) ? outer.hookSpecificOutput : {}
  const decision = own.permissionDecision ?? outer.decision
  const allowed = [undefined, "allow", "approve"].includes(decision)
  if (code === 2 || !allowed) {
    const reason = own.permissionDecisionReason ?? outer.reason
    throw new Error(String(reason || stderr || "A hook refused this."))
  }
  return own
}

/** Makes one object like another, in place: OpenCode goes on with the one it has. */
function become(target, source) {
  for (const name of Object.keys(target)) if (!(name in source)) delete target[name]
  Object.assign(target, source)
}

/** Puts a result in the place of another, also where it is kept for the person. */
function replace(output, result) {
  if (!isObject(result)) throw new Error("Tollgate's answer has no result that can be used.")
  Object.assign(output, result)
  const metadata = output.metadata
  if (!isObject(metadata)) return
  for (const name of ["output", "preview", "stdout", "stderr"]) {
    if (typeof metadata[name] === "string") metadata[name] = String(output.output ?? "")
  }
}

const isText = (part) => part?.type === "text" && typeof part.text === "string"

export const Tollgate = async ({ directory }) => {
  // The session that a subagent's belongs to.
  const parents = new Map()
  const common = (event, session) => {
    const parent = parents.get(session)
    const agent = parent === undefined ? {} : { agent_id: session }
    return { hook_event_name: event, session_id: parent ?? session, cwd: directory, ...agent }
  }
  const tell = async (input) => {
    try {
      return await ask(input, directory)
    } catch {
      // Nothing waits for this, so there is nothing to refuse.
      return {}
    }
  }

  return {
    "tool.execute.before": async (input, output) => {
      const own = await ask(
        {
          ...common("PreToolUse", input.sessionID),
          tool_name: input.tool,
          tool_input: output.args ?? {},
          tool_use_id: input.callID,
        },
        directory,
      )
      if (own.updatedInput === undefined) return
      if (!isObject(own.updatedInput) || !isObject(output.args)) {
        throw new Error("Tollgate's answer has no arguments that can be used.")
      }
      become(output.args, own.updatedInput)
    },

    "tool.execute.after": async (input, output) => {
      if (!isObject(output)) return
      const { title, metadata, output: text, content } = output
      const own = await ask(
        {
          ...common("PostToolUse", input.sessionID),
          tool_name: input.tool,
          tool_input: input.args ?? {},
          tool_response: { title, metadata, output: text, content },
          tool_use_id: input.callID,
        },
        directory,
      )
      if (own.updatedToolOutput !== undefined) replace(output, own.updatedToolOutput)
    },

    "chat.message": async (input, output) => {
      const parts = Array.isArray(output.parts) ? output.parts : []
      const texts = parts.filter(isText)
      const model = input.model ? `${input.model.providerID}/${input.model.modelID}` : undefined
      const prompt = texts.map((part) => part.text).join("\n")
      const asked = { ...common("UserPromptSubmit", input.sessionID), prompt, model }
      const own = await ask(asked, directory)
      const [first, ...others] = texts
      if (own.updatedPrompt !== undefined) {
        if (!first) throw new Error("Tollgate rewrites a prompt that has no text.")
        first.text = String(own.updatedPrompt)
        for (const part of others) part.text = ""
      }
      if (own.additionalContext && first) first.text += `\n\n${own.additionalContext}`
    },

    "experimental.session.compacting": async (input, output) => {
      const own = await tell(common("PreCompact", input.sessionID))
      if (own.additionalContext && Array.isArray(output.context)) {
        output.context.push(String(own.additionalContext))
      }
    },

    event: async ({ event }) => {
      const about = event?.properties ?? {}
      const session = about.sessionID ?? about.info?.id
      switch (event?.type) {
        case "session.created": {
          const parent = about.info?.parentID
          if (parent === undefined) {
            await tell(common("SessionStart", session))
            break
          }
          parents.set(session, parents.get(parent) ?? parent)
          if (parents.size > MOST_SUBAGENTS) parents.delete(parents.keys().next().value)
          await tell({ ...common("SubagentStart", session), agent_type: about.info?.title })
          break
        }
        case "session.idle":
          await tell(common(parents.has(session) ? "SubagentStop" : "Stop", session))
          break
        case "session.compacted":
          await tell(common("PostCompact", session))
          break
        case "session.error": {
          const error = about.error?.data?.message ?? about.error?.name ?? "unknown"
          await tell({ ...common("StopFailure", session), error })
          break
        }
        case "session.deleted":
          await tell(common("SessionEnd", session))
          parents.delete(session)
          break
      }
    },
  }
}
