// Outside of a session of Switchboard it does nothing.

import { spawn } from "node:child_process"

const program = __SWB__

export const Switchboard = async () => {
  if (!process.env.SWB_SESSION) return {}

  let reported
  const report = (state) => {
    if (state === reported) return
    reported = state
    try {
      const child = spawn(program, ["hook", state], { stdio: "ignore", detached: true })
      child.on("error", () => {})
      child.unref()
    } catch {}
  }

  // The sessions of subagents end before the agent does.
  const subagents = new Set()
  const isSubagent = (properties) => subagents.has(properties?.sessionID)

  return {
    event: async ({ event }) => {
      const properties = event?.properties
      switch (event?.type) {
        case "session.created":
        case "session.updated":
          if (properties?.info?.parentID && subagents.size < 1000) subagents.add(properties.info.id)
          break
        case "session.status": {
          if (isSubagent(properties)) break
          const type = properties?.status?.type
          if (type === "busy" || type === "retry") report("working")
          else if (type === "idle") report("done")
          break
        }
        case "session.idle":
          if (!isSubagent(properties)) report("done")
          break
        case "session.error":
          if (!isSubagent(properties)) report("error")
          break
        case "permission.asked":
        case "permission.updated":
        case "question.asked":
          report("asking")
          break
        case "permission.replied":
        case "question.replied":
        case "question.rejected":
          report("working")
          break
      }
    },
  }
}
